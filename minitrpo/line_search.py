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
    """Return beta with KL(beta x) ~ 1/2 beta^2 x'Ax = max_kl; 0 if x'Ax is not positive (nan is not).

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

    evaluate: theta -> (surrogate gain, mean KL), asked once a trial, which is an array of its own: it may be kept.
    Gain > 0 and KL <= max_kl are asked for, no more. max_trials: at least 1.
    A search that fails returns the old theta, and as `reason` the first of "not finite", "KL too large",
    "no improvement" that holds for its last trial. A step of zeros is not tried at all: "zero step", 0 trials.
    Source: Schulman et al. 2015 (TRPO), appendix C; "restores otherwise" is what several implementations forget.
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
