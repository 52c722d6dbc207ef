"""TRPO whose fit is killed."""

import os
import signal

from minitrpo.algorithms.trpo import TRPO

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
