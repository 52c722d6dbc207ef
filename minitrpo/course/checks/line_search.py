"""Checks of lecture 04: the surrogate, the scale of a step, backtracking."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from autograd import grad

from minitrpo.course.checks.differential import Candidate, Case, Need, case, need, tried
from minitrpo.course.checks.edits import edits
from minitrpo.course.checks.policy_gradient import POLICIES, steps
from minitrpo.course.checks.register import exercise
from minitrpo.course.checks.words import number, short, value_words
from minitrpo.policies import Array, CategoricalPolicy, GaussianPolicy, Policy

# Pieces of the package's source, for the tables of known mistakes.
EXP, OLD, A, CENTRED = "np.exp(", "old_log_prob", "* advantages", "* (advantages - advantages.mean())"
LOG, MEAN_A = "policy.log_prob(dist_params, actions)", "* np.mean(advantages"
KL, GAIN, PROMISE, POWER = "kl > max_kl:", "not gain > 0.0", "fraction * expected_gain", "shrink ** (trials - 1)"
FINITE = "np.isfinite(gain) and np.isfinite(kl) and np.all(np.isfinite(candidate))"
LEFT, TAKEN, BLAMED = "LineSearch(theta, False", "LineSearch(candidate, True", '"KL too large"'
FAILED = "LineSearch(theta, False, reason, trials, 0.0, 0.0, ratio)"
KEPT = f"{POWER}; first = reason if trials <= 2 else first"
TOOK = f'LineSearch(candidate, True, "accepted", trials, gain, kl, ratio) if trials else {FAILED}'

SURROGATE_SLIPS = {
    "That is the sum over the steps; their mean is wanted.": ("np.mean(", "np.sum("),
    "The ratio is upside down: the new probability over the old.": (EXP, f"{EXP}{OLD} - ", f" - {OLD}", ""),
    "That is the logarithm of the ratio: take exp of the difference.": ("np.exp(", "("),
    "The old policy plays no part in it: divide by its probability.": (f" - {OLD}", ""),
    "That is log pi times the advantage, without a ratio.": ("np.exp(", "(", f" - {OLD}", ""),
    "Its sign is turned: a loss falls where the surrogate rises.": ("np.mean(", "-np.mean("),
    "That is the gain already: (ratio - 1) * advantage.": ("np.exp(", "(-1.0 + np.exp(", f"{OLD})", f"{OLD}))"),
    "Each step's ratio belongs with its own advantage.": (f"{OLD}) *", f"{OLD})) * np.mean("),
    "It is the mean of the ratios, not exp of a mean.": (
        f"np.mean({EXP}",
        f"{EXP}np.mean(",
        f"{OLD}) {A}",
        f"{OLD})) {MEAN_A}",
    ),
    "One number is wanted: take the mean over the steps.": ("np.mean(", "("),
    "The ratios are clipped, as in PPO; here they count whole.": (
        EXP,
        f"np.clip({EXP}",
        f"{OLD})",
        f"{OLD}), 0.8, 1.2)",
    ),
    "It divides by the sum of the ratios instead of N.": (f"{A})", f"{A}) / np.mean(np.exp({LOG} - {OLD}))"),
    "The advantages are standardised on the way.": (A, f"{CENTRED} / (advantages.std() + 1e-8)"),
    "The mean of the advantages is taken off on the way.": (A, CENTRED),
    "The advantages lost their sign.": (A, "* np.abs(advantages)"),
    "It divides probabilities, which round to 0: take the difference first.": (f" - {OLD})", f") / np.exp({OLD})"),
    "Those are the most probable actions, not those that were taken.": ("actions)", "policy.mode(dist_params))"),
}


@exercise(
    "surrogate",
    "minitrpo.policy_gradient:surrogate",
    hints=(
        "log_prob of the new dist_params and old_log_prob are logarithms: how do you get the ratio of the "
        "probabilities?",
        "ratio = exp(new log prob - old log prob), one number a step; then the mean over steps of ratio * advantage.",
    ),
    mistakes=edits("minitrpo.policy_gradient:surrogate", SURROGATE_SLIPS),
)
def surrogate_cases() -> Iterator[Case]:
    """Yield surrogates by hand, with both kinds of policies, ratios of any size, and their slope by autograd."""
    coin, even = CategoricalPolicy(1, 2), np.log(np.full((2, 2), 0.5))
    a = np.array([3.0, -1.0])
    yield case("ratios 2 and 1", coin, even, np.log([0.25, 0.5]), np.array([0, 1]), a)
    yield case("a ratio of 10", coin, even[:1], np.log([0.05]), np.array([0]), np.array([-2.0]))
    yield case("integer advantages", coin, even, np.log([0.25, 0.3]), np.array([0, 1]), np.array([3, -1]))
    yield case("integer logits", coin, np.array([[0, 1], [2, 0]]), np.log([0.25, 0.3]), np.array([0, 1]), a)
    rng = np.random.default_rng(5)
    for seed, policy in enumerate(POLICIES):
        for n in (1, 9, 17):
            theta, states, actions = steps(policy, 7 * seed + n, n)
            new = policy.distribution(theta, states)
            old = policy.log_prob(new + 0.4 * rng.standard_normal(new.shape), actions)
            advantages = 2.0 * rng.standard_normal(n) + 0.7
            yield case("the old policy itself", policy, new, policy.log_prob(new, actions), actions, advantages)
            yield case("states and actions at random", policy, new, old, actions, advantages)
            yield case("advantages of 0", policy, new, old, actions, 0 * advantages)
            yield case("advantages of any size", policy, new, old, actions, 1e9 * advantages)
            yield case("advantages of any size", policy, new, old, actions, 1e-9 * advantages)
            yield followed(policy, new, old, actions, advantages)
            at_nan = np.where(np.arange(n) == n - 1, np.nan, advantages)
            yield case("an advantage that is nan", policy, new, old, actions, at_nan)
    line, wide = GaussianPolicy(1, 1), np.array([[0.0, 0.0], [1.0, 2.0], [0.0, -3.0]])
    for shift in (-700.0, -50.0, -21.0, 21.0, 50.0, 700.0):
        old = line.log_prob(wide, np.ones((3, 1))) - np.array([shift, 0.3, -0.2])
        yield case("ratios very small and very large", line, wide, old, np.ones((3, 1)), np.array([2.0, 1.0, -0.5]))
    far = np.array([[60.0], [-400.0], [0.1]])
    yield case("improbable actions", line, wide, line.log_prob(wide + 0.01, far), far, np.array([1.0, 2.0, -1.0]))
    for column in range(3):
        sure = np.tile(900.0 * (np.arange(3) == column), (3, 1))
        old = CategoricalPolicy(1, 3).log_prob(sure + 0.1 * np.arange(3), np.arange(3))
        yield case("a policy that is certain", CategoricalPolicy(1, 3), sure, old, np.arange(3), np.ones(3))
    many = rng.standard_normal((5_000, 4))
    actions = rng.standard_normal((5_000, 2))
    old = POLICIES[0].log_prob(many, actions) + 0.1
    yield case("5,000 steps", POLICIES[0], many, old, actions, rng.standard_normal(5_000) + 1.0)
    i = np.array([0, 1, 1, 1])
    yield case("a step that comes three times", coin, even[0 * i], np.log([0.25, 0.3])[i], i, a[i])
    yield case("whole log probabilities", coin, even, np.array([-1, -2]), np.array([0, 1]), a)


def followed(policy: Policy, dist_params: Array, old_log_prob: Array, actions: Array, advantages: Array) -> Case:
    """Return a case that asks autograd for the slope in the dist_params, as the lecture does."""

    def run(f: Candidate) -> Any:
        try:
            return grad(lambda d: f(policy, d, old_log_prob, actions, advantages))(dist_params)
        except (TypeError, AttributeError, ValueError) as error:
            text = f"autograd cannot follow it ({error}): use its numpy, without float() or methods of arrays"
            raise Need(text) from error

    return tried("its slope by autograd", run, shown=f"grad of the surrogate of {short(policy)}, {len(actions)} steps")


STEP_SCALE_SLIPS = {
    "A 2 is missing: 1/2 beta^2 x'Ax = max_kl.": ("2.0 * max_kl", "max_kl"),
    "The 2 is in the wrong place: 1/2 beta^2 x'Ax = max_kl.": ("2.0 * max_kl", "0.5 * max_kl"),
    "That is beta^2: the root is missing.": ("np.sqrt", ""),
    "It is upside down: more curvature means a shorter step.": ("2.0 * max_kl / xAx", "xAx / (2.0 * max_kl)"),
    "The root is of the whole fraction, 2 max_kl / x'Ax.": ("max_kl / xAx)", "max_kl) / xAx"),
    "The root is of the whole fraction, max_kl included.": (
        "np.sqrt(2.0 * max_kl / ",
        "(2.0 * max_kl / np.sqrt(",
        ")) if",
        "))) if",
    ),
    "Where x'Ax is not positive (nan is not) no step is safe: 0.": ("/ xAx", "/ np.float64(xAx)", "xAx > 0.0", "True"),
    "A negative x'Ax has no positive scale: 0.": ("/ xAx", "/ abs(xAx)", "xAx > 0.0", "xAx"),
    "Where x'Ax is not positive the scale is 0, not 1.": ("else 0.0", "else 1.0"),
    "Something small is added to x'Ax: it shortens steps of little curvature.": ("/ xAx", "/ (xAx + 1e-8)"),
    "It is never above 1: a short x may need a larger scale.": ("float(", "min(1.0, "),
    "A small x'Ax is not 0: it has a scale, a large one.": ("xAx > 0.0", "xAx > 1e-8"),
    "It is negative: we walk along x, not away from it.": ("float(", "-float("),
}


@exercise(
    "step_scale",
    "minitrpo.line_search:step_scale",
    hints=(
        "1/2 beta^2 x'Ax = max_kl: solve for beta.",
        "beta is the square root of 2 max_kl / x'Ax. What if x'Ax is 0, or negative by rounding?",
    ),
    mistakes=edits("minitrpo.line_search:step_scale", STEP_SCALE_SLIPS),
)
def step_scale_cases() -> Iterator[Case]:
    """Yield limits and curvatures of any size, and those without a solution."""
    yield case("round numbers", 0.02, 1.0)
    yield case("integers", 2, 1)
    yield case("integers", 1, 3)
    for max_kl in (1e-9, 1e-4, 0.01, 0.1 + 0.2, 3.0, 1e9):
        for xAx in (1e-30, 1e-14, 3e-9, 0.03, 1.0, 7.0, 4e6, 1e12):
            yield case("limits and curvatures of any size", max_kl, xAx)
    yield case("numbers of numpy's", np.float64(0.01), np.float64(3.0))
    for xAx in (0.0, -0.0, 0, -1e-12, -3.0, np.float64(-1.0), -np.inf, np.nan):
        yield case("an x'Ax that is not positive", 0.01, xAx)
    yield case("x'Ax at the smallest number above 0", 1e-300, 1e-300)
    yield case("an infinite x'Ax", 0.01, np.inf)
    yield case("max_kl = 0", 0.0, 2.0)
    yield case("max_kl = 0 and no curvature", 0.0, 0.0)


Along = Callable[[float], float]


class Ray:
    """An `evaluate` with gain(f) and kl(f) at theta + f * step, or at the k-th call; it remembers what was asked."""

    def __init__(self, gain: Along, kl: Along, step: Array | None = None, by_call: bool = False) -> None:
        rng = np.random.default_rng(3)
        self.theta, self.step = rng.standard_normal(3), rng.standard_normal(3)
        if step is not None:
            self.step = np.asarray(step)
            self.theta = rng.standard_normal(len(step))
        self.gain, self.kl, self.by_call = gain, kl, by_call
        self.asked: list[float] = []
        self.kept: list[tuple[Array, Array]] = []  # each trial as it came, and a copy of it

    def __call__(self, theta: Array) -> tuple[float, float]:
        """Return (gain, KL) at a point of the ray."""
        size = float(self.step @ self.step)
        fraction = float((theta - self.theta) @ self.step) / size if size else 0.0
        if np.isfinite(fraction):
            off = float(np.max(np.abs(theta - self.theta - fraction * self.step)))
            need(off < 1e-9, "it tried a policy that is not on the ray theta + fraction * full_step")
        self.asked.append(fraction)
        self.kept.append((theta, theta.copy()))
        at = float(len(self.asked) - 1) if self.by_call else fraction
        return float(self.gain(at)), float(self.kl(at))


def search(
    kind: str, ray: Ray, max_kl: float = 0.01, expected_gain: float = 1.0, *rest: Any, shown: str, **named: Any
) -> Case:
    """Return a case that compares the whole answer, and which steps were tried."""

    def run(f: Candidate) -> Any:
        ray.asked, ray.kept = [], []
        found = f(ray, ray.theta.copy(), ray.step.copy(), expected_gain, max_kl, *rest, **named)
        need(hasattr(found, "theta"), f"it returned {value_words(found)}, which is no LineSearch")
        same = all(np.array_equal(kept, copy, equal_nan=True) for kept, copy in ray.kept)
        need(same, "a trial that `evaluate` had kept was changed later: each is an array of its own")
        tried_there = {"the fractions of the full step that it tried": np.array(ray.asked)}
        if np.shape(found.theta) != ray.theta.shape or not np.isfinite(ray.step).all():
            return {"the answer": found, **tried_there}
        ended = (found.theta - ray.theta) @ ray.step / max(float(ray.step @ ray.step), 1e-300)
        return {"it ends at this fraction of the full step": float(ended), "the answer": found, **tried_there}

    given = dict(zip(("shrink", "max_trials"), rest, strict=False)) | named
    more = "".join(f", {name} = {number(x)}" for name, x in given.items())
    limits = f"max_kl = {max_kl:g}, expected_gain = {expected_gain:g}{more}"
    return tried(kind, run, rtol=1e-8, atol=1e-12, each=True, shown=f"{shown}; {limits}")


BACKTRACKING_SLIPS = {
    "The step that was searched for is not the one that is returned.": (TAKEN, "LineSearch(theta + full_step, True"),
    "Nothing was accepted, so the old theta must come back.": (
        LEFT,
        "LineSearch(candidate if trials else theta, False",
    ),
    "In the end it takes the last trial, which has failed.": (FAILED, TOOK),
    "When nothing is accepted, gain and kl are 0.": (
        "0.0, 0.0, ratio)",
        "*((gain, kl) if trials else (0.0, 0.0)), ratio)",
    ),
    "When nothing is accepted, gain_ratio is still the last trial's.": ("0.0, 0.0, ratio)", "0.0, 0.0, 0.0)"),
    "gain_ratio is gain / promise, not promise / gain.": (f"gain / ({PROMISE})", f"{PROMISE} / gain"),
    "The KL is not looked at.": (KL, "False:"),
    "A KL equal to the limit is allowed.": (KL, "kl >= max_kl:"),
    "There is no slack: a KL above the limit is too large.": (KL, "kl > 1.5 * max_kl:"),
    "There is no slack, however small: a KL above the limit is too large.": (KL, "kl > max_kl * (1 + 1e-6):"),
    "The gain is not looked at: a step that loses is taken.": (GAIN, "False"),
    "A gain of 0 is no improvement.": (GAIN, "gain < 0.0"),
    "It takes steps that lose, and refuses those that gain.": (GAIN, "not gain < 0.0"),
    "A gain far below the promise is still a gain.": (GAIN, "not (gain > 0.0 and ratio > 0.1)"),
    "A small gain is a gain.": (GAIN, "not gain > 1e-8"),
    "The promise of a shorter step is shorter, too.": (f"gain / ({PROMISE})", "gain / expected_gain"),
    "Where nothing is promised, gain_ratio is 0.": (f"if {PROMISE} else 0.0", "if expected_gain else gain / 1e-300"),
    "By default it shrinks by 0.7.": ("shrink: float = 0.7", "shrink: float = 0.5"),
    "By default it does 12 trials.": ("max_trials: int = 12", "max_trials: int = 10"),
    "The first trial is the full step itself.": (POWER, "shrink**trials"),
    "It does one trial too many.": ("max_trials + 1", "max_trials + 2"),
    "It does one trial too few.": ("max_trials + 1", "max_trials"),
    "The step does not shrink from trial to trial.": (POWER, "1.0"),
    "Trial k is shrink^k of the full step: it shrinks faster.": ("(trials - 1)", "(trials * (trials - 1) / 2)"),
    "Trial k is shrink^k: it shrinks by one amount each time.": (POWER, "max(1 - (trials - 1) * (1 - shrink), 0.01)"),
    "Every comparison with nan is False: test for finite numbers first.": (
        f"not ({FINITE})",
        "False",
        GAIN,
        "gain <= 0.0",
    ),
    "nan is refused, but infinite numbers are not.": (FINITE, "not np.isnan([gain, kl, *candidate]).any()"),
    "Gain, KL and the policy must be finite; the policy is not looked at.": (FINITE, "np.isfinite(gain + kl)"),
    "Gain, KL and the policy must be finite; the KL is not looked at.": (FINITE, "np.isfinite(gain)"),
    "Gain, KL and the policy must be finite; the gain is not looked at.": (FINITE, "np.isfinite(kl)"),
    "A step of zeros is not tried: there is nothing to evaluate.": ("if np.any(full_step)", "if True"),
    "The reason is the last trial's, not the first one's.": (POWER, KEPT, FAILED, FAILED.replace("reason", "first")),
    "Which condition failed? Besides a zero step there are three.": (
        '"no improvement"',
        BLAMED,
        '"not finite"',
        BLAMED,
    ),
    "Each trial is evaluated once, and nothing else is.": (
        "reason, ratio, trials",
        "evaluate(theta); reason, ratio, trials",
    ),
}


@exercise(
    "backtracking",
    "minitrpo.line_search:backtracking",
    hints=(
        "Trial k = 0, 1, ... is theta + shrink**k * full_step. Which conditions must all hold? Return as soon as they "
        "do.",
        "Test for finite numbers first: every comparison with nan is False, and that can let it through or not.",
        "After the loop no trial has passed: return the old theta, with the last trial's reason and ratio, gain 0, "
        "KL 0.",
    ),
    mistakes=edits("minitrpo.line_search:backtracking", BACKTRACKING_SLIPS),
)
def backtracking_cases() -> Iterator[Case]:
    """Yield rays on which the right step is known: each condition at its border, and each way to fail."""
    yield from taken()
    yield from borders()
    yield from refused()
    yield from not_finite()
    yield search("a step of zeros", Ray(lambda f: 1.0, lambda f: 0.0, np.zeros(2)), shown="full_step = [0, 0]")
    for step in ([1.0, -1.0], [0.0, 1e-3, 0.0], [0.0, 2.0]):
        ray = Ray(lambda f: f, lambda f: 0.02 * f, np.array(step))
        yield search("steps with zeros or a sum of 0", ray, shown=f"full_step = {short(np.array(step))}")
    tiny = Ray(lambda k: 0.1, lambda k: 0.0 if k == 2 else 1.0, np.array([1e-30, -1e-30]), by_call=True)
    yield search("a tiny step", tiny, shown="full_step = [1e-30, -1e-30]; the KL is 0 at the third trial, else 1")
    rng = np.random.default_rng(8)
    for _ in range(30):
        a, b, c = rng.uniform(-0.5, 1.5), rng.uniform(0.0, 2.0), 10 ** rng.uniform(-3, 1)
        ray = Ray(lambda f, a=a, b=b: a * f - b * f * f, lambda f, c=c: c * f * f)  # type: ignore[misc]
        shrink, most = float(rng.choice([0.5, 0.7, 0.8])), int(rng.integers(1, 10))
        words = f"gain = {a:.2f} f - {b:.2f} f^2 and KL = {c:.3g} f^2 at the fraction f"
        yield search("rays at random", ray, 0.05, a, shrink, most, shown=words)


def taken() -> Iterator[Case]:
    """Yield searches that end at the first, a middle or the last trial."""
    ray = Ray(lambda f: 0.3 * f, lambda f: 0.01 * f * f)
    yield search("a full step that is fine", ray, 0.02, 0.4, shown="gain = 0.3 f, KL = 0.01 f^2 at the fraction f")
    ray = Ray(lambda f: 100.0 * f, lambda f: 0.02 * f)
    yield search("a KL too large at first", ray, shown="gain = 100 f, KL = 0.02 f")
    ray = Ray(lambda f: f * (0.9 - f), lambda f: 1e-6 * f)
    yield search("a full step that loses", ray, shown="gain = f (0.9 - f), KL = 0.000001 f")
    ray = Ray(lambda f: f if 0.4 < f < 0.6 or f < 0.2 else -f, lambda f: 1e-6 * f)
    yield search("several steps that would do", ray, shown="gain = f for f in (0.4, 0.6) and below 0.2, else -f")
    ray = Ray(lambda f: -((f - 0.4) ** 2) + 0.2, lambda f: 0.01 * f)
    yield search("a later step that gains more", ray, 0.008, shown="gain = 0.2 - (f - 0.4)^2, KL = 0.01 f")
    ray = Ray(lambda f: f, lambda f: 0.023 * f)
    for shrink, most in ((0.8, 5), (0.5, 3), (0.9, 20), (0.1, 3)):
        yield search(
            "other factors and numbers of trials", ray, 0.01, 1.0, shrink, most, shown="gain = f, KL = 0.023 f"
        )
    yield search("max_trials given by name", ray, max_trials=3, shown="gain = f, KL = 0.023 f")
    yield search("shrink given by name", ray, shrink=0.6, shown="gain = f, KL = 0.023 f")
    ray = Ray(lambda f: f, lambda f: 0.1 * f)
    yield search("many trials", ray, 0.01, 1.0, 0.9, 25, shown="gain = f, KL = 0.1 f")
    ray = Ray(lambda f: f, lambda f: 0.02 * f)
    for promise in (2.0, -3.0, 1e9, 1e-9, 0.0):
        yield search("promises of any size", ray, 0.01, promise, shown="gain = f, KL = 0.02 f")


def borders() -> Iterator[Case]:
    """Yield KLs at, just below and just above the limit, gains at, just below and just above 0."""
    for limit in (0.01, 1e-9, 3.0):
        for factor, words in ((1.0, "at"), (1 - 1e-12, "just below"), (1 + 1e-12, "just above"), (1.001, "just above")):
            ray = Ray(lambda f: f, lambda f, kl=limit * factor: kl if f > 0.6 else 0.0)  # type: ignore[misc]
            yield search(
                f"a KL {words} the limit", ray, limit, 1.0, 0.5, shown=f"KL = {limit} * {factor:.15g} at f = 1"
            )
    for gain in (5e-324, 1e-15, 1e-6, 0.0, -0.0, -1e-15, -5e-324):
        ray = Ray(lambda f, gain=gain: gain if f > 0.8 else f, lambda f: 1e-6)  # type: ignore[misc]
        yield search("a gain at, just above and just below 0", ray, shown=f"gain = {gain:g} at f = 1, KL = 0.000001")
    ray = Ray(lambda f: f, lambda f: 0.0)
    yield search("max_kl = 0", ray, 0.0, shown="gain = f, KL = 0")
    ray = Ray(lambda f: f, lambda f: -1e-18)
    yield search("a KL below 0 by rounding", ray, 0.01, shown="gain = f, KL = -1e-18")


def refused() -> Iterator[Case]:
    """Yield searches in which nothing passes: the last trial's reason counts, and of two the KL."""
    for shown, gain, kl in (
        ("gain = f, KL = 1", lambda f: f, lambda f: 1.0),
        ("gain = -f, KL = 0.000001", lambda f: -f, lambda f: 1e-6),
        ("gain = -f, KL = 0.1 f", lambda f: -f, lambda f: 0.1 * f),
        ("gain = -f, KL = 1", lambda f: -f, lambda f: 1.0),
        ("gain = 0, KL = 1", lambda f: 0.0, lambda f: 1.0),
        ("gain = 0, KL = 0", lambda f: 0.0, lambda f: 0.0),
        ("gain = f for f > 0.1, else -f; KL = f", lambda f: f if f > 0.1 else -f, lambda f: f),
    ):
        for promise in (1.0, 4.0, 0.0):
            yield search("nothing that passes", Ray(gain, kl), 0.05, promise, shown=shown)
        for most in (1, 2, 7):
            yield search("nothing that passes in a few trials", Ray(gain, kl), 0.05, 1.0, 0.7, most, shown=shown)


