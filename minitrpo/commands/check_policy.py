"""Test a policy of your own: its derivatives, its distances, and that it draws the actions whose probability it states.

A gradient that is not that of `log_prob` trains silently another policy, and so does a policy that draws its actions
from another distribution than the one that it states. Each test takes numerical differences of the policy's own
`log_prob` and `kl` along a random direction v.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from minitrpo.commands.doctor import Finding
from minitrpo.natural_gradient import fisher_vector_product_by_hand
from minitrpo.policies import Array
from minitrpo.policy_gradient import LogProbability

OBSERVATIONS = 64  # random ones, standard normal as the observation filter makes them
DRAWS = 400  # actions that are drawn for each of them
STEP = 1e-5  # of a difference along v, whose length is 1
WITHIN = 1e-3  # relative difference that rounding and curvature may make
STANDARD_ERRORS = 6.0  # a mean farther from its expectation is no chance
FORMULAS = ("distribution", "log_prob", "kl", "entropy")


def findings_of_policy(policy: Any, seed: int = 0) -> Iterator[Finding]:
    """Yield a finding for each property that a policy gradient, natural or not, takes for granted.

    Args:
        policy: what `make_policy` returned; the policy within it, if it also holds a value function.
        seed: of the random numbers of the tests.

    Returns:
        Findings called gradient, fisher and actions; none for a policy without `log_prob`, such as Q-learning's.
    """
    policy = getattr(policy, "policy", policy)
    if not all(hasattr(policy, name) for name in FORMULAS):
        return
    rng = np.random.default_rng(seed)
    theta = policy.initialise(rng).astype(float)
    theta = theta + 0.1 * rng.standard_normal(len(theta))  # at first all states look alike
    observations = rng.standard_normal((OBSERVATIONS, policy.observation_size))
    v = rng.standard_normal(len(theta))
    v /= np.linalg.norm(v)
    actions = _drawn(policy, theta, observations, rng)
    scores = _along(lambda at: policy.log_prob(policy.distribution(at, observations), actions), theta, v)

    yield _gradient(policy, theta, v, observations, actions, scores, rng.standard_normal(OBSERVATIONS))
    yield (fisher := _fisher(policy, theta, v, observations))
    if fisher.well and not policy.state_size:
        yield _actions(policy, theta, v, np.repeat(observations, DRAWS, axis=0), rng)


def _gradient(
    policy: Any, theta: Array, v: Array, observations: Array, actions: Array, scores: Array, weights: Array
) -> Finding:
    """Compare the gradient that a run takes with the differences of log_prob."""
    taken = float(LogProbability(policy, theta, observations, actions).weighted_gradient(weights) @ v)
    wanted, scale = float(weights @ scores), float(np.linalg.norm(weights) * np.linalg.norm(scores))
    well = abs(taken - wanted) <= WITHIN * scale + 1e-8
    if well:
        return Finding("gradient", True, "the gradient that a run takes is that of log_prob")
    seen = f"the gradient that a run takes has {taken:.4g} along a direction in which log_prob changes by {wanted:.4g}"
    cure = "distribution and log_prob must use autograd.numpy, and nothing that was computed before"
    return Finding("gradient", False, seen, cure)


def _fisher(policy: Any, theta: Array, v: Array, observations: Array) -> Finding:
    """Compare KL(old || new) close to the old policy with the Fisher product that a run takes."""
    old, h = policy.distribution(theta, observations), 1e-3
    at_old = float(np.mean(policy.kl(old, old)))
    ahead, behind = (
        float(np.mean(policy.kl(old, policy.distribution(theta + s * h * v, observations)))) for s in (1, -1)
    )
    wanted = (ahead + behind - 2 * at_old) / h**2
    taken = float(v @ fisher_vector_product_by_hand(policy, theta, observations, damping=0.0)(v))
    cure = "kl(old, new) must be KL(old || new) of the distributions, by autograd.numpy"
    if abs(at_old) > 1e-9:
        return Finding("fisher", False, f"KL(old || old) is {at_old:.3g}; it must be 0", cure)
    if abs(taken - wanted) > 1e-2 * abs(wanted) + 1e-7:
        seen = f"v'F v is {taken:.4g} in a run, and the curvature of kl is {wanted:.4g}"
        return Finding("fisher", False, seen, cure)
    return Finding("fisher", True, "the Fisher product that a run takes is the curvature of kl")


def _actions(policy: Any, theta: Array, v: Array, observations: Array, rng: np.random.Generator) -> Finding:
    """Draw actions, and compare their scores with what theory says of them: mean 0, variance v'F v."""
    actions = _drawn(policy, theta, observations, rng)
    scores = _along(lambda at: policy.log_prob(policy.distribution(at, observations), actions), theta, v)
    curvature = float(v @ fisher_vector_product_by_hand(policy, theta, observations, damping=0.0)(v))
    for name, sample, expected in (("mean", scores, 0.0), ("variance", scores**2, curvature)):
        error = float(np.std(sample) / np.sqrt(len(sample)))
        mean = float(np.mean(sample))
        if not abs(mean - expected) <= STANDARD_ERRORS * error + 1e-6:
            seen = f"the {name} of grad log pi(a|s), over the actions that act_function drew, is {mean:.3g}"
            seen += f" +- {error:.1g} along a direction; by log_prob and kl it must be {expected:.3g}"
            cure = "act_function, log_prob and kl must be of one distribution: look at masks, bounds and deviations"
            return Finding("actions", False, seen, cure)
    return Finding("actions", True, "act_function draws from the distribution of log_prob and kl")


def _drawn(policy: Any, theta: Array, observations: Array, rng: np.random.Generator) -> Array:
    """Return an action for each observation, as collecting draws them."""
    rows = len(observations)
    state = [np.zeros((rows, policy.state_size))] if policy.state_size else []
    act: Callable[[Array, Array, int], Array] = policy.act_function(theta, *state)
    return np.asarray(act(observations, policy.draw_noise(rng, rows), rows))


def _along(f: Callable[[Array], Array], theta: Array, v: Array) -> Array:
    """Return the derivative of f along v at theta, entry by entry, by a central difference."""
    return np.asarray((f(theta + STEP * v) - f(theta - STEP * v)) / (2 * STEP))
