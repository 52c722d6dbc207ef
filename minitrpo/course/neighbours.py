"""Lecture 11a: how many independent steps some neighbouring ones are worth to actor and critic."""

from collections.abc import Callable
from typing import Any

import numpy as np

from minitrpo.algorithms.actor_critic import ActorCritic
from minitrpo.log_probability import LogProbability
from minitrpo.optimisers import adam, initial_state
from minitrpo.perceptron import Linearisation
from minitrpo.policies import Array
from minitrpo.returns import next_values

DRAWS = 1_000  # bootstrap draws behind an interval
DISCOUNT, STEP_SIZE = 0.99, 0.01

Gradients = Callable[[Array], tuple[Array, ...]]  # numbers of some steps -> the mean gradients of these steps


def mean_gradients(model: ActorCritic, theta: Array, e: Any) -> Gradients:
    """Return the function of some of these steps that says their mean gradients, actor's and critic's, of the TD error.

    Up the log probabilities by e_t, and down e_t^2 / 2 with the target a constant.
    """
    actor, critic = model.split(theta)
    V, final = model.values(theta, e.observations), model.values(theta, e.final_observations)
    errors = e.rewards + DISCOUNT * next_values(V, final, e.last, e.terminated_steps) - V

    def of(i: Array) -> tuple[Array, ...]:
        at = LogProbability(model.policy, actor, e.observations[i], e.actions[i])
        value = Linearisation(critic, model.value_sizes, e.observations[i])
        return at.weighted_gradient(errors[i] / len(i)), value.transposed_product(-errors[i][:, None] / len(i))

    return of


def fit_critic(model: ActorCritic, theta: Array, targets: Array, e: Any, updates: int) -> None:
    """Move theta's critic, in place, so many steps of Adam towards targets (N,) of these steps."""
    critic = model.split(theta)[1]
    memory = initial_state("adam", len(critic))
    for _ in range(updates):
        value = Linearisation(critic, model.value_sizes, e.observations)
        slopes = (value.outputs[:, 0] - targets)[:, None] / len(targets)
        memory, step = adam(memory, value.transposed_product(slopes), STEP_SIZE)
        critic -= step


def worth(gradients: Gradients, steps: int, together: int = 16) -> Array:
    """Return how many independent steps that many neighbours are worth, (K, 1 + 1000), for K kinds of gradient.

    gradients: (numbers of steps) -> the mean gradients of these steps, one of each kind. The worth is the variance of
    the mean gradient of any steps over that of neighbours, times their number; behind it stand those of groups drawn
    with replacement.
    """
    rows, rng = np.arange(steps // together * together), np.random.default_rng(1)
    mixed = np.random.default_rng(0).permutation(rows)
    one, other = (_variances(gradients, some.reshape(-1, together), rng) for some in (mixed, rows))
    return together * one / other


def _variances(gradients: Gradients, groups: Array, rng: np.random.Generator) -> Array:
    """Return the variances of the mean gradients over these groups, (K, 1 + 1000), from the products of any two."""
    count = len(groups)
    drawn = rng.multinomial(count, np.full(count, 1 / count), DRAWS)
    shares = np.concatenate([np.ones((1, count)), drawn]) / count
    kinds = [np.array(kind) for kind in zip(*(gradients(group) for group in groups), strict=True)]
    products = [kind @ kind.T for kind in kinds]
    return np.array([shares @ np.diag(p) - np.sum(shares @ p * shares, axis=1) for p in products])


def table_of_worth(found: dict[tuple[str, str], Array]) -> str:
    """Return a line for each {(the critic is, where): worth of actor's and critic's gradients}, with 95 % intervals."""
    lines = [f"\n{'':33s} actor's gradient     critic's gradient"]
    for (critic_is, where), both in found.items():
        limits = np.quantile(both[:, 1:], [0.025, 0.975], axis=1).T
        cells = (f"{x[0]:4.1f} ({low:.1f} to {high:.1f})" for x, (low, high) in zip(both, limits, strict=True))
        lines.append(f"{critic_is + ' critic':16s} {where:16s} {'  '.join(f'{cell:19s}' for cell in cells)}".rstrip())
    return "\n".join(lines)
