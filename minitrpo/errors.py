"""What can go wrong for a user: a request that cannot be met, an episode that failed, an algorithm's own mistake."""

import sysconfig
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NOT_THEIRS = {Path(__file__).parent, *(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib"))}
TOO_LARGE = "Scale what is too large, rewards included (gymnasium.wrappers)"


class BadInput(ValueError):
    """A request that cannot be met: one line that says what was wrong, what is allowed and what to do. Exit code 2."""


class AlgorithmFailed(RuntimeError):
    """A user's algorithm returned what the loop cannot work with: one line that says what, and what is asked for."""


def infinite_theta(when: str, sizes: str = "") -> AlgorithmFailed:
    """Return the failure of an algorithm whose parameters overflowed; sizes: of the numbers that it was given."""
    return AlgorithmFailed(
        f"theta is not finite {when}; no checkpoint has it. {sizes}{TOO_LARGE}; if nothing is, reduce the step size"
    )


class Stopped(Exception):
    """A run was asked to end before its last step, and has done so on all ranks."""


class JobFailed(RuntimeError):
    """A job started with `mpiexec` ended badly; the text has what its ranks printed. code: its exit code."""

    def __init__(self, text: str, code: int | None = None) -> None:
        super().__init__(text)
        self.code = code


@dataclass
class EpisodeFailed(RuntimeError):
    """An environment raised or returned something that is not finite, in a known episode of a known iteration.

    Of an evaluation, `iteration` is the update before it.
    """

    env: str
    iteration: int
    episode: int
    seed: int
    cause: str
    evaluation: bool = False

    def __str__(self) -> str:
        when = f"iteration {self.iteration}"
        if self.evaluation:
            when = f"the evaluation after update {self.iteration}" if self.iteration else "the evaluation"
        return f"{self.env} failed in episode {self.episode} of {when} (reset seed {self.seed}): {self.cause}"


class EnvironmentFailed(RuntimeError):
    """The environment in `slot` raised, or returned something that is not finite."""

    def __init__(self, slot: int, cause: str) -> None:
        super().__init__(cause)
        self.slot = slot


def describe_error(error: BaseException) -> str:
    """Return what an error is and says, on one line; where it was raised if it says nothing."""
    return f"{type(error).__name__}: {one_line(error) or place_of(error)}"


def place_of(error: BaseException) -> str:
    """Return in which file and line an error was raised: the innermost of the user's own, if there is one."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not NOT_THEIRS & set(Path(frame.filename).parents)] or list(frames)
    return f"{Path(theirs[-1].filename).name}, line {theirs[-1].lineno}" if theirs else "unknown place"


def one_line(error: BaseException) -> str:
    """Return an error's message on one line, however long it is, and if it has none."""
    return shorten(error, str, 300)


def shorten(value: Any, text_of: Callable[[Any], str] = repr, most: int = 60) -> str:
    """Return a value of a user's for a message, in a few words."""
    text = " ".join(text_of(value)[: 10 * most].split())
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= most else f"{text[: most - 3]}..."
