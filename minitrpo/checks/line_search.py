"""Checks of lecture 04: the surrogate, the scale of a step, backtracking."""

from collections.abc import Callable
from typing import Any

import numpy as np

from minitrpo.checks.differential import Candidate
from minitrpo.checks.register import close
from minitrpo.checks.register import examined as exercise
from minitrpo.line_search import LineSearch
from minitrpo.policies import Array, CategoricalPolicy, GaussianPolicy, Policy
from minitrpo.policy_gradient import policy_gradient


@exercise(
    "surrogate",
    "minitrpo.policy_gradient:surrogate",
    "log_prob of the new dist_params and old_log_prob are logarithms: how do you get the ratio of the probabilities?",
    "ratio = exp(new log prob - old log prob), one number a step; then the mean over steps of ratio * advantage.",
)
def surrogate(candidate: Candidate) -> None:
    """Check L = mean(ratio * A): by hand, in expectation, against a loop, and by its slope at the old policy."""
    _ratios_by_hand(candidate)
    _equal_policies(candidate)
    _against_a_loop(candidate)
    _slope_is_the_policy_gradient(candidate)


def _ratios_by_hand(candidate: Candidate) -> None:
    coin = CategoricalPolicy(1, 2)
    dist_params, old_log_prob = np.log([[0.5, 0.5], [0.5, 0.5]]), np.log([0.25, 0.5])
    value = candidate(coin, dist_params, old_log_prob, np.array([0, 1]), np.array([3.0, -1.0]))
    close(
        value,
        2.5,
        "Two steps: probabilities 1/4 -> 1/2 and 1/2 -> 1/2, advantages 3 and -1. "
        "The ratios are 2 and 1, so L = (2 * 3 - 1 * 1) / 2 = 2.5",
    )
    one = candidate(coin, dist_params[:1], np.log([0.05]), np.array([0]), np.array([-2.0]))
    close(one, -20.0, "One step, probability 0.05 -> 0.5, advantage -2: L = -20, however large the ratio")


def _equal_policies(candidate: Candidate) -> None:
    for policy, dist_params, actions in _examples():
        advantages = np.linspace(-1.0, 4.0, len(dist_params))
        value = candidate(policy, dist_params, policy.log_prob(dist_params, actions), actions, advantages)
        close(value, advantages.mean(), "For the old policy itself all ratios are 1 and L is the mean advantage")
    zero = candidate(policy, dist_params, policy.log_prob(dist_params, actions) - 1.0, actions, 0.0 * advantages)
    close(zero, 0.0, "When all advantages are 0, L should be 0")


def _examples() -> list[tuple[Policy, Array, Array]]:
    """Return policies with dist_params and actions: one action and three, discrete ones, one step and many."""
    rng = np.random.default_rng(4)
    return [
        (GaussianPolicy(3, 1), rng.standard_normal((1, 2)), rng.standard_normal((1, 1))),
        (GaussianPolicy(3, 3), rng.standard_normal((17, 6)), rng.standard_normal((17, 3))),
        (CategoricalPolicy(3, 4), rng.standard_normal((9, 4)), rng.integers(0, 4, 9)),
    ]


def _against_a_loop(candidate: Candidate) -> None:
    rng = np.random.default_rng(5)
    for policy, old, actions in _examples():
        new = old + 0.4 * rng.standard_normal(old.shape)
        advantages = 2.0 * rng.standard_normal(len(old)) + 0.7
        old_log_prob, log_prob = policy.log_prob(old, actions), policy.log_prob(new, actions)
        expected = 0.0
        for i in range(len(old)):
            expected += np.exp(log_prob[i]) / np.exp(old_log_prob[i]) * advantages[i] / len(old)
        symptom = (
            f"For {len(old)} steps of a {type(policy).__name__} L is not the mean of new/old probability * advantage"
        )
        close(candidate(policy, new, old_log_prob, actions, advantages), expected, symptom)


def _slope_is_the_policy_gradient(candidate: Candidate) -> None:
    policy, rng = GaussianPolicy(3, 2, hidden=(4,)), np.random.default_rng(6)
    theta, states, actions = policy.initialise(rng), rng.standard_normal((12, 3)), rng.standard_normal((12, 2))
    advantages, along = rng.standard_normal(12) + 1.0, rng.standard_normal(len(theta))
    old_log_prob = policy.log_prob(policy.distribution(theta, states), actions)

    def along_the_ray(t: float) -> float:
        dist_params = policy.distribution(theta + t * along, states)
        return float(candidate(policy, dist_params, old_log_prob, actions, advantages))

    slope = (along_the_ray(1e-5) - along_the_ray(-1e-5)) / 2e-5
    g = policy_gradient(policy, theta, states, actions, advantages)
    close(slope, g @ along, "At the old policy the slope of L should be the policy gradient of lecture 01", 1e-6)


