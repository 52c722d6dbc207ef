"""The loop: broadcast the plan, collect on all ranks, gather to the root, learn, log, checkpoint."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from minitrpo.errors import BadInput
from minitrpo.experience.board import Board
from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.experience.episodes import Episodes
from minitrpo.parallel.ranks import Ranks
from minitrpo.parallel.speedup import cores
from minitrpo.parallel.timing import Timeline
from minitrpo.policies import Array
from minitrpo.runs.collecting import Collector
from minitrpo.runs.folder import RunFolder
from minitrpo.runs.improvement import Improver, make_improver
from minitrpo.runs.learner import Learner, Plan
from minitrpo.runs.progress import Progress
from minitrpo.runs.settings import Settings


@dataclass(frozen=True)
class Start:
    """Where a run begins, the same on every rank; `checkpoint` is {} for a new one. Only the root writes."""

    settings: Settings
    spec: EnvironmentSpec
    folder: RunFolder
    checkpoint: dict[str, Array]


def train(
    start: Start,
    ranks: Ranks,
    progress: str = "lines",
    board: Board | None = None,
    keep_trace: bool = False,
    oversubscribe: bool = False,
) -> Timeline:
    """Run the loop on every rank until the steps are used up; return what this rank did when.

    progress: auto, bar, lines or none. board: where a watchdog reads what is being played. Ranks beyond the cores of
    their machine leave the work to the others, who do it sooner alone, unless `oversubscribe` makes all of them work.
    """
    check_ranks(start.settings, ranks.size)
    team = ranks.team(ranks.size if oversubscribe else cores())
    timeline = Timeline(ranks, keep_trace)
    if team is None:
        with timeline.span("idle"):
            ranks.wait_for_all()
        return timeline
    collector = Collector(start.settings, start.spec, team, board)
    collector.restore_lanes(start.checkpoint)
    improver = make_improver(start.settings, start.spec, team)
    if ranks.rank == 0 and improver is not None:
        root = Root(start, improver, progress, ranks.size, team.size)
        root_loop(root, collector, team, timeline)
    else:
        worker_loop(collector, improver, team, timeline)
    team.close()
    if team.size < ranks.size:
        ranks.wait_for_all()
    return timeline


def check_ranks(settings: Settings, size: int) -> None:
    """Raise BadInput where ranks would never get a request."""
    if settings.requests == "segments" and settings.lanes < size:
        raise BadInput(f"--lanes {settings.lanes} segments cannot occupy {size} ranks: choose --lanes {size} or more")


def worker_loop(collector: Collector, improver: Improver | None, ranks: Ranks, timeline: Timeline) -> None:
    """Collect what the root asks for, and help it learn if this rank is to, until it says that the run is over."""
    while True:
        with timeline.span("idle"):
            plan = Plan.from_vector(ranks.broadcast(np.zeros(0)))
        if plan.iteration == 0:
            return
        exchange(collector, plan, ranks, timeline)
        if improver is not None:
            improver.follow(timeline)


def exchange(collector: Collector, plan: Plan, ranks: Ranks, timeline: Timeline) -> tuple[Episodes, dict[str, Array]]:
    """Collect, wait for the others, gather: the part of an iteration that all ranks share."""
    with timeline.span("collect"):
        mine = collector.collect(plan)
    with timeline.span("wait"):
        ranks.barrier()
    with timeline.span("gather"):
        return collector.gather(mine), collector.lane_arrays()


def root_loop(root: "Root", collector: Collector, ranks: Ranks, timeline: Timeline) -> None:
    """Plan, exchange and learn until the steps are used up, then send everybody home."""
    learner = root.learner
    try:
        while not learner.finished:
            plan = learner.plan()
            root.mention_idle_ranks(plan)
            collector.pool.refill()
            with timeline.span("broadcast"):
                ranks.broadcast(plan.to_vector())
            episodes, lanes = exchange(collector, plan, ranks, timeline)
            with timeline.span("update"):
                row, decision = learner.learn(episodes, timeline)
            root.record(row, decision, lanes, timeline)
    finally:
        root.progress.close()
    ranks.broadcast(Plan(0, 0, np.zeros(0), learner.filter).to_vector())


class Root:
    """What only rank 0 has: the learner, the run folder and the display."""

    def __init__(self, start: Start, improver: Improver, progress: str, size: int, team_size: int) -> None:
        settings, checkpoint = start.settings, start.checkpoint
        self.settings, self.spec, self.folder, self.size = settings, start.spec, start.folder, size
        self.team_size = team_size
        self.learner = Learner(settings, start.spec, improver)
        self.time, self._last = 0.0, 0.0  # seconds of the run, and of this process, at the last update
        if checkpoint:
            self.learner.restore(checkpoint)
            self.time = float(checkpoint["time_s"][0])
            self.folder.forget_after(self.learner.iteration)
        else:
            self._save({})
        self.progress = Progress(progress, settings.total_steps, self.learner.env_steps)
        self._idle = 0
        if team_size < size:
            self.progress.note(
                f"note: {size} ranks, {team_size} core(s): {size - team_size} rank(s) leave the work to the others, "
                "who do it sooner alone; --oversubscribe makes all of them work"
            )
        if start.spec.max_episode_steps is None and settings.requests == "episodes":
            self.progress.note(
                f"note: {start.spec.id} has no time limit, so an episode may never end; "
                "--requests segments does not wait for one"
            )

    def mention_idle_ranks(self, plan: Plan) -> None:
        """Say so when there are fewer requests than ranks, and what can be done; once per change."""
        idle = max(0, self.team_size - plan.amount) if self.settings.requests == "episodes" else 0
        if plan.iteration == 1 and self.spec.max_episode_steps is None:
            return  # the length of an episode is still a guess
        if idle != self._idle and idle > 0:
            enough = int(self.team_size * self.learner.mean_length)
            self.progress.note(
                f"note: {plan.amount} episode(s) of about {self.learner.mean_length:.0f} steps for {self.team_size} "
                f"ranks: {idle} rank(s) have nothing to do. --requests segments cuts them into equal shares; "
                f"--steps-per-update {enough} would give each rank an episode"
            )
        self._idle = idle

    def record(self, row: dict[str, Any], decision: object | None, lanes: dict[str, Array], timeline: Timeline) -> None:
        """Write an iteration to the log and the checkpoint, and show it."""
        seconds = timeline.take()
        now = timeline.now()
        self.time, iteration, self._last = self.time + now - self._last, now - self._last, now
        row |= {f"{name}_s": seconds[name] for name in ("collect", "wait", "gather", "update")}
        row |= {"iteration_s": iteration, "time_s": self.time, "ranks": self.size}
        with timeline.span("checkpoint"):
            self.folder.append(row)
            self._save(lanes)
        self.progress.update(row)
        if decision is not None:
            self.progress.note(str(decision))

    def _save(self, lanes: dict[str, Array]) -> None:
        self.folder.save_checkpoint({**self.learner.state(), "time_s": np.array([self.time]), **lanes})


def sha256(theta: Array) -> str:
    """Return the hash of the policy's parameters by which runs are compared."""
    return hashlib.sha256(np.ascontiguousarray(theta, dtype=np.float64).tobytes()).hexdigest()
