"""What algorithms that learn from samples have in common: what a fragment sends, its advantages, the critic's fit."""

import numpy as np

from minitrpo.algorithms.algorithm import Arrays
from minitrpo.block_sums import SERIAL, Reduction
from minitrpo.critics import Critic
from minitrpo.experience.rollouts import Fragments
from minitrpo.parallel.comm import Nested
from minitrpo.returns import gae, next_values

PER_FRAGMENT = ("final_observations", "final_timesteps")  # of the samples; all others have a row per step


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


def fragments_of(samples: Arrays) -> list[Arrays]:
    """Return samples fragment by fragment: the shapes in which the ranks that played them saw them."""
    stops = (np.flatnonzero(samples["last"]) + 1).tolist()
    return [
        {name: a[i : i + 1] if name in PER_FRAGMENT else a[start:stop] for name, a in samples.items()}
        for i, (start, stop) in enumerate(zip([0, *stops], stops, strict=False))
    ]


def advantages_of(
    critic: Critic, state: Arrays, samples: Arrays, discount: float, gae_lambda: float, reduction: Reduction = SERIAL
) -> Arrays:
    """Return `advantages`, value `targets` and `values`, (n,) each, by the critic's last fit.

    reduction: how ranks share them; each computes those of its own fragments, and gets everybody's.
    """
    values = critic.predict(state, samples["observations"], samples["timesteps"], reduction)
    final_values = critic.predict(state, samples["final_observations"], samples["final_timesteps"], reduction)
    stops = np.concatenate([[0], np.flatnonzero(samples["last"]) + 1])
    own = reduction.own(len(stops) - 1)
    rows = slice(stops[own.start], stops[own.stop])
    last, values_here = samples["last"][rows], values[rows]
    after = next_values(values_here, final_values[own], last, samples["terminated"][rows])
    found = gae(samples["rewards"][rows], values_here, after, last, discount, gae_lambda)
    advantages, targets = (reduction.collect(array, np.diff(stops).tolist()) for array in found)
    return {"advantages": advantages, "targets": targets, "values": values}


def refitted(critic: Critic, samples: Nested, rng: np.random.Generator, reduction: Reduction = SERIAL) -> Arrays:
    """Return the critic's state, `critic` of the samples, after a fit to their value targets."""
    observations, timesteps, targets = (samples[name] for name in ("observations", "timesteps", "targets"))
    return critic.fit(samples["critic"], observations, timesteps, targets, rng, reduction)