@exercise(
    "step_scale",
    "minitrpo.line_search:step_scale",
    "1/2 beta^2 x'Ax = max_kl: solve for beta.",
    "beta is the square root of 2 max_kl / x'Ax. What if x'Ax is 0, or negative by rounding?",
)
def step_scale(candidate: Candidate) -> None:
    """Check beta by putting it back into the quadratic model, and the cases without a solution."""
    close(candidate(0.02, 1.0), 0.2, "For max_kl = 0.02 and x'Ax = 1: 1/2 * 0.2^2 * 1 = 0.02, so beta = 0.2")
    for max_kl in (1e-4, 0.01, 0.5, 3.0):
        for curvature in (1e-14, 0.03, 1.0, 7.0, 4e6):
            symptom = f"1/2 beta^2 x'Ax should be max_kl; for max_kl = {max_kl:g}, x'Ax = {curvature:g} it is not"
            close(0.5 * np.square(candidate(max_kl, curvature)) * curvature, max_kl, symptom)
            assert candidate(max_kl, curvature) > 0, "beta should be positive: we walk along x, not away from it"
    rng = np.random.default_rng(7)
    x, root = rng.standard_normal(6), rng.standard_normal((6, 6))
    close(
        candidate(0.01, 100 * float(x @ root @ root.T @ x)) * 10 * x,
        candidate(0.01, float(x @ root @ root.T @ x)) * x,
        "A direction ten times as long should give the same step",
    )
    for curvature in (0.0, -1e-12, -3.0):
        close(candidate(0.01, curvature), 0.0, f"For x'Ax = {curvature:g} no step is safe: beta should be 0")
    close(candidate(0.0, 2.0), 0.0, "For max_kl = 0 the step should be 0")


@exercise(
    "backtracking",
    "minitrpo.line_search:backtracking",
    "Trial k = 0, 1, ... is theta + shrink**k * full_step. Which conditions must all hold? Return as soon as they do.",
    "Test for finite numbers first: every comparison with nan is False, and that can let it through or not.",
    "After the loop no trial has passed: return the old theta, with the last trial's reason and ratio, gain 0, KL 0.",
)
def backtracking(candidate: Candidate) -> None:
    """Check the search on rays whose answers are known: which trial, what it costs, what it reports and restores."""
    _first_trial(candidate)
    _counts_and_fractions(candidate)
    _each_condition(candidate)
    _failures_restore(candidate)
    _not_finite(candidate)
    _zero_step(candidate)
    _many_rays(candidate)


class Ray:
    """An `evaluate` with gain(f) and kl(f) at theta + f * step, which remembers the fractions it was asked for."""

    def __init__(self, gain: Callable[[float], float], kl: Callable[[float], float], size: int = 3) -> None:
        rng = np.random.default_rng(size)
        self.theta, self.step = rng.standard_normal(size), rng.standard_normal(size)
        self.gain, self.kl = gain, kl
        self.asked: list[float] = []

    def __call__(self, theta: Array) -> tuple[float, float]:
        """Return (gain, KL) at a point of the ray."""
        fraction = float((theta - self.theta) @ self.step / (self.step @ self.step))
        off = float(np.max(np.abs(theta - self.theta - fraction * self.step)))
        assert not off > 1e-9, "it tried a policy that is not on the ray theta + fraction * full_step"
        self.asked.append(fraction)
        return self.gain(fraction), self.kl(fraction)

    def search(self, candidate: Candidate, max_kl: float, promise: float = 1.0, *more: Any) -> LineSearch:
        """Run the candidate and look at what every answer must fulfil."""
        self.asked.clear()
        found = candidate(self, self.theta, self.step, promise, max_kl, *more)
        assert isinstance(found, LineSearch), f"it should return a LineSearch, not {type(found).__name__}"
        assert np.shape(found.theta) == self.theta.shape, (
            f"its theta should have shape {self.theta.shape}, not {np.shape(found.theta)}"
        )
        assert isinstance(found.reason, str), "`reason` should be text"
        assert len(self.asked) == found.trials, (
            f"it says trials = {found.trials}, but evaluated {len(self.asked)} policies: each trial once, nothing else"
        )
        return found

    def ends_at(self, found: LineSearch, fraction: float, symptom: str) -> None:
        """Assert that the search accepted theta + fraction * step, and reports its gain and KL."""
        assert found.accepted, f"{symptom}; it accepted nothing and says {found.reason!r}"
        ended = float((found.theta - self.theta) @ self.step / (self.step @ self.step))
        assert abs(ended - fraction) <= 1e-8, f"{symptom}; its theta lies at {ended:.3g} x the full step"
        close(found.theta, self.theta + fraction * self.step, symptom)
        assert found.reason == "accepted", f"the reason of an accepted step is 'accepted', not {found.reason!r}"
        close(found.gain, self.gain(fraction), "`gain` should be what evaluate said of the accepted trial")
        close(found.kl, self.kl(fraction), "`kl` should be what evaluate said of the accepted trial")

    def tried(self, fractions: Array, symptom: str) -> None:
        """Assert that these fractions of the step were evaluated, in this order."""
        told = ", ".join(f"{f:.3g}" for f in self.asked[:3])
        same = len(self.asked) == len(fractions) and np.allclose(self.asked, fractions, rtol=1e-8, atol=1e-10)
        assert same, f"{symptom}; it tried {len(self.asked)}, the first at {told} x the full step"

    def restores(self, found: LineSearch, reason: str, symptom: str) -> None:
        """Assert that the search failed for this reason and left theta as it was."""
        assert not found.accepted, f"{symptom}; it accepted a step and reports KL {found.kl:g}, gain {found.gain:g}"
        close(found.theta, self.theta, "Nothing was accepted, so theta should be the old one, to the bit", 0.0)
        assert found.reason == reason, f"{symptom}: the reason should be {reason!r}, not {found.reason!r}"
        close(found.gain, 0.0, "When nothing is accepted `gain` should be 0")
        close(found.kl, 0.0, "When nothing is accepted `kl` should be 0")


