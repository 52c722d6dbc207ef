"""What algorithms that learn from samples have in common: what a fragment sends, its advantages, the critic's fit.

And how ranks share an update: who steps the policy, who fits the critic, and how what they need gets there.
"""

from collections.abc import Callable

import numpy as np

from minitrpo.algorithms.algorithm import Arrays, Context
from minitrpo.block_sums import SERIAL, Reduction, blocks
from minitrpo.core import BY_HAND, Core
from minitrpo.critics import Critic
from minitrpo.experience.rollouts import Fragments
from minitrpo.parallel.allreduce import dealt, ordered_allreduce
from minitrpo.parallel.comm import Nested
from minitrpo.policies import Array


def samples_of(fragment: Fragments) -> Arrays:
    """Return the samples of fragments (n steps, e fragments), as `digest` may send them."""
    return {
        "observations": fragment.observations,
        "actions": fragment.actions,
        "rewards": fragment.rewards,
        "timesteps": fragment.timesteps,
        "last": fragment.last,
        "terminated": fragment.terminated_steps,
        "final_observations": fragment.final_observations,
        "final_timesteps": (fragment.starts + fragment.lengths).astype(float),
    }


def advantages_of(
    critic: Critic,
    state: Arrays,
    samples: Arrays,
    discount: float,
    gae_lambda: float,
    reduction: Reduction = SERIAL,
    core: Core = BY_HAND,
) -> Arrays:
    """Return `advantages`, value `targets` and `values`, (n,) each, by the critic's last fit.

    reduction: how ranks share the work; each computes its own fragments and receives all results.
    core: whose `next_values` and `gae`.
    """
    values = critic.predict(state, samples["observations"], samples["timesteps"], reduction)
    final_values = critic.predict(state, samples["final_observations"], samples["final_timesteps"], reduction)
    stops = np.concatenate([[0], np.flatnonzero(samples["last"]) + 1])
    own = reduction.own(len(stops) - 1)
    rows = slice(stops[own.start], stops[own.stop])
    last, values_here = samples["last"][rows], values[rows]
    after = core.next_values(values_here, final_values[own], last, samples["terminated"][rows])
    found = core.gae(samples["rewards"][rows], values_here, after, last, discount, gae_lambda)
    advantages, targets = (reduction.collect(array, np.diff(stops).tolist()) for array in found)
    return {"advantages": advantages, "targets": targets, "values": values}


def refitted(critic: Critic, samples: Nested, rng: np.random.Generator, reduction: Reduction = SERIAL) -> Arrays:
    """Return the critic's state, `critic` of the samples, after a fit to their value targets."""
    observations, timesteps, targets = (samples[name] for name in ("observations", "timesteps", "targets"))
    return critic.fit(samples["critic"], observations, timesteps, targets, rng, reduction)


class SharedUpdate:
    """The ranks of one algorithm's update; the root calls `fit`, the others `assist`.

    With --learner root, or on one rank, this rank does all of it, and the code of an algorithm is the same.
    """

    def __init__(self, context: Context, fitters: int = 0) -> None:
        """Deal the ranks out: the last `fitters` fit while the others step; 0: all do both, one after the other."""
        self._context, self.comm = context, context.comm
        self._steppers = steppers = self.comm.size - fitters
        self.steps = self.comm.rank < steppers
        self.fits = fitters == 0 or not self.steps
        self.sums = ordered_allreduce(self.comm.split(int(self.steps)))  # over those who do the same
        self.all = ordered_allreduce(self.comm)

    def share(self, arrays: Nested) -> Nested:
        """Tell the others the root's arrays, and return them."""
        with self._context.span("exchange"):
            return self.comm.broadcast(arrays)

    def shared(self) -> Nested:
        """Return what the root shares, on the others."""
        with self._context.span("idle"):
            return self.comm.broadcast({})

    def needs(self, rows: int, chosen: Array) -> list[slice]:
        """Return which rows of a batch each rank needs: those of its own blocks; of the rows `chosen` alike, (k,).

        A rank that fits needs all rows. The ranks that step also share a computation over all rows with all others.
        """
        cut, of_chosen = blocks(rows), [slice(chosen[b.start], chosen[b.stop - 1] + 1) for b in blocks(len(chosen))]
        found = [slice(0, rows)] * self.comm.size
        for rank in range(self._steppers):
            both = cut[dealt(rank, self._steppers, len(cut))] + cut[dealt(rank, self.comm.size, len(cut))]
            both += of_chosen[dealt(rank, self._steppers, len(of_chosen))]
            found[rank] = slice(min((b.start for b in both), default=0), max((b.stop for b in both), default=0))
        return found

    def fit(self, work: Callable[[], Arrays]) -> Arrays:
        """Return what `work` fits, on the root: fitted here, or on other ranks while the root stepped the policy."""
        if self.fits:
            return work()
        with self._context.span("exchange"):
            self.comm.barrier()  # asleep, where a gather would spin
            return self.comm.gather({})[self._steppers]

    def assist(self, step: Callable[[], object], fit: Callable[[], Arrays]) -> None:
        """Do this rank's part, on the others."""
        if self.steps:
            step()
        fitted = fit() if self.fits else {}
        if self._steppers < self.comm.size:
            self.comm.barrier()
            self.comm.gather(fitted if self.comm.rank == self._steppers else {})
