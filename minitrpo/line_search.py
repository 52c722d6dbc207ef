"""Lecture 04: how far to go: the scale that a KL limit allows, then backtracking until a step gains within it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from minitrpo.policies import Array


@dataclass(frozen=True)
class LineSearch:
    """Where a line search ended. `reason` is "accepted", or why the last trial failed; theta is then the old one."""

    theta: Array
    accepted: bool
    reason: str
    trials: int  # policies evaluated
    gain: float  # surrogate gained; 0 if nothing was accepted
    kl: float  # nats; 0 if nothing was accepted
    gain_ratio: float  # actual gain / gain expected from the gradient, of the last trial; 0 if it was not finite


def step_scale(max_kl: float, xAx: float) -> float:
    """Return beta, with which the step beta x reaches the KL limit: KL(beta x) is about beta^2 xAx / 2.

    xAx: the curvature x'Ax along x. Where it is not positive (NaN is not), beta is 0.
    Source: Schulman et al. 2015 (TRPO), appendix C: beta = sqrt(2 delta / s'As).
    """
    return float(np.sqrt(2.0 * max_kl / xAx)) if xAx > 0.0 else 0.0


def backtracking(
    evaluate: Callable[[Array], tuple[float, float]],
    theta: Array,
    full_step: Array,
    expected_gain: float,
    max_kl: float,
    shrink: float = 0.7,
    max_trials: int = 12,
) -> LineSearch:
    """Try theta + shrink^k * full_step, k = 0, 1, ..., and return the first that is finite, gains and keeps the KL.

    evaluate: theta -> (surrogate gain, mean KL), called once for each trial. Every trial is a new array.
    A trial is accepted if its gain is above 0 and its KL is at most max_kl. max_trials: at least 1.
    If none is accepted, the result has the old theta, and `reason` is the first of "not finite", "KL too large",
    "no improvement" that holds for the last trial. A step of zeros is not tried: "zero step", 0 trials.
    Source: Schulman et al. 2015 (TRPO), appendix C. Several implementations forget to restore the old theta.
    """
    # 1. without a step there is nothing to try
    reason, ratio, trials = "zero step", 0.0, 0
    if np.any(full_step):
        for trials in range(1, max_trials + 1):
            # 2. the next candidate, a shorter step each time, and how its gain compares with the expected one
            fraction = shrink ** (trials - 1)
            candidate = theta + fraction * full_step
            with np.errstate(over="ignore", invalid="ignore"):
                gain, kl = evaluate(candidate)
            ratio = gain / (fraction * expected_gain) if fraction * expected_gain else 0.0
            # 3. refuse what is not finite, goes too far or gains nothing, and remember why
            if not (np.isfinite(gain) and np.isfinite(kl) and np.all(np.isfinite(candidate))):
                reason, ratio = "not finite", 0.0
            elif kl > max_kl:
                reason = "KL too large"
            elif not gain > 0.0:
                reason = "no improvement"
            # 4. the first that passes is taken
            else:
                return LineSearch(candidate, True, "accepted", trials, gain, kl, ratio)
    # 5. none passed: the old theta, itself
    return LineSearch(theta, False, reason, trials, 0.0, 0.0, ratio)
