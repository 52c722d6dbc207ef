"""Checks of lecture 01: the policy gradient."""

from typing import Any

import numpy as np

from minitrpo.checks.register import Candidate, close, exercise
from minitrpo.policies import Array, CategoricalPolicy, GaussianPolicy, Policy


@exercise(
    "gaussian_log_prob",
    "minitrpo.policies:gaussian_log_prob",
    "For one number: log N(a; m, s^2) = -(a - m)^2 / (2 s^2) - log s - log(2 pi) / 2, with log s given.",
    "The entries of one action are drawn independently: their probabilities multiply, so their logarithms add up.",
    "Work on whole arrays (N, A) and sum over the second axis at the end.",
)
def gaussian_log_prob(candidate: Candidate) -> None:
    """Check log N(a; mean, std^2): by hand, against scipy, as a density, and far out where probabilities vanish."""
    _density_by_hand(candidate)
    rng = np.random.default_rng(0)
    for n, a in ((1, 1), (5, 1), (1, 4), (3, 3), (6, 2)):
        mean, log_std, actions = (rng.standard_normal((n, a)) for _ in range(3))
        std = np.exp(log_std)
        densities = np.exp(-((actions - mean) ** 2) / (2 * std**2)) / np.sqrt(2 * np.pi * std**2)
        symptom = f"With {n} actions of size {a} it is not the logarithm of the product of {a} densities"
        close(candidate(mean, log_std, actions), np.log(densities.prod(axis=1)), symptom)
    far = candidate(np.zeros((1, 2)), np.zeros((1, 2)), np.array([[50.0, -60.0]]))
    close(
        far,
        [-3050 - np.log(2 * np.pi)],
        "An action 50 standard deviations out has a finite log probability, although its probability rounds to 0",
    )


def by_hand(got: Any, want: Any, symptom: str, tolerance: float = 1e-6) -> None:
    """Compare with a case done by hand, and say what the candidate made of it."""
    yours = np.array2string(np.asarray(got), precision=3, suppress_small=True)
    close(got, want, f"{symptom}. Yours: {yours}", tolerance)
    assert isinstance(got, np.ndarray), f"the numbers are right, but in a {type(got).__name__}: return a numpy array"


def _density_by_hand(candidate: Candidate) -> None:
    zero, half = np.zeros((1, 1)), 0.5 * np.log(2 * np.pi)
    at_the_mean = "At the mean of N(0, 1) the density is 1 / sqrt(2 pi), its logarithm [-0.919]"
    by_hand(candidate(zero, zero, zero), [-half], at_the_mean, 1e-8)
    two = np.full((1, 1), np.log(2.0))
    by_hand(
        candidate(np.ones((1, 1)), two, np.full((1, 1), 5.0)),
        [-2.0 - np.log(2.0) - half],
        "Mean 1, standard deviation 2, action 5 (two standard deviations off): -2 - log 2 - 0.919 = [-3.612]",
        1e-8,
    )
    grid = np.linspace(-9.0, 11.0, 4001)[:, None]
    values = np.asarray(candidate(np.ones_like(grid), np.full_like(grid, 0.3), grid), dtype=float)
    assert values.shape == (4001,), f"4001 actions gave shape {values.shape}, not one number for each"
    area = float(np.exp(values).sum() * 0.005)
    assert abs(area - 1) < 1e-6, f"exp of it should integrate to 1 over all actions, not to {area:.4f}"


