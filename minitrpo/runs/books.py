"""The root's books of an asynchronous run: rows, checkpoints, and when it is over; all of it from shared arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np

from minitrpo.algorithms.asynchronous import Arrays
from minitrpo.errors import infinite_theta
from minitrpo.parallel.parameter_server import TALLY, Tally, staleness_of
from minitrpo.parallel.timing import Timeline
from minitrpo.runs.checkpoints import SETTINGS
from minitrpo.runs.context import RunContext
from minitrpo.runs.progress import Progress
from minitrpo.runs.settings import GRADIENTS, PHASES
from minitrpo.runs.stopping import asked_to_stop
from minitrpo.runs.workers import (
    EPISODES,
    HEAD,
    ITERATION,
    LENGTHS,
    OVER,
    OWN,
    REPORT,
    RETURNS,
    SEEN,
    STEPS,
    env_steps,
    merged,
)

UNKNOWN = 1_000.0  # steps, the length of an episode where none has ended and there is no time limit


class Books:
    """What the root writes and shows. `look` after every gradient: it records a row when enough steps were taken."""

    def __init__(
        self,
        context: RunContext,
        shared: Arrays,
        notes: list[str],
        timeline: Timeline,
        mode: str,
        ranks: int,
        extra: Callable[[], Arrays] = dict,
    ) -> None:
        """Take the shared arrays, as they are at the start. extra: what else a checkpoint is to hold."""
        self.context, self.settings, self.shared = context, context.settings, shared
        self._notes, self._timeline, self._ranks, self._extra = notes, timeline, ranks, extra
        self._checkpoint = context.checkpoint
        self.iteration = int(shared[ITERATION][0]) - 1
        self._length = float(context.spec.max_episode_steps or UNKNOWN)
        self._time, self._now, self._saved = 0.0, 0.0, 0.0
        if self._checkpoint:
            self._time = float(self._checkpoint[OWN + "time_s"][0])
            self._length = float(self._checkpoint[OWN + "mean_length"][0])
            context.folder.forget_after(self.iteration)
        self._before = self._totals()
        self._theta_shape = shared["theta"].shape
        if not self._checkpoint:
            self._save()
        chart = getattr(context.choice.algorithm, "chart", ())
        self.progress = Progress(mode, self.settings.total_steps, env_steps(shared), chart[:1])
        for note in context.notes:
            self.progress.note(note)
        self._decide()

    @property
    def over(self) -> bool:
        """Return whether the run has taken all its steps."""
        return bool(self.shared[OVER][0])

    def look(self) -> None:
        """Record a row if it is due; of the last one only say that the run is over, as others still have gradients."""
        if self.over or env_steps(self.shared) - self._before["report"][STEPS] < self.settings.steps_per_update:
            return
        self._decide()
        if not self.over:
            self._record()
            updates = self.settings.checkpoint_updates
            by_clock = self._timeline.now() - self._saved >= self.settings.checkpoint_seconds
            if by_clock or (updates > 0 and self.iteration % updates == 0) or asked_to_stop():
                self._save()
            if asked_to_stop():
                self.shared[OVER][0] = True

    def close(self) -> None:
        """Record the last row, when all gradients have come, and save it."""
        if env_steps(self.shared) > self._before["report"][STEPS]:
            self._record()
            self._save()

    def _decide(self) -> None:
        self.shared[OVER][0] = env_steps(self.shared) >= self.settings.total_steps

    def _totals(self) -> Arrays:
        """Return everything that is counted, summed over the workers."""
        tally = Tally(self.shared)
        counts = np.array([tally.version, tally.refused.sum(), tally.lost])
        return {
            "report": self.shared[REPORT].sum(axis=0),
            "counts": counts,
            "histogram": tally.histogram.sum(axis=0),
        }

    def _record(self) -> None:
        theta, totals = self.shared["theta"], self._totals()
        since = {name: totals[name] - self._before[name] for name in totals}
        if theta.shape != self._theta_shape or not np.all(np.isfinite(theta)):
            raise infinite_theta(f"in update {self.iteration + 1}")
        self._before, self.iteration = totals, self.iteration + 1
        self.shared[ITERATION][0] = self.iteration + 1
        row = self._row(since, int(totals["report"][STEPS])) | self._seconds()
        with self._timeline.span("checkpoint"):
            self.context.folder.append(row)
        self.progress.update(row)
        for note in self._notes:
            self.progress.note(note)
        self._notes.clear()

    def _row(self, since: Arrays, steps: int) -> dict[str, Any]:
        report = since["report"]
        episodes = int(report[EPISODES])
        if episodes:
            self._length = float(report[LENGTHS]) / episodes
        sums, numbers = report[HEAD::2].tolist(), report[HEAD + 1 :: 2].tolist()
        means = [total / number if number else float("nan") for total, number in zip(sums, numbers, strict=True)]
        return {
            "iteration": self.iteration,
            "env_steps": steps,
            "episodes": episodes,
            "mean_return": float(report[RETURNS]) / episodes if episodes else float("nan"),
            "mean_length": self._length if episodes else float("nan"),
            "steps_per_update": self.settings.steps_per_update,
            **dict(zip(GRADIENTS, [*since["counts"].tolist(), *staleness_of(since["histogram"])], strict=True)),
            **dict(zip(self.context.choice.algorithm.columns, means, strict=True)),
        }

    def _seconds(self) -> dict[str, float]:
        """Return where the root's time went since the last row; what is left over is waiting for messages."""
        seconds, now = self._timeline.take(), self._timeline.now()
        whole, self._now = now - self._now, now
        self._time += whole
        row = {f"{phase}_s": seconds[phase] for phase in PHASES}
        if self._ranks > 1:
            row["wait_s"] = max(0.0, whole - sum(row.values()) - seconds["checkpoint"])
        return row | {"iteration_s": whole, "time_s": self._time, "ranks": self._ranks}

    def _save(self) -> None:
        """Write a checkpoint: the shared arrays, with the names by which other commands find theirs, and `extra`."""
        house = {name: array for name, array in self.shared.items() if name.startswith((OWN, TALLY))}
        own = {name: array for name, array in self.shared.items() if name not in house}
        named = {
            "filter": merged(self.shared[SEEN]).to_vector(),
            "counters": np.array([self.iteration, int(self._before["report"][STEPS])]),
            "mean_length": np.array([self._length]),
            "time_s": np.array([self._time]),
            **{name: array for name, array in house.items() if name.startswith(TALLY)},
        }
        with self._timeline.span("checkpoint"):
            self.context.folder.save_checkpoint(
                own
                | {name: array for name, array in house.items() if name.startswith(OWN)}
                | {OWN + name: array for name, array in named.items()}
                | {SETTINGS: self.context.choice.fingerprint()}
                | self._extra()
            )
        self._saved = self._timeline.now()


def restored(shared: Arrays, checkpoint: Arrays, exactly: bool) -> None:
    """Put a checkpoint into fresh shared arrays, in place.

    exactly: every worker's own counts; else the number of workers may be another, and worker 0 gets what all had, so
    that nothing is lost, while the clocks begin together.
    """
    for name, array in shared.items():
        saved = checkpoint[OWN + name if name.startswith(TALLY) else name]
        if exactly or not name.startswith((OWN, TALLY)) or name == ITERATION:
            array[...] = saved
        elif name == SEEN:
            array[0] = merged(saved).to_vector()
        elif name == TALLY + "increments":
            array[...] = saved
        elif name not in (TALLY + "clocks", OVER):
            array[0] = saved.sum(axis=0)
