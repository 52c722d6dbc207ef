"""Checks of lecture 04: the surrogate, the scale of a step, backtracking."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from autograd import grad

from minitrpo.course.checks.framework.differential import Candidate, Case, Need, case, need, remark
from minitrpo.course.checks.framework.kinds import POLICIES, steps
from minitrpo.course.checks.framework.register import exercise
from minitrpo.course.checks.framework.words import number, short, value_words
from minitrpo.policies import Array, CategoricalPolicy, GaussianPolicy, Policy


@exercise(
    "minitrpo.policy_gradient:surrogate",
    r"""
        ? log_prob of the new dist_params and old_log_prob are logarithms: how do you get the ratio of the \
            probabilities?
        ? ratio = exp(new log prob - old log prob), one number a step; then the mean over steps of ratio * advantage.
        np.mean( => np.sum( :: is the sum over the steps :: be their mean
        np.exp( => np.exp(old_log_prob - && - old_log_prob =>  :: has the ratio upside down :: divide new by old
        np.exp( => ( :: has the logarithm of the ratio :: take exp of the difference
        - old_log_prob =>  :: leaves the old policy out :: divide by its probability
        np.exp( => ( && - old_log_prob =>  :: has log pi for the ratio :: weight with pi_new / pi_old
        np.exp( => (-1.0 + np.exp( && old_log_prob) => old_log_prob)) :: has (ratio - 1) * A, the gain :: be the mean \
            of ratio * A
        np.exp( => np.clip(np.exp( && old_log_prob) => old_log_prob), 0.8, 1.2) :: clips the ratios, as PPO does \
            :: count them whole
        * advantages) => * advantages) / np.mean(np.exp(policy.log_prob(dist_params, actions) - old_log_prob)) \
            :: divides by the sum of the ratios :: divide by the number of steps
        - old_log_prob) => ) / np.exp(old_log_prob) :: divides probabilities, which may be 0 :: subtract the logarithms
    """,
    lecture="04",
)
def _surrogate() -> Iterator[Case]:
    coin, even, a = CategoricalPolicy(1, 2), np.log(np.full((2, 2), 0.5)), np.array([1.0, np.nan])
    yield case("ratios 2 and 1", coin, even, np.log([0.25, 0.5]), np.array([0, 1]), np.array([3.0, -1.0]))
    yield case("a ratio of 10", coin, even[:1], np.log([0.05]), np.array([0]), np.array([-2.0]))
    rng = np.random.default_rng(5)
    for policy, n in zip(POLICIES, (9, 1, 17, 4, 1100), strict=True):
        theta, states, actions = steps(policy, n, n)
        new = policy.distribution(theta, states)
        old = policy.log_prob(new + 0.4 * rng.standard_normal(new.shape), actions)
        advantages = 2.0 * rng.standard_normal(n) + 0.7
        yield case("the old policy itself", policy, new, policy.log_prob(new, actions), actions, advantages)
        for size in (1.0, 1e9, 1e-9):
            yield case("advantages of any size", policy, new, old, actions, size * advantages)
        yield followed(policy, new, old, actions, advantages)
    line, wide = GaussianPolicy(1, 1), np.array([[0.0, 0.0], [1.0, 2.0], [0.0, -3.0]])
    far = np.array([[60.0], [-400.0], [0.1]])
    for shift in (-700.0, 0.01, 50.0, 700.0):
        old = line.log_prob(wide, far) - np.array([shift, 0.3, -0.2])
        yield case("improbable actions, any ratio", line, wide, old, far, np.array([2.0, 1.0, -0.5]))
    yield remark(case("an advantage that is nan", coin, even, np.log([0.25, 0.5]), np.array([0, 1]), a))


def followed(policy: Policy, dist_params: Array, old_log_prob: Array, actions: Array, advantages: Array) -> Case:
    """Return a case that asks autograd for the slope in the dist_params, as the lecture does."""

    def run(f: Candidate) -> Any:
        try:
            return grad(lambda d: f(policy, d, old_log_prob, actions, advantages))(dist_params)
        except (TypeError, AttributeError, ValueError) as error:
            text = f"autograd cannot follow it ({error}): use its numpy, without float() or methods of arrays"
            raise Need(text) from error

    return Case("its slope by autograd", run, shown=f"grad of the surrogate of {short(policy)}, {len(actions)} steps")


@exercise(
    "minitrpo.line_search:step_scale",
    r"""
        ? 1/2 beta^2 x'Ax = max_kl: solve for beta.
        ? beta is the square root of 2 max_kl / x'Ax. What if x'Ax is 0, or negative by rounding?
        2.0 * max_kl => max_kl :: leaves out a factor 2 under the root :: solve 1/2 beta^2 x'Ax = max_kl
        np.sqrt =>  :: is beta^2 :: be its root
        2.0 * max_kl / xAx => xAx / (2.0 * max_kl) :: has the fraction upside down :: be shorter for more curvature
        / xAx => / np.float64(xAx) && xAx > 0.0 => True :: does not look at the sign of x'Ax \
            :: return 0 unless x'Ax is positive (nan is not)
        / xAx => / abs(xAx) && xAx > 0.0 => xAx :: forgets the sign of x'Ax :: return 0 if it is negative
        else 0.0 => else 1.0 :: is 1 where x'Ax is not positive :: be 0
        / xAx => / (xAx + 1e-8) :: adds something small to x'Ax :: divide by x'Ax itself
        float( => min(1.0, :: is never above 1 :: be as large as a short x needs
        xAx > 0.0 => xAx > 1e-8 :: takes a small x'Ax for 0 :: return a large scale
    """,
    lecture="04",
)
def _step_scale() -> Iterator[Case]:
    yield case("round numbers", 0.02, 1.0)
    for max_kl, xAx in product((0.1 + 0.2, 0.01, 1e-9, 3.0), (0.03, 7.0, 3e-9, 1e-20, 4e6)):
        yield case("limits and curvatures of any size", max_kl, xAx)
    for xAx in (0.0, -3.0, -1e-12, np.nan):
        yield case("an x'Ax that is not positive", 0.01, xAx)


@exercise(
    "minitrpo.line_search:backtracking",
    r"""
        ? Trial k = 0, 1, ... is theta + shrink**k * full_step. Which conditions must all hold? Return as soon as \
            they do.
        ? Test for finite numbers first: every comparison with nan is False, and that can let it through or not.
        ? After the loop no trial has passed: return the old theta, with the last trial's reason and ratio, gain 0, \
            KL 0.
        LineSearch(candidate, True => LineSearch(theta + full_step, True :: returns the full step :: return that trial
        LineSearch(theta, False => LineSearch(candidate if trials else theta, False :: returns the last trial, refused \
            :: return the old theta
        0.0, 0.0, ratio) => 0.0, 0.0, 0.0) :: has gain_ratio 0 if nothing is accepted :: have the last trial's
        kl > max_kl: => False: :: does not look at the KL :: refuse one above max_kl
        kl > max_kl: => kl >= max_kl: :: refuses a KL equal to max_kl :: allow it
        not gain > 0.0 => False :: takes a step that loses :: refuse a gain that is not above 0
        not gain > 0.0 => gain < 0.0 :: takes a gain of 0 :: refuse it
        not gain > 0.0 => not (gain > 0.0 and ratio > 0.1) :: asks for part of the prediction :: ask for a gain above 0
        not gain > 0.0 => not gain > 1e-8 :: refuses a small gain :: take any above 0
        gain / (fraction * expected_gain) => gain / expected_gain :: divides by the full step's prediction \
            :: divide by the trial's own, which is shorter
        7 => 5 :: shrinks by 0.5 by default :: shrink by 0.7
        shrink ** (trials - 1) => shrink**trials :: begins with a shorter step :: try the full step first
        shrink ** (trials - 1) => 1.0 :: does not shrink the step :: shrink it from trial to trial
        not (np.isfinite(gain) and np.isfinite(kl) and np.all(np.isfinite(candidate))) => False && not gain > 0.0 => \
            gain <= 0.0 :: lets nan through, as every comparison with nan is False :: test for finite numbers first
        and np.all(np.isfinite(candidate)) =>  :: takes parameters that are not finite :: refuse them
        if np.any(full_step) => if True :: tries a step of zeros :: return "zero step" at once
    """,
    lecture="04",
)
def _backtracking() -> Iterator[Case]:
    yield search("a full step that is fine", "0.3 * f", "0.01 * f * f", 0.02, 0.4)
    yield search("a KL too large at first", "100 * f", "0.02 * f")
    yield search("a full step that loses", "f * (0.9 - f)", "1e-6 * f")
    yield search("several steps that would do", "f if 0.4 < f < 0.6 or f < 0.2 else -f", "1e-6 * f")
    yield search("a later step that gains more", "0.2 - (f - 0.4) ** 2", "0.01 * f", 0.008)
    for gain_of, kl_of in (("f", "1.0"), ("-f", "1e-6"), ("0.0", "1.0"), ("0.0", "0.0")):
        for predicted, most in ((1.0, 12), (4.0, 2), (0.0, 1)):
            yield search("nothing that passes", gain_of, kl_of, 0.05, predicted, max_trials=most)
    for shrink, most in ((0.8, 5), (0.1, 3), (0.9, 25)):
        yield search("other factors and numbers of trials", "0.3 * f", "0.06 * f", shrink=shrink, max_trials=most)
    for predicted in (2.0, 1e9, 1e-9, 0.0):
        yield search("predictions of any size", "f", "0.02 * f", 0.01, predicted)
    for limit in (0.01, 3.0):
        for kl in (limit, limit * (1 - 1e-12), limit * (1 + 1e-12), 1.001 * limit):
            yield search("a KL at, just below and just above the limit", "f", f"{kl!r} if f > 0.6 else 0.0", limit)
    yield search("a KL and a limit of 0", "f", "0.0", 0.0)
    for gain in (0.0, 1e-6, 1e-30, -1e-30):
        yield search("a gain at, just above and just below 0", f"{gain} if f > 0.8 else f", "-1e-18")
    yield search("reasons that change", "f if f > 0.1 else -f", "f", 0.05)
    for bad, where in product(("nan", "inf", "-inf"), ("f > 0.6", "f > 0")):
        yield search("a gain that is not finite", f"{bad} if {where} else f", "1e-6")
        yield search("a KL that is not finite", "f", f"{bad} if {where} else 1e-6")
    yield search("a gain that is nan where the KL is too large", "nan", "1.0")
    for step in ((0.1, np.nan, 0.2), (0.1, np.inf, 0.2), (0.0, 0.0), (1.0, -1.0), (0.0, 2.0), (1e-30, -1e-30)):
        yield search("a step that is not finite, zero, or tiny", "1.0", "1e-6", step=step)
    rng = np.random.default_rng(8)
    for _ in range(15):
        a, b, c = rng.uniform(0.1, 1.5), rng.uniform(0.0, 2.0), 10 ** rng.uniform(-3, 1)
        shrink, most = float(rng.choice([0.5, 0.7, 0.8])), int(rng.integers(1, 10))
        ray = f"{a:.2f} * f - {b:.2f} * f * f", f"{c:.3g} * f * f"
        yield search("rays at random", *ray, 0.05, a, shrink=shrink, max_trials=most)
    yield remark(search("a loss that was predicted", "f", "0.02 * f", 0.01, -3.0))


def search(
    kind: str,
    gain: str,
    kl: str,
    max_kl: float = 0.01,
    expected_gain: float = 1.0,
    step: tuple[float, ...] = (0.3, -1.2, 0.5),
    **named: Any,
) -> Case:
    """Return a case that compares the answer and the trials; gain and KL are expressions of f, the fraction."""
    full, theta = np.array(step), np.array([0.7, -0.2, 1.1])[: len(step)]
    size = float(full @ full) or 1.0

    def run(f: Candidate) -> Any:
        asked, kept = [], []

        def evaluate(trial: Array) -> tuple[float, float]:
            fraction = float((trial - theta) @ full) / size
            asked.append(fraction)
            kept.append((trial, trial.copy()))
            names = {"f": fraction, "nan": np.nan, "inf": np.inf}
            return float(eval(gain, names)), float(eval(kl, names))  # noqa: S307 (our own source)

        found = f(evaluate, theta.copy(), full.copy(), expected_gain, max_kl, **named)
        there = getattr(getattr(found, "theta", None), "shape", None) == theta.shape
        need(there, f"it returned {value_words(found)}, which is no LineSearch with a theta of {len(theta)} numbers")
        same = all(np.array_equal(now, then, equal_nan=True) for now, then in kept)
        need(same, "a trial that `evaluate` had kept was changed later: each is an array of its own")
        ended = {"it ends at this fraction of the full step": float((found.theta - theta) @ full) / size}
        return ended | {"the answer": found, "the fractions of the full step that it tried": np.array(asked)}

    limits = {"max_kl": max_kl, "expected_gain": expected_gain} | named
    more = "".join(f", {name} = {number(x)}" for name, x in limits.items())
    ray = f"full_step = {short(full)}; at the fraction f of it gain = {gain}, KL = {kl}"
    return Case(kind, run, rtol=1e-8, atol=1e-12, each=True, shown=f"{ray}{more}")