@exercise(
    "score",
    "minitrpo.policy_gradient:score",
    "Write a function of theta alone that returns one number, log pi(a|s); autograd's `grad` turns it into the slope.",
    "policy.distribution wants a table of observations (N, D) and policy.log_prob a table of actions: here N = 1.",
    "observation[None] has shape (1, D), np.array([action]) one row; take entry [0] of what log_prob returns.",
)
def score(candidate: Candidate) -> None:
    """Check grad log pi(a|s): by hand, against finite differences, and that its mean over actions is 0."""
    line = GaussianPolicy(1, 1, ())
    by_hand(
        candidate(line, np.array([0.5, 0.0, np.log(2.0)]), np.array([2.0]), np.array([5.0])),
        [2.0, 1.0, 3.0],
        "For mean = w s + b with w = 0.5, b = 0, s = 2, standard deviation 2 and action 5, the slopes of log pi are "
        "2 (for w), 1 (for b) and 3 (for log std)",
    )
    coin = CategoricalPolicy(1, 2, ())
    by_hand(
        candidate(coin, np.zeros(4), np.array([3.0]), np.int64(1)),
        [-1.5, 1.5, -0.5, 0.5],
        "For a fair coin as policy (all of theta 0), s = 3 and action 1 the slopes are -1.5, 1.5 (weights), "
        "-0.5, 0.5 (biases): the other action has its part in it",
    )
    rng = np.random.default_rng(1)
    for policy in (GaussianPolicy(3, 2, (4,)), GaussianPolicy(2, 1, ()), CategoricalPolicy(3, 4, (5,)), coin):
        theta, observations, actions = _steps(policy, rng, 4)
        for s, a in zip(observations, actions, strict=True):
            want = _scores(policy, theta, s[None], np.array([a]))[0]
            symptom = f"It is not the slope of log pi(a|s) found by finite differences, for a {type(policy).__name__}"
            close(candidate(policy, theta, s, a), want, symptom, 1e-6)
    _mean_score_is_zero(candidate)


def _mean_score_is_zero(candidate: Candidate) -> None:
    rng = np.random.default_rng(2)
    policy = CategoricalPolicy(2, 3, (4,))
    theta, observations, _ = _steps(policy, rng, 1)
    p = np.exp(policy.log_prob(np.repeat(policy.distribution(theta, observations), 3, axis=0), np.arange(3)))
    mean = sum(p[a] * np.asarray(candidate(policy, theta, observations[0], np.int64(a))) for a in range(3))
    assert np.abs(mean).max() < 1e-7, "weighted by their probabilities, the scores of all actions should add up to 0"


@exercise(
    "discounted_sums",
    "minitrpo.returns:discounted_sums",
    "Work backwards: y_t needs y_{t+1}.",
    "At a step where `last` is true there is no y_{t+1} of the same episode: y_t = x_t.",
)
def discounted_sums(candidate: Candidate) -> None:
    """Check y_t = x_t + discount * y_{t+1} against a double loop, over borders of episodes."""
    x, last = np.array([1.0, 2.0, 4.0]), np.array([False, False, True])
    by_hand(candidate(x, 0.5, last), [3.0, 4.0, 4.0], "For x = (1, 2, 4) and discount 0.5, y = (3, 4, 4)")
    two = np.array([False, True, True])
    by_hand(
        candidate(x, 0.5, two),
        [2.0, 2.0, 4.0],
        "For x = (1, 2 | 4), discount 0.5, y = (2, 2 | 4): the second episode is none of the first one's business",
    )
    rng = np.random.default_rng(0)
    for lengths, discount in (
        ((1,), 0.9),
        ((4, 1, 7), 0.99),
        ((2, 2, 30), 0.5),
        ((5, 5), 1.0),
        ((3, 4), 0.0),
        ((1, 1, 1), 0.7),
    ):
        x = rng.standard_normal(sum(lengths))
        x[rng.random(len(x)) < 0.2] = 0.0  # a reward of 0 is no border
        last = np.zeros(len(x), bool)
        last[np.cumsum(lengths) - 1] = True
        symptom = f"With episodes of {lengths} steps and discount {discount}: does anything leak over a border?"
        if len(lengths) == 1 or discount in (0.0, 1.0):
            symptom = f"With episodes of {lengths} steps and discount {discount} it is not the discounted sum"
        close(candidate(x, discount, last), slowly(x, discount, last), symptom)


def slowly(x: Array, discount: float, last: Array) -> Array:
    """Return the sums by their definition."""
    y = np.zeros(len(x))
    for t in range(len(x)):
        for k in range(t, len(x)):
            y[t] += discount ** (k - t) * x[k]
            if last[k]:
                break
    return y


