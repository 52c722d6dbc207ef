"""What algorithms that learn from samples have in common: what a fragment sends, its advantages, the critic's fit.

And how ranks share an update: rank 0 broadcasts the batch, some ranks step the policy, others fit the critic.
"""

from typing import Any

import numpy as np

from minitrpo.algorithms.algorithm import Arrays, Context
from minitrpo.block_sums import SERIAL, Reduction
from minitrpo.core import BY_HAND, Core
from minitrpo.critics import Critic
from minitrpo.experience.rollouts import Fragments
from minitrpo.parallel.allreduce import ordered_allreduce
from minitrpo.parallel.comm import Nested


def samples_of(fragment: Fragments) -> Arrays:
    """Return the samples of fragments (n steps, e fragments), as `prepare` may send them."""
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

    reduction: how ranks share the work: values by blocks of rows, advantages by fragments; all receive all results.
    core: whose `next_values` and `gae`.
    """
    values = critic.predict(state, samples["observations"], samples["timesteps"], reduction)
    final_values = critic.predict(state, samples["final_observations"], samples["final_timesteps"], reduction)
    stops = np.concatenate([[0], np.flatnonzero(samples["last"]) + 1])
    fragments = reduction.share(len(stops) - 1)  # those of which this rank computes the advantages
    rows = slice(stops[fragments.start], stops[fragments.stop])
    last, values_here = samples["last"][rows], values[rows]
    after = core.next_values(values_here, final_values[fragments], last, samples["terminated"][rows])
    estimates = core.gae(samples["rewards"][rows], values_here, after, last, discount, gae_lambda)
    advantages, targets = (reduction.all_gather(array, np.diff(stops).tolist()) for array in estimates)
    return {"advantages": advantages, "targets": targets, "values": values}


class SharedUpdate:
    """How the ranks that learn together share an update; on one rank, or with --learner root, one does all of it.

    Attributes:
        steps_policy: whether this rank steps the policy.
        fits_critic: whether this rank fits the critic.
        sums: the reduction over the ranks that have this rank's task.
        all: the reduction over all ranks.

    """

    def __init__(self, context: Context, fitters: int = 0) -> None:
        """Divide the ranks into those that step and those that fit.

        Args:
            context: has the ranks.
            fitters: how many ranks fit the critic, the last ones, while the others step the policy; 0: all ranks do
                both, one after the other.

        """
        self._context, self.comm = context, context.comm
        self._first_fitter = self.comm.size - fitters
        self.steps_policy = self.comm.rank < self._first_fitter
        self.fits_critic = fitters == 0 or not self.steps_policy
        self.sums = ordered_allreduce(self.comm.split(int(self.steps_policy)))
        self.all = ordered_allreduce(self.comm)

    def broadcast(self, batch: Nested) -> Nested:
        """Return the root's batch on every rank; what the others give is ignored."""
        with self._context.span("exchange" if self.comm.rank == 0 else "idle"):
            return self.comm.broadcast(batch)

    def exchange(self, stepped: Any, fitted: Any) -> tuple[Any, Any]:
        """Return, on every rank, what the ranks that step have computed, and what the ranks that fit have.

        Args:
            stepped: a step's result; None on a rank that did not step.
            fitted: a fit's result; None on a rank that did not fit.

        """
        if self._first_fitter == self.comm.size:  # every rank has both
            return stepped, fitted
        with self._context.span("exchange"):
            self.comm.barrier()  # asleep, where a gather would spin
            of_ranks = self.comm.gather(fitted if self.comm.rank == self._first_fitter else None)
            both = (stepped, of_ranks[self._first_fitter]) if self.comm.rank == 0 else None
            result: tuple[Any, Any] = self.comm.broadcast(both)
            return result
