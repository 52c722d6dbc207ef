"""Lecture 09a: adapt steps/update and max-KL to how well learning goes, as a pure controller.

Source: Frans 2016, "Speeding up TRPO through parallelization and parameter adaptation": every 10 updates the mean
returns of the last 10 are summed and compared with the 10 before; improving means fewer steps and a larger KL, stuck
the reverse; "improved" asks for a margin, here of |before|, so that the rule also holds for negative returns.
"""

from dataclasses import dataclass, replace
from typing import TypeVar

Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class AdaptiveConfig:
    """The constants of the rule, by default those of train.py; margin 0 is the rule without margin."""

    mode: str = "both"  # none, steps, kl, both
    margin: float = 0.05
    window: int = 10  # updates
    steps_by: int = 300
    kl_by: float = 0.0005  # nats
    steps_limits: tuple[int, int] = (1_000, 20_000)
    kl_limits: tuple[float, float] = (0.001, 0.02)


@dataclass(frozen=True)
class AdaptiveState:
    """The controller's state: steps/update, max-KL, the returns of this window, the sum of the window before."""

    steps_per_update: int
    max_kl: float
    returns: tuple[float, ...] = ()
    before: float | None = None


@dataclass(frozen=True)
class Decision:
    """One comparison of two windows, with its numbers; `improved` is None while there is nothing to compare with."""

    improved: bool | None
    before: float | None
    recent: float
    threshold: float | None
    steps_per_update: int
    max_kl: float

    def __str__(self) -> str:
        now = f"steps/update {self.steps_per_update}, max-KL {self.max_kl:.4g}"
        if self.threshold is None:
            return f"adapt: first window sums to {self.recent:.4g}, nothing to compare with yet; {now}"
        sign, word = (">=", "improved") if self.improved else ("<", "stuck")
        return f"adapt: {word}, {self.recent:.4g} {sign} {self.threshold:.4g} (before: {self.before:.4g}); now {now}"


def improved(recent: float, before: float, margin: float) -> bool:
    """Return whether the sum `recent` is at least `margin` times the size of `before` above it; right for any signs.

    Exactly that is enough, and rounding must not spoil it where numbers are as plain as 100, then 110, at 0.1.
    """
    return recent >= before + margin * abs(before)


def adapt(state: AdaptiveState, mean_return: float, config: AdaptiveConfig) -> tuple[AdaptiveState, Decision | None]:
    """Return the state after an update whose episodes returned `mean_return`, and the decision if a window closed.

    A window is config.window returns, each in one window only; its sum, `recent`, is compared with that of the window
    before. The first has none before it: it moves nothing, and improved, before and threshold of its decision are None.
    A decision reports the settings that follow. The state holds everything that is remembered.
    """
    # 1. remember the return; no decision until the window is full
    returns = (*state.returns, float(mean_return))
    if len(returns) < config.window:
        return replace(state, returns=returns), None
    # 2. the first full window has nothing to compare with
    recent = sum(returns)
    if state.before is None:
        decision = Decision(None, None, recent, None, state.steps_per_update, state.max_kl)
        return replace(state, returns=(), before=recent), decision
    # 3. compare with the window before, and adapt the settings
    better = improved(recent, state.before, config.margin)
    steps, kl = turn(state.steps_per_update, state.max_kl, better, config)
    # 4. the next window starts empty, with this sum before it
    threshold = state.before + config.margin * abs(state.before)
    return AdaptiveState(steps, kl, (), recent), Decision(better, state.before, recent, threshold, steps, kl)


def turn(steps: int, kl: float, better: bool, config: AdaptiveConfig) -> tuple[int, float]:
    """Return (steps/update, max-KL) after one decision: fewer steps and a larger KL if better, the reverse if not.

    better: what `improved` said. config.mode says which of the two moves; the other stays as it is. They move by
    config.steps_by and config.kl_by, clipped to config.steps_limits and config.kl_limits by `clip`. To round the KL to
    12 digits, as here, is allowed, not asked for.
    """
    sign = 1 if better else -1
    # 1. steps, if the mode has them: fewer if better, within their limits
    if config.mode in ("steps", "both"):
        steps = clip(steps, steps - sign * config.steps_by, config.steps_limits)
    # 2. max-KL, if the mode has it: the other way
    if config.mode in ("kl", "both"):
        # rounded, so that a limit that went up and down again is where it was
        kl = round(clip(kl, kl + sign * config.kl_by, config.kl_limits), 12)
    return steps, kl


def clip(old: Number, new: Number, limits: tuple[Number, Number]) -> Number:
    """Return `new` moved into the limits, which also admit `old`: a start outside is never pulled in by a jump.

    From outside the way is one-way: a decision towards the limits moves the setting, the reverse one leaves it where it
    is, until it is within them. The limits 0.001 and 0.02 let a max-KL of 0.12 fall, and never rise again.
    """
    low, high = limits
    return min(max(new, min(low, old)), max(high, old))