def _first_trial(candidate: Candidate) -> None:
    ray = Ray(lambda f: 0.3 * f, lambda f: 0.01 * f * f)
    found = ray.search(candidate, 0.02, 0.4)
    ray.ends_at(found, 1.0, "The full step gains and keeps the KL: it should be taken as it is")
    assert found.trials == 1, f"The full step was acceptable, yet it evaluated {found.trials} policies"
    close(found.gain_ratio, 0.75, "It gained 0.3 where 0.4 was promised: gain_ratio should be 0.75")
    ray = Ray(lambda f: 1e-4 * f, lambda f: 0.01 * f * f)
    ray.ends_at(ray.search(candidate, 0.02, 1.0), 1.0, "A gain far below the promise is still a gain")


def _each_condition(candidate: Candidate) -> None:
    ray = Ray(lambda f: f, lambda f: 0.04 if f > 0.6 else 0.01)
    found = ray.search(candidate, 0.01, 2.0, 0.5, 12)
    ray.ends_at(found, 0.5, "KL is 0.04 at the full step and 0.01 at half of it, the limit is 0.01, equal is fine")
    close(found.gain_ratio, 0.5, "The slope promised 2 * 0.5 for half a step, and 0.5 was gained: ratio 0.5")
    ray = Ray(lambda f: f, lambda f: 0.0125 * f)
    ray.ends_at(ray.search(candidate, 0.01, 1.0, 0.5), 0.5, "A KL of 0.0125 is above a limit of 0.01")
    ray = Ray(lambda f: f * (0.9 - f), lambda f: 1e-6 * f)
    ray.ends_at(
        ray.search(candidate, 0.01), 0.7, "The full step keeps the KL but loses: the next trial should be taken"
    )
    ray = Ray(lambda f: 0.0 if f > 0.8 else f, lambda f: 1e-6 * f)
    ray.ends_at(ray.search(candidate, 0.01), 0.7, "A gain of exactly 0 is no improvement")
    ray = Ray(lambda f: f if 0.4 < f < 0.6 or f < 0.2 else -f, lambda f: 1e-6 * f)
    ray.ends_at(
        ray.search(candidate, 0.01), 0.49, "Of several acceptable trials the first, the largest, should be taken"
    )
    ray = Ray(lambda f: -((f - 0.4) ** 2) + 0.2, lambda f: 0.01 * f)
    ray.ends_at(
        ray.search(candidate, 0.008),
        0.7,
        "The first acceptable trial should end the search, though a later one gains more",
    )
    ray = Ray(lambda f: 100.0 * f, lambda f: 0.02 * f)
    ray.ends_at(ray.search(candidate, 0.01), 0.49, "However large the gain, the KL limit holds")


def _counts_and_fractions(candidate: Candidate) -> None:
    ray = Ray(lambda f: f, lambda f: 1.0)
    found = ray.search(candidate, 0.01)
    ray.tried(0.7 ** np.arange(12), "By default it should try 12 steps, 0.7^k of the full one")
    ray.restores(found, "KL too large", "KL is 1 all along the ray and the limit 0.01")
    close(found.gain_ratio, 1.0, "gain_ratio is the last trial's: it gained exactly what was promised for it")
    for shrink, most in ((0.5, 3), (0.9, 20), (0.1, 1)):
        ray.search(candidate, 0.01, 1.0, shrink, most)
        symptom = (
            f"With shrink = {shrink} and max_trials = {most} it should try {most} steps, {shrink}^k of the full one"
        )
        ray.tried(shrink ** np.arange(most), symptom)
    ray = Ray(lambda f: f, lambda f: 0.02 * f)
    ray.ends_at(ray.search(candidate, 0.01, 1.0, 0.8, 5), 0.8**4, "The last of max_trials trials counts, too")