@exercise(
    "policy_gradient",
    "minitrpo.policy_gradient:policy_gradient",
    "The mean of scores times advantages is the gradient of one number: of the mean of log pi(a|s) * A.",
    "Write that number as a function of theta, with policy.distribution and policy.log_prob, for all N steps at once; "
    "then `grad`.",
    "log_prob and advantages both have shape (N,); multiply them step by step, take np.mean, give it to grad.",
)
def policy_gradient(candidate: Candidate) -> None:
    """Check mean_t A_t grad log pi(a_t|s_t): by hand, and against finite differences."""
    line, theta = GaussianPolicy(1, 1, ()), np.array([0.5, 0.0, np.log(2.0)])
    states, actions = np.array([[2.0], [0.0]]), np.array([[5.0], [-2.0]])
    one = candidate(line, theta, states[:1], actions[:1], np.array([10.0]))
    by_hand(one, [20.0, 10.0, 30.0], "One step with the score (2, 1, 3) and advantage 10 gives (20, 10, 30)")
    by_hand(
        candidate(line, theta, states, actions, np.array([1.0, -2.0])),
        [1.0, 1.0, 1.5],
        "Two steps with the scores (2, 1, 3), (0, -0.5, 0) and advantages 1, -2: the mean of (2, 1, 3) and (0, 1, 0) "
        "is (1, 1, 1.5)",
    )
    rng = np.random.default_rng(3)
    cases: tuple[tuple[Policy, int], ...] = (
        (GaussianPolicy(3, 2, (4,)), 7),
        (GaussianPolicy(2, 3, ()), 3),
        (CategoricalPolicy(2, 3, (4,)), 5),
        (CategoricalPolicy(1, 2, ()), 1),
    )
    for policy, n in cases:
        theta, states, actions = _steps(policy, rng, n)
        psi = _scores(policy, theta, states, actions)
        _weightings(candidate, policy, theta, states, actions, psi, rng.standard_normal(n))


def _weightings(
    candidate: Candidate, policy: Policy, theta: Array, states: Array, actions: Array, psi: Array, a: Array
) -> None:
    """Compare with the mean of scores `psi` (N, P), for several advantages on the same steps."""
    kind, n = type(policy).__name__, len(a)
    symptoms = {
        f"It is not the mean of score times advantage over {n} steps of a {kind}": a,
        "With large positive advantages (all actions went well) it is not the mean of score times advantage": a + 100.0,
        "With advantages whose mean is 0 it is not the mean of score times advantage: "
        "is each step's score multiplied by its own advantage?": a - a.mean(),
        "With equal advantages it is not their value times the mean score": np.full(n, -3.0),
        "Where only the first step has an advantage, the others must add nothing": np.where(np.arange(n) == 0, 2.0, 0),
    }
    for symptom, advantages in symptoms.items():
        got = candidate(policy, theta, states, actions, advantages)
        close(got, advantages @ psi / n, symptom, 1e-6)
    nothing = candidate(policy, theta, states, actions, np.zeros(n))
    close(nothing, np.zeros(len(theta)), "With advantages of 0 there is nothing to learn: the gradient should be 0")


def _steps(policy: Policy, rng: np.random.Generator, n: int) -> tuple[Array, Array, Array]:
    """Return theta, states (n, D) and actions that the policy drew in them."""
    theta = policy.initialise(rng)
    theta = theta + 0.5 * rng.standard_normal(len(theta))
    states = rng.standard_normal((n, policy.observation_size))
    return theta, states, policy.sample(policy.distribution(theta, states), policy.draw_noise(rng, n))


def _scores(policy: Policy, theta: Array, states: Array, actions: Array, h: float = 1e-5) -> Array:
    """Return the slopes (N, P) of log pi(a|s) by central differences."""

    def log_prob(theta: Array) -> Array:
        return policy.log_prob(policy.distribution(theta, states), actions)

    return np.stack([(log_prob(theta + h * e) - log_prob(theta - h * e)) / (2 * h) for e in np.eye(len(theta))], axis=1)