def not_finite() -> Iterator[Case]:
    """Yield gains, KLs and steps that are nan or infinite, at the first trial or at all."""
    for bad in (np.nan, np.inf, -np.inf):
        for gain, kl in ((True, False), (False, True), (True, True)):

            def spoilt(f: float, where: float, of: bool, value: float, bad: float = bad) -> float:
                return bad if of and f > where else value

            for where in (0.6, -1.0):
                ray = Ray(
                    lambda f, w=where, of=gain: spoilt(f, w, of, f),  # type: ignore[misc]
                    lambda f, w=where, of=kl: spoilt(f, w, of, 1e-6),  # type: ignore[misc]
                )
                words = f"{'gain' * gain}{' and ' * (gain and kl)}{'KL' * kl} {bad} for f > {where}"
                yield search("gains and KLs that are not finite", ray, shown=words)
    ray = Ray(lambda f: np.nan, lambda f: 1.0)
    yield search("a gain that is nan where the KL is too large", ray, shown="gain = nan, KL = 1")
    for bad in (np.nan, np.inf):
        ray = Ray(lambda k: 1.0, lambda k: 1e-6, np.array([0.1, bad, 0.2]), by_call=True)
        yield search("a step that is not finite", ray, shown=f"full_step = [0.1, {bad}, 0.2], gain = 1, KL = 0.000001")