def _failures_restore(candidate: Candidate) -> None:
    ray = Ray(lambda f: -f, lambda f: 1e-6)
    found = ray.search(candidate, 0.01, 4.0)
    ray.restores(found, "no improvement", "The surrogate falls all along the ray")
    close(found.gain_ratio, -0.25, "Every trial lost a quarter of what was promised for it: gain_ratio should be -0.25")
    ray = Ray(lambda f: -f, lambda f: 0.1 * f)
    ray.restores(
        ray.search(candidate, 0.05), "no improvement", "KL was too large at first, but at the last trial it was not"
    )
    ray = Ray(lambda f: f, lambda f: 0.1 if f < 0.5 else 0.0)
    found = ray.search(candidate, 0.05, 0.0)
    ray.ends_at(found, 1.0, "Where the slope promises 0, a gain is a gain")
    close(found.gain_ratio, 0.0, "Where 0 was promised, gain_ratio should be 0, without a division by 0")


def _not_finite(candidate: Candidate) -> None:
    for bad in (np.nan, np.inf, -np.inf):
        what = f"A trial whose gain is {bad} should be refused"
        ray = Ray(lambda f, bad=bad: bad if f > 0.6 else f, lambda f: 1e-6)  # type: ignore[misc]
        ray.ends_at(ray.search(candidate, 0.01), 0.49, what)
        what = f"A trial whose KL is {bad} should be refused"
        ray = Ray(lambda f: f, lambda f, bad=bad: bad if f > 0.6 else 1e-6)  # type: ignore[misc]
        ray.ends_at(ray.search(candidate, 0.01), 0.49, what)
        ray = Ray(lambda f, bad=bad: bad, lambda f: 1e-6)  # type: ignore[misc]
        found = ray.search(candidate, 0.01)
        ray.restores(found, "not finite", f"The gain is {bad} all along the ray")
        close(found.gain_ratio, 0.0, "Where the last trial was not finite, gain_ratio should be 0")
    ray = Ray(lambda f: 1.0, lambda f: 1e-6)
    ray.step = np.array([0.1, np.nan, 0.2])
    ray.restores(ray.search(candidate, 0.01), "not finite", "The step contains nan, whatever evaluate says of it")


def _zero_step(candidate: Candidate) -> None:
    def untouched(theta: Array) -> tuple[float, float]:
        raise AssertionError("the full step is all zeros: there is nothing to evaluate")

    theta = np.array([1.0, -2.0])
    found = candidate(untouched, theta, np.zeros(2), 0.0, 0.01)
    assert isinstance(found, LineSearch), f"it should return a LineSearch, not {type(found).__name__}"
    assert (found.accepted, found.trials) == (False, 0), "a zero step is not accepted, and takes 0 trials"
    assert found.reason == "zero step", f"the reason should be 'zero step', not {found.reason!r}"
    close(found.theta, theta, "A zero step leaves theta as it was", 0.0)


def _many_rays(candidate: Candidate) -> None:
    """A definition to compare with: of all acceptable fractions, the largest."""
    rng = np.random.default_rng(8)
    for size in (1, 2, 5, 40):
        for _ in range(12):
            a, b, c = rng.uniform(-0.5, 1.5), rng.uniform(0.0, 2.0), 10 ** rng.uniform(-3, 1)
            ray = Ray(lambda f, a=a, b=b: a * f - b * f * f, lambda f, c=c: c * f * f, size)  # type: ignore[misc]
            shrink, most, limit = float(rng.choice([0.5, 0.7, 0.8])), int(rng.integers(1, 10)), 0.05
            fractions = shrink ** np.arange(most)
            good = [float(f) for f in fractions if ray.gain(f) > 0.0 and ray.kl(f) <= limit]
            found = ray.search(candidate, limit, a, shrink, most)
            if good:
                ray.ends_at(found, good[0], "It should end at the largest acceptable step of the series")
                close(
                    found.gain_ratio, ray.gain(good[0]) / (good[0] * a), "gain_ratio is gain / promise of the same step"
                )
            else:
                last = float(fractions[-1])
                reason = "KL too large" if ray.gain(last) > 0 else "no improvement" if ray.kl(last) <= limit else ""
                ray.restores(found, reason or found.reason, "No step of the series is acceptable")
