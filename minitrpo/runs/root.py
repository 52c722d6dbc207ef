"""What only the root does beside learning: the run folder, the display, and what its user should know."""

import numpy as np

from minitrpo.experience.collectors import Collector, Request
from minitrpo.parallel.timing import Timeline
from minitrpo.policies import Array
from minitrpo.runs.checkpoints import SETTINGS
from minitrpo.runs.context import RunContext
from minitrpo.runs.learner import OWN, Learner
from minitrpo.runs.progress import Progress
from minitrpo.runs.settings import PHASES
from minitrpo.runs.stopping import asked_to_stop


class Root:
    """The root's books: what it writes and shows of a run on `ranks` ranks, `working` of which work."""

    def __init__(
        self, context: RunContext, learner: Learner, collector: Collector, mode: str, ranks: int, working: int
    ) -> None:
        self.settings, self.spec, self.folder = context.settings, context.spec, context.folder
        self.learner, self.collector, self.ranks, self.working = learner, collector, ranks, working
        self.time, self._last = 0.0, 0.0  # seconds of the run, and of this process, at the last row
        self._seconds: dict[str, float] = {}  # of the row to come
        self._fingerprint = context.choice.fingerprint()
        self._saved = 0.0  # seconds of this process at the last checkpoint
        if context.checkpoint:
            learner.restore(context.checkpoint)
            self.time = float(context.checkpoint[OWN + "time_s"][0])
            self.folder.forget_after(learner.iteration)
        else:
            self._save({})
        chart = getattr(context.choice.algorithm, "chart", ())
        self.progress = Progress(mode, self.settings.total_steps, learner.env_steps, chart[:1])
        self._idle = 0
        self._greet(context.notes)

    def _greet(self, notes: tuple[str, ...]) -> None:
        """Say before the first update what may surprise."""
        for note in notes:
            self.progress.note(note)
        if self.working < self.ranks:
            idle = self.ranks - self.working
            self.progress.note(
                f"note: {self.ranks} ranks, {self.working} core(s): {idle} rank(s) leave the work to the others, "
                "who do it sooner alone; --oversubscribe makes all of them work"
            )
        if self.spec.max_episode_steps is None and self.collector.waits_for_ends:
            self.progress.note(
                f"note: {self.spec.id} has no time limit, so an episode may never end; "
                "--requests segments does not wait for one"
            )

    def checkpoint_due(self, request: Request, now: float) -> bool:
        """Return whether there is to be a checkpoint after this iteration; now: seconds of this process."""
        updates, steps = self.settings.checkpoint_updates, self.collector.steps(request.amount)
        last = steps is not None and self.learner.env_steps + steps >= self.settings.total_steps
        i, every = request.iteration, self.settings.record_every
        by_clock = now - self._saved >= self.settings.checkpoint_seconds
        by_count = updates > 0 and i // updates > (i - every) // updates
        return last or (i % every == 0 and (by_clock or by_count or asked_to_stop()))

    def mention_idle_ranks(self, request: Request) -> None:
        """Say so when there are fewer requests than ranks, and what can be done; once per change."""
        idle = max(0, self.working - request.amount) if self.collector.waits_for_ends else 0
        if request.iteration == 1 and self.spec.max_episode_steps is None:
            return  # the length of an episode is still a guess
        if idle != self._idle and idle > 0:
            length = self.learner.mean_length
            self.progress.note(
                f"note: {request.amount} episode(s) of about {length:.0f} steps for {self.working} ranks: {idle} "
                "rank(s) have nothing to do. --requests segments cuts them into equal shares; "
                f"--steps-per-update {int(self.working * length)} would give each rank an episode"
            )
        self._idle = idle

    def stop_clock(self, timeline: Timeline) -> None:
        """End the time of a row."""
        seconds, now = timeline.take(), timeline.now()
        self.time, iteration, self._last = self.time + now - self._last, now - self._last, now
        self._seconds = {f"{phase}_s": seconds[phase] for phase in PHASES}
        self._seconds |= {"iteration_s": iteration, "time_s": self.time}

    def record(self, notes: list[str], timeline: Timeline) -> None:
        """Write a row to the log and show it."""
        row = {**self.learner.row(), **self._seconds, "ranks": self.ranks}
        with timeline.span("checkpoint"):
            self.folder.append(row)
        self.progress.update(row)
        for note in notes:
            self.progress.note(note)
        notes.clear()

    def save(self, unfinished: dict[str, Array], timeline: Timeline) -> None:
        """Write the checkpoint of the iteration that was recorded last."""
        with timeline.span("checkpoint"):
            self._save(unfinished)
        self._saved = timeline.now()

    def _save(self, unfinished: dict[str, Array]) -> None:
        own = {OWN + "time_s": np.array([self.time]), SETTINGS: self._fingerprint}
        self.folder.save_checkpoint({**self.learner.state(), **own, **unfinished})
