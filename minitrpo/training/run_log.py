"""What the root writes and shows of a run, whichever loop plays it: rows with their seconds, checkpoints, notes."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from minitrpo.algorithms.algorithm import Arrays
from minitrpo.contract import OWN
from minitrpo.parallel.timing import Timeline
from minitrpo.policies import Array
from minitrpo.supervision.program import asked_to_stop
from minitrpo.training.context import SETTINGS, RunContext, counted

# Environment steps that a run has taken already -> its display, with update(row), note(text) and close()
Show = Callable[[int], Any]


SMALL = 1e-5  # of a step
SMALL_RETURNS = (
    "note: the first returns are below 0.00001 a step. If rewards are small and not only rare, little may be learned: "
    "multiply them, as gymnasium.wrappers.TransformReward(env, lambda reward: 1e6 * reward) does"
)


class RunLog:
    """The run folder, the display and the clock of a run; on the root."""

    def __init__(self, context: RunContext, timeline: Timeline, show: Show, ranks: int, notes: list[str]) -> None:
        """Take what is said while the run goes on: `notes`, which the algorithm adds to and each row empties."""
        self._context, self._settings, self._folder = context, context.settings, context.folder
        self.timeline, self._ranks, self._notes = timeline, ranks, notes
        self._display = show(counted(context.checkpoint)[1])
        self._fingerprint = context.choice.fingerprint()
        self._time = float(context.checkpoint[OWN + "time_s"][0]) if context.checkpoint else 0.0  # of the whole run
        self._first = True  # no episode has ended
        self._saved = 0.0  # seconds of this process at the last checkpoint

    def begin(self, state: Callable[[], Arrays], notes: Iterable[str] = ()) -> None:
        """Cut the log where the run goes on, or write a new run's first checkpoint; then say what may surprise."""
        if self._context.checkpoint:
            self._folder.forget_after(counted(self._context.checkpoint)[0])
        else:
            self.save(state())
        for note in (*self._context.notes, *notes):
            self.note(note)

    def due(self, iteration: int, last: bool = False) -> bool:
        """Return whether there is to be a checkpoint after this update; last: of the run."""
        text, row = self._settings.checkpoint_every, self._settings.record_every
        if text.endswith("s"):
            due = self.timeline.now() - self._saved >= float(text[:-1])
        else:
            due = iteration // int(text) > (iteration - row) // int(text)
        return last or (iteration % row == 0 and (due or asked_to_stop()))

    def write(self, row: dict[str, Any], rest_is_waiting: bool = False) -> None:
        """Write a row to the log and show it, with the seconds since the row before: see `Timeline.row`."""
        seconds = self.timeline.row(rest_is_waiting)
        self._time += seconds["iteration_s"]
        row = {**row, **seconds, "time_s": self._time, "ranks": self._ranks}
        with self.timeline.span("checkpoint"):
            self._folder.append(row)
        self._display.update(row)
        if self._first and not np.isnan(row.get("mean_return", np.nan)):
            self._notes += [SMALL_RETURNS] if 0 < abs(row["mean_return"]) < SMALL * row["mean_length"] else []
            self._first = False
        for note in self._notes:
            self.note(note)
        self._notes.clear()

    def save(self, arrays: Arrays) -> None:
        """Write a checkpoint of these arrays."""
        own = {OWN + "time_s": np.array([self._time]), SETTINGS: self._fingerprint}
        with self.timeline.span("checkpoint"):
            self._folder.save_checkpoint({**arrays, **own})
        self._saved = self.timeline.now()

    def note(self, text: str) -> None:
        """Say what must not be missed."""
        self._display.note(text)

    def close(self) -> None:
        """Leave the screen."""
        self._display.close()


class Row:
    """The updates of one row: their episodes are counted together, the algorithm's numbers are averaged."""

    def __init__(self) -> None:
        self._columns: list[dict[str, Any]] = []
        self._returns: list[Array] = []
        self._lengths: list[Array] = []

    def add(self, returns: Array, lengths: Array, columns: dict[str, Any]) -> None:
        """Add an update: returns and lengths of the episodes that ended in it, and the algorithm's columns."""
        self._returns.append(returns)
        self._lengths.append(lengths)
        self._columns.append(columns)

    def take(self) -> dict[str, Any]:
        """Return the row of all updates since the last call; means of no episode are NaN."""
        returns, lengths = np.concatenate(self._returns), np.concatenate(self._lengths)
        columns = {name: mean([c[name] for c in self._columns]) for name in self._columns[0]}
        self._columns, self._returns, self._lengths = [], [], []
        means = {
            "mean_return": float(np.mean(returns)) if len(returns) else float("nan"),
            "mean_length": float(np.mean(lengths)) if len(lengths) else float("nan"),
        }
        return {"episodes": len(returns), **means, **columns}


def mean(values: list[Any]) -> Any:
    """Return the mean of numbers, without those that are not known; of words, and of a single value, the last."""
    if len(values) == 1 or isinstance(values[-1], str):
        return values[-1]
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")
