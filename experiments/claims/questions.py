"""What is asked of the runs of a claim: a number of each run, and the kinds of questions that are made of such numbers.

A number is NaN where a run is too short to have it, and then the question is not asked. Every number has its interval
from course.statistics.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from experiments.harness import Runs
from experiments.pictures import phase_seconds
from experiments.tables import Run, curve
from minitrpo.course.statistics import (
    CANNOT_TELL,
    DOES_NOT_HOLD,
    HOLDS,
    LEVEL,
    Interval,
    difference_interval,
    mean_interval,
    median_interval,
    rank_test,
    ratio_interval,
    steps_to,
    verdict,
)
from minitrpo.parallel.timing import PHASES
from minitrpo.policies import Array

SLACK = 0.98  # of what was asked for: the last update of a run may end a little early
STRICT = 0.99  # the level of the intervals that tell "holds" from "holds barely"
BARELY, BY_MACHINE, UNTESTED = "holds barely", "machine dependent", "not measurable here"
VERDICTS = {
    HOLDS: "the 95 % intervals of all questions lie on the claimed side of the border, and the 99 % intervals do, too",
    BARELY: "the 95 % intervals of all questions lie on the claimed side, but a 99 % interval contains the border",
    DOES_NOT_HOLD: "the interval of one question lies on the other side, at a level with Holm's correction for the "
    "number of questions",
    BY_MACHINE: "a question about seconds holds on one of our two machines and does not hold on the other",
    CANNOT_TELL: "the interval of at least one question contains the border, and no question is refuted",
    UNTESTED: "a question is about more cores than we have, about runs more than twice as long as ours, or about "
    "something that we measured only in part; no question is refuted",
}
Answer = tuple[str, str]  # what was found, with its 95 % interval, and the verdict
Known = dict[str, Array]
Answering = Callable[[Known, float], Answer]


class Quantity(NamedTuple):
    """A number of a run, and what it is called."""

    words: str
    of: Callable[[Run], float]
    within: tuple[float, float] = (-np.inf, np.inf)  # the least and the greatest possible value


class Claimed(NamedTuple):
    """Between which numbers something lies, as a source claims, and how that is said."""

    low: float
    high: float
    words: str


class Part(NamedTuple):
    """One question about a quantity of some arms on a task.

    answer: takes the values that are known, {arm: one for each seed}, and a level. cores: how many ranks work, so that
    a machine with fewer cores cannot answer. needs: how many arms, by default all. untested: the claim is about runs
    more than twice as long as ours, or about something that these runs measure only in part. claimed: where the number
    is to lie, and form: how it is written, for questions that one interval answers.
    """

    env: str
    quantity: Quantity
    words: str
    arms: tuple[str, ...]
    answer: Answering
    cores: int = 0
    needs: int = 0
    untested: bool = False
    claimed: Claimed | None = None
    form: str = ".3g"

    @property
    def question(self) -> str:
        """Return the question in words."""
        return f"{self.env}, {self.quantity.words}{self.words}"

    def ask(self, runs: Runs, level: float = LEVEL) -> Answer | None:
        """Return what was found, and the verdict at a level; None: the runs are too few or too short."""
        each = {name: np.array([self.quantity.of(run) for run in runs.get((name, self.env), [])]) for name in self.arms}
        known = {name: values for name, values in each.items() if len(values) and not np.isnan(values).any()}
        if len(known) < (self.needs or len(self.arms)):
            return None
        found, result = self.answer(known, level)
        there = min(run["machine"]["cores"] for run in runs[next(iter(known)), self.env])
        if there < self.cores:
            return f"{found}, oversubscribed: {self.cores} ranks on {there} cores", UNTESTED
        return found, UNTESTED if self.untested else result


# --- numbers of a run


def mean_between(ends: Array, values: Array, low: float, high: float) -> float:
    """Return the mean of what rows that end at `ends` have between two places; NaN if they do not reach that far."""
    if not len(ends) or ends[-1] < SLACK * high:
        return float("nan")
    begins = np.concatenate([[0.0], ends[:-1]])
    overlap = np.clip(np.minimum(ends, high) - np.maximum(begins, low), 0.0, None)
    overlap[~np.isfinite(values)] = 0.0
    return float(np.dot(overlap, np.nan_to_num(values)) / overlap.sum()) if overlap.any() else float("nan")


def mean(words: str, low: float, high: float, x: str = "env_steps", y: str = "mean_return") -> Quantity:
    """Return the mean of a column between two places of another."""
    return Quantity(words, lambda run: mean_between(*curve(run, x, y), low, high))


def area(steps: int, kind: str = "") -> Quantity:
    """Return the mean return over all environment steps up to `steps`: the area under the curve.

    kind: "evaluation " for that of fresh episodes.
    """
    y = "eval_return" if kind else "mean_return"
    return mean(f"mean {kind}return over the first {steps:,} steps", 0, steps, y=y)


def last_tenth(steps: int) -> Quantity:
    """Return the mean return over the last tenth of `steps` environment steps."""
    return mean(f"return over the last tenth of {steps:,} steps", 0.9 * steps, steps)


def steps_to_goal(goal: float, within: int) -> Quantity:
    """Return the steps at which fresh episodes reach the goal; infinity if they need more than `within`."""

    def steps(run: Run) -> float:
        ends, returns = curve(run, y="eval_return")
        return steps_to(goal, ends, returns) if len(ends) and ends[-1] >= SLACK * within else float("nan")

    return Quantity(f"steps to an evaluation return of {goal:g}", steps)


def seconds_at(steps: int) -> Quantity:
    """Return the seconds at which a run has taken `steps` environment steps."""

    def at(run: Run) -> float:
        ends, clock = curve(run, y="time_s")
        return float(np.interp(steps, ends, clock)) if ends[-1] >= SLACK * steps else float("nan")

    return Quantity(f"seconds until {steps:,} steps", at)


def share_of_collecting(run: Run) -> float:
    """Return which part of an update collecting takes, each phase the median of all updates."""
    return phase_seconds(run, "collect") / sum(phase_seconds(run, each) for each in PHASES)


COLLECTING = Quantity("seconds to collect", lambda run: phase_seconds(run, "collect"))
SHARE = Quantity("share of an update's seconds spent collecting", share_of_collecting, (0.0, 1.0))


def times_real_time(step: float) -> Quantity:
    """Return how many seconds of a task's own time a second of collecting holds; step: seconds of a task's step."""

    def factor(run: Run) -> float:
        (ends, collect), updates = curve(run, y="collect_s"), np.diff(curve(run, "iteration", "collect_s")[0])
        return float(np.median(np.diff(ends) * step / (collect[1:] * updates)))

    return Quantity("simulated seconds per second of collecting", factor)


def turns(run: Run) -> float:
    """Return which part of the rule's decisions, in the second half of a run, took back the one before; NaN: too few.

    Decisions that come from noise alone take back the one before in two of three cases: of three numbers, the middle
    one is the largest or the smallest.
    """
    at, asked = (run["decisions"][name] for name in ("env_steps", "steps_per_update"))
    signs = np.sign(np.diff(asked))
    signs = signs[(at[1:] > curve(run)[0][-1] / 2) & (signs != 0)]
    return float(np.mean(signs[1:] != signs[:-1])) if len(signs) > 4 else float("nan")


def steps_asked(run: Run) -> float:
    """Return the mean steps/update over the second half of a run's updates."""
    asked = curve(run, y="steps_per_update")[1]
    return float(np.mean(asked[len(asked) // 2 :]))


# --- questions


def above(number: float) -> Claimed:
    """Return the claim that something is above a number."""
    return Claimed(number, np.inf, f"above {number:,g}")


def below(number: float) -> Claimed:
    """Return the claim that something is below a number."""
    return Claimed(-np.inf, number, f"below {number:,g}")


def about(number: float, by: float) -> Claimed:
    """Return the claim that something is a number, or as near to it as `by`."""
    return Claimed(number - by, number + by, f"{number:,g} ± {by:g}")


def lies(interval: Interval, claimed: Claimed) -> str:
    """Return whether all of an interval lies where it was claimed to, or none of it, or a part."""
    sides = {verdict(interval, claimed.low), verdict(interval, claimed.high, above=False)}
    if DOES_NOT_HOLD in sides:
        return DOES_NOT_HOLD
    return HOLDS if sides == {HOLDS} else CANNOT_TELL


def estimated(estimate: Callable[..., Interval], claimed: Claimed, form: str = ".3g") -> Answering:
    """Return the answer by an interval: whether all of it lies where it was claimed to, or none of it."""

    def answer(known: Known, level: float) -> Answer:
        shown, interval = estimate(*known.values()), estimate(*known.values(), level=level)
        found = f"{shown.middle:{form}}, one run" if np.isnan(shown.low) else f"{shown:{form}}"
        return found, lies(interval, claimed)

    return answer


def higher(quantity: Quantity, one: str, other: str, env: str) -> Part:
    """Return the question whether one arm's mean is above another's: Welch's interval."""
    words = f": {one} minus {other}, claimed above 0"
    return Part(env, quantity, words, (one, other), estimated(difference_interval, above(0)))


def ratio(quantity: Quantity, one: str, other: str, env: str, claimed: Claimed, cores: int = 0) -> Part:
    """Return the question how many times another's one arm takes: Welch's interval of logarithms."""
    words, form = f": {one} divided by {other}, claimed {claimed.words}", ".2g"
    answer = estimated(ratio_interval, claimed, form)
    return Part(env, quantity, words, (one, other), answer, cores, claimed=claimed, form=form)


def level(quantity: Quantity, name: str, env: str, claimed: Claimed, form: str = ".3g") -> Part:
    """Return the question whether an arm's mean lies where it was claimed to: Student's interval."""
    words = f", {name}: claimed {claimed.words}"
    answer = estimated(partial(mean_interval, within=quantity.within), claimed, form)
    return Part(env, quantity, words, (name,), answer, claimed=claimed, form=form)


def trend(quantity: Quantity, arms: dict[str, float], env: str) -> Part:
    """Return the question whether a quantity rises with a number: the slopes of the seeds, for a doubling."""

    def answer(known: Known, level: float) -> Answer:
        seeds = min(map(len, known.values()))
        x, y = np.log2([arms[name] for name in known]), np.array([values[:seeds] for values in known.values()])
        return estimated(mean_interval, above(0))({"slopes": np.polyfit(x, y, 1)[0]}, level)

    words = ": gain per doubling of the simulators, claimed above 0"
    return Part(env, quantity, words, tuple(arms), answer, needs=2)


def sooner(quantity: Quantity, one: str, other: str, env: str) -> Part:
    """Return the question whether one arm needs less, infinity among the values: medians and a rank test."""

    def answer(known: Known, level: float) -> Answer:
        a, b = known.values()
        p, less = rank_test(a, b), np.median(np.argsort(np.argsort(np.concatenate([a, b])))[: len(a)])
        first, second = median_interval(a)[0].middle, median_interval(b)[0].middle
        better = first < second or (first == second and less < (len(a) + len(b) - 1) / 2)
        found = f"medians {first:,.0f} and {second:,.0f}, p = {p:.2g}"
        return found, CANNOT_TELL if p >= 1 - level else HOLDS if better else DOES_NOT_HOLD

    return Part(env, quantity, f": {one}, claimed below {other}", (one, other), answer)


def same_bits(env: str, names: tuple[str, ...]) -> Part:
    """Return the question whether all arms end with the same parameters, to the bit, seed by seed."""

    def answer(known: Known, level: float) -> Answer:
        alike = [len(set(each)) == 1 for each in zip(*known.values(), strict=False)]
        return f"on {sum(alike)} of {len(alike)} seeds", HOLDS if all(alike) else DOES_NOT_HOLD

    theta = Quantity("bit-identical parameters", lambda run: int(run["theta"], 16))
    return Part(env, theta, f" with {', '.join(names)}", names, answer)
