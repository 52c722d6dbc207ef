"""TRPO whose fit is killed, or that notices who reads what it was not given."""

import os
import signal

import numpy as np

from minitrpo.algorithms.parallel_trpo import TRPO

UPDATE = 4  # in which it happens


class Killed(TRPO):
    """Dies in the middle of the fit of one update, on the rank that fits, unless it is to behave."""

    def __init__(self, settings, context):
        super().__init__(settings, context)
        self.fits = 0

    def _fit(self, samples, rng):
        self.fits += 1
        if self.fits == UPDATE and "TOYS_BEHAVE" not in os.environ:
            os.kill(os.getpid(), signal.SIGKILL)
        return super()._fit(samples, rng)


class Holes(TRPO):
    """Puts NaN where a rank was not given a row: who reads one notices."""

    def _with_advantages(self, batch):
        rows = len(batch["rewards"])
        if self.context.comm.size > 1:
            empty = np.ones(rows, bool)
            empty[self.needs(rows)[self.context.comm.rank]] = False
            for name in self.spread:
                assert not batch[name][empty].any(), "a row that nobody asked for"
                batch[name][empty] = np.nan
        return super()._with_advantages(batch)
