"""What rank 0 writes and shows of a run, whichever loop plays it: rows with their seconds, checkpoints, notes."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from minitrpo.algorithms.algorithm import Arrays
from minitrpo.algorithms.user_classes import RUN_PREFIX
from minitrpo.parallel.timing import Timeline
from minitrpo.run_folder.metrics_csv import Record, row_of
from minitrpo.supervision.program import asked_to_stop
from minitrpo.training.run_context import SETTINGS, RunContext, counted

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
        """Open the display.

        Args:
            context: the run.
            timeline: the clock of this rank.
            show: makes the display.
            ranks: how many processes were started.
            notes: what the algorithm has to say; it adds to this list, and each row shows and empties it.

        """
        self._context, self._settings, self._folder = context, context.settings, context.folder
        self.timeline, self._ranks, self._notes = timeline, ranks, notes
        self.display = show(counted(context.checkpoint)[1])
        self._fingerprint = context.choice.fingerprint()
        # seconds of the whole run
        self._time = float(context.checkpoint[RUN_PREFIX + "time_s"][0]) if context.checkpoint else 0.0
        self._first = True  # no episode has ended
        self._saved = 0.0  # seconds of this process at the last checkpoint

    def begin(self, state: Callable[[], Arrays], notes: Iterable[str] = ()) -> None:
        """Cut the log where the run continues, or write a new run's first checkpoint; then show the notes."""
        if self._context.checkpoint:
            self._folder.forget_after(counted(self._context.checkpoint)[0])
        else:
            self.save(state())
        for note in (*self._context.notes, *notes):
            self.display.note(note)

    def due(self, iteration: int, last: bool = False) -> bool:
        """Return whether there is to be a checkpoint after this update; last: of the run."""
        text, row = self._settings.checkpoint_every, self._settings.record_every
        if text.endswith("s"):
            due = self.timeline.now() - self._saved >= float(text[:-1])
        else:
            due = iteration // int(text) > (iteration - row) // int(text)
        return last or (iteration % row == 0 and (due or asked_to_stop()))

    def write(self, record: Record, rest_is_waiting: bool = False) -> None:
        """Write a row to the log and show it, with the notes that the algorithm has made since the row before.

        Args:
            record: what the row is made of, without its times.
            rest_is_waiting: see `Timeline.row`.

        """
        # 1. its times
        seconds = self.timeline.row(rest_is_waiting)
        self._time += seconds["iteration_s"]
        row = row_of(replace(record, seconds=seconds, time_s=self._time, ranks=self._ranks), self._folder.header)
        # 2. to the disk, and to the screen
        with self.timeline.span("checkpoint"):
            self._folder.append(row)
        self.display.update(row)
        # 3. the notes, and one about the first returns if they are too small to learn from
        if self._first and record.episodes:
            self._first = False
            if 0 < abs(record.returns) < SMALL * record.lengths:
                self._notes.append(SMALL_RETURNS)
        for note in self._notes:
            self.display.note(note)
        self._notes.clear()

    def save(self, arrays: Arrays) -> None:
        """Write a checkpoint of these arrays, the time and the settings."""
        time_and_settings = {RUN_PREFIX + "time_s": np.array([self._time]), SETTINGS: self._fingerprint}
        with self.timeline.span("checkpoint"):
            self._folder.save_checkpoint({**arrays, **time_and_settings})
        self._saved = self.timeline.now()
