"""What a claim is: a sentence, the runs that could contradict it, what is asked of them, and their picture."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from minitrpo.course.statistics import CANNOT_TELL, DOES_NOT_HOLD, HOLDS

PAPER = "Frans & Hafner 2016, Parallel Trust Region Policy Optimization with Multiple Actors"
POST = "Frans 2016, Speeding up TRPO through parallelization and parameter adaptation"
SLIDES = "Parallelism in RL, lecture slides"
BLOG = "Batch PPO with continuous training, the blog of an internship at Preferred Networks"
FULL, QUICK = "full", "quick"
Run = dict[str, Any]  # what is recorded of one training run: see measuring.py
Runs = Mapping[tuple[str, str], list[Run]]  # (name of the arm, task) -> a run for each seed


class Arm(NamedTuple):
    """One setting of a comparison: its name, its task, what train is told, and on how many ranks (0: any)."""

    name: str
    env: str
    words: str
    ranks: int = 0


class Size(NamedTuple):
    """How much is measured: seeds, environment steps of a run of each task, and arms (none named: all).

    times: arms whose runs are so many times as long.
    """

    seeds: int
    steps: Mapping[str, int]
    only: tuple[str, ...] = ()
    times: Mapping[str, int] = MappingProxyType({})

    def steps_of(self, arm: Arm) -> int:
        """Return the environment steps of a run of an arm."""
        return self.steps[arm.env] * self.times.get(arm.name, 1)


class Finding(NamedTuple):
    """What was asked, the number that was found with its interval, and the verdict on it."""

    words: str
    found: str
    verdict: str


class Part(NamedTuple):
    """One question of a claim; `ask` returns None where the runs are too few or too short for it."""

    words: str
    ask: Callable[[Runs], tuple[str, str] | None]  # found, verdict


class Ghost(NamedTuple):
    """Points that the author measured, of one arm: x and y as the picture has them."""

    env: str
    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True)
class Claim:
    """A claim of the seeds. Without arms of its own it is asked of the runs of another, `data`."""

    name: str
    title: str
    source: str
    sentence: str
    parts: tuple[Part, ...]
    draw: Callable[[Any, "Claim", Runs], None]  # onto a matplotlib Figure
    full: Size
    quick: Size
    arms: tuple[Arm, ...] = ()
    data: str = ""
    seconds: bool = False  # the runs' seconds count: they are refused on a busy machine
    ghosts: tuple[Ghost, ...] = field(default=(), repr=False)
    note: str = ""

    @property
    def home(self) -> str:
        """Return the name of the claim whose runs these are."""
        return self.data or self.name

    def size(self, kind: str) -> Size:
        """Return the size of the full or the quick set."""
        return self.full if kind == FULL else self.quick

    def chosen(self, kind: str) -> list[Arm]:
        """Return the arms of the full or the quick set."""
        size = self.size(kind)
        return [arm for arm in self.arms if arm.env in size.steps and (not size.only or arm.name in size.only)]


def judge(claim: Claim, runs: Runs) -> tuple[str, list[Finding]]:
    """Return the verdict on a claim and on each of its parts; those that the runs are too short for are not among them.

    It holds if all parts were asked and hold, and does not hold if one of them does not.
    """
    findings = []
    for part in claim.parts:
        answer = part.ask(runs)
        if answer is not None:
            findings.append(Finding(part.words, *answer))
    verdicts = [finding.verdict for finding in findings]
    if DOES_NOT_HOLD in verdicts:
        return DOES_NOT_HOLD, findings
    whole = len(verdicts) == len(claim.parts) and set(verdicts) == {HOLDS}
    return HOLDS if whole else CANNOT_TELL, findings
