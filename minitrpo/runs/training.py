"""The loop: broadcast the plan, collect on all ranks, gather to the root, learn, log, checkpoint."""

import hashlib
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from minitrpo.errors import BadInput
from minitrpo.experience.board import Board
from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.experience.episodes import Episodes
from minitrpo.experience.rollouts import LaneSnapshot, Rollouts
from minitrpo.experience.simulators import simulators
from minitrpo.parallel.pool import DynamicPool, Pool, StaticPool, at_once, lanes_of
from minitrpo.parallel.ranks import Ranks
from minitrpo.parallel.timing import Timeline
from minitrpo.policies import Array
from minitrpo.runs.folder import RunFolder
from minitrpo.runs.improvement import Improver, make_improver
from minitrpo.runs.learner import Learner, Plan
from minitrpo.runs.progress import Progress
from minitrpo.runs.settings import Settings


class Collector:
    """A rank's part of collecting: its rollouts and its way to the next request."""

    def __init__(self, settings: Settings, spec: EnvironmentSpec, ranks: Ranks, board: Board | None = None) -> None:
        self.settings, self.ranks = settings, ranks
        policy = spec.policy(settings.hidden_sizes, settings.initial_log_std)
        copies = simulators(spec, settings.lanes, settings.physics)
        self.rollouts = Rollouts(spec, policy, copies, settings.seed, board)
        self.pool: Pool = DynamicPool(ranks) if settings.pool == "dynamic" else StaticPool(ranks)
        self.lanes = lanes_of(ranks.rank, ranks.size, settings.lanes)

    def collect(self, plan: Plan) -> Episodes:
        """Return this rank's share of what the plan asks for."""
        if self.settings.requests == "segments":
            return self.rollouts.advance(
                plan.theta, plan.observation_filter, self.lanes, self.settings.lanes, plan.amount
            )
        hands = at_once(plan.amount, self.ranks.size, self.rollouts.width)
        draw = self.pool.draw_from(plan.amount)
        return self.rollouts.play(plan.theta, plan.observation_filter, plan.iteration, draw, hands)

    def gather(self, mine: Episodes) -> Episodes:
        """Return everybody's episodes in their one order, on the root."""
        arrays = {f.name: self.ranks.gather_rows(getattr(mine, f.name)) for f in fields(Episodes)}
        return Episodes(**arrays).sorted() if self.ranks.rank == 0 else mine

    def lane_arrays(self) -> dict[str, Array]:
        """Return the unfinished episodes of all segments as arrays, for the checkpoint, on the root; collective."""
        if self.settings.requests == "episodes":
            return {}
        snapshots = [s for part in self.ranks.gather_objects(self.rollouts.snapshots()) for s in part]
        if not snapshots:
            return {}
        return {
            "lane_numbers": np.array([s.number for s in snapshots]),
            "lane_lengths": np.array([len(s.actions) for s in snapshots]),
            "lane_actions": np.concatenate([s.actions for s in snapshots]),
            "lane_observations": np.array([s.observation for s in snapshots]),
        }

    def restore_lanes(self, arrays: dict[str, Array]) -> None:
        """Put the unfinished episodes of this rank's lanes back."""
        if "lane_numbers" not in arrays:
            return
        actions = np.split(arrays["lane_actions"], np.cumsum(arrays["lane_lengths"])[:-1])
        self.rollouts.restore(
            [
                LaneSnapshot(int(arrays["lane_numbers"][i]), actions[i], arrays["lane_observations"][i])
                for i in self.lanes
            ]
        )


@dataclass(frozen=True)
class Start:
    """Where a run begins, the same on every rank; `checkpoint` is {} for a new one. Only the root writes."""

    settings: Settings
    spec: EnvironmentSpec
    folder: RunFolder
    checkpoint: dict[str, Array]


def train(
    start: Start, ranks: Ranks, progress: str = "lines", board: Board | None = None, keep_trace: bool = False
) -> Timeline:
    """Run the loop on every rank until the steps are used up; return what this rank did when.

    progress: auto, bar, lines or none. board: where a watchdog reads what is being played.
    """
    check_ranks(start.settings, ranks.size)
    collector = Collector(start.settings, start.spec, ranks, board)
    collector.restore_lanes(start.checkpoint)
    improver = make_improver(start.settings, start.spec, ranks)
    timeline = Timeline(ranks, keep_trace)
    if ranks.rank == 0 and improver is not None:
        root = Root(start, improver, progress, ranks.size)
        root_loop(root, collector, ranks, timeline)
    else:
        worker_loop(collector, improver, ranks, timeline)
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

    def __init__(self, start: Start, improver: Improver, progress: str, size: int) -> None:
        settings, checkpoint = start.settings, start.checkpoint
        self.settings, self.spec, self.folder, self.size = settings, start.spec, start.folder, size
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
        if start.spec.max_episode_steps is None and settings.requests == "episodes":
            self.progress.note(
                f"note: {start.spec.id} has no time limit, so an episode may never end; "
                "--requests segments does not wait for one"
            )

    def mention_idle_ranks(self, plan: Plan) -> None:
        """Say so when there are fewer requests than ranks, and what can be done; once per change."""
        idle = max(0, self.size - plan.amount) if self.settings.requests == "episodes" else 0
        if plan.iteration == 1 and self.spec.max_episode_steps is None:
            return  # the length of an episode is still a guess
        if idle != self._idle and idle > 0:
            enough = int(self.size * self.learner.mean_length)
            self.progress.note(
                f"note: {plan.amount} episode(s) of about {self.learner.mean_length:.0f} steps for {self.size} ranks: "
                f"{idle} rank(s) have nothing to do. --requests segments cuts them into equal shares; "
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
