"""The loop with a barrier: broadcast a plan, collect on all ranks, gather to the root, learn, log, checkpoint."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from minitrpo.algorithms.interface import Plan
from minitrpo.experience.collectors import Collector, Request
from minitrpo.experience.filters import ObservationFilter
from minitrpo.experience.status import RankStatus
from minitrpo.parallel.comm import Comm, SerialComm
from minitrpo.parallel.speedup import cores
from minitrpo.parallel.timing import Timeline
from minitrpo.runs.actor import (
    Arrays,
    Gathered,
    check_ranks,
    close_environments,
    digested,
    gather,
    gather_unfinished,
    make_collector,
)
from minitrpo.runs.context import RunContext, fresh_algorithm, make_algorithm
from minitrpo.runs.guarded import Guarded
from minitrpo.runs.learner import Learner, resumed_iteration, update_rng
from minitrpo.runs.root import Root
from minitrpo.runs.stopping import asked_to_stop

OVER = 0  # an iteration that says: the run is over


@dataclass(frozen=True)
class Collected:
    """What has come to the root: everybody's experience, and what every rank has found for the update before."""

    gathered: Gathered | None  # None on the others
    found: list[Arrays]
    unfinished: Arrays  # episodes, if a checkpoint is due


@dataclass(frozen=True)
class Worker:
    """What every rank has: its collector, the algorithm, and the way to the others."""

    comm: Comm
    collector: Collector
    algorithm: Any
    timeline: Timeline
    plans: Comm = field(default_factory=SerialComm)  # the same ranks, for plans: these travel while other things do
    helped: bool = False  # whether others share the root's update, or do what is not urgent of it
    overlap: bool = True  # whether that is done while the others play already

    def broadcast(self, plan: Plan, request: Request, checkpoint: bool) -> None:
        """Tell the others what to collect, and whether a checkpoint is due; on the root."""
        head = np.array([request.iteration, request.amount, checkpoint], np.int64)
        own = {"head": head, "theta": plan.theta, "filter": request.observation_filter.to_vector()}
        self.plans.broadcast(own | {f"plan_{name}": array for name, array in plan.arrays.items()})

    @staticmethod
    def received(arrays: Arrays) -> tuple[Plan, Request, bool]:
        """Return what the root said; on the others."""
        iteration, amount, checkpoint = arrays.pop("head").tolist()
        theta, frozen = arrays.pop("theta"), ObservationFilter.from_vector(arrays.pop("filter"))
        plan = Plan(theta, None, {name.removeprefix("plan_"): array for name, array in arrays.items()})
        return plan, Request(iteration, amount, theta, frozen), bool(checkpoint)

    def collect(self, plan: Plan, request: Request, checkpoint: bool, found: Arrays | None = None) -> Collected:
        """Collect, wait for the others, gather: the part of an iteration that all ranks share.

        found: by this rank, for the update before; it travels along.
        """
        with self.timeline.span("collect"):
            own = digested(self.algorithm, plan, request, self.collector.collect(request))
        with self.timeline.span("wait"):
            self.comm.barrier()
        with self.timeline.span("gather"):
            unfinished = gather_unfinished(self.comm, self.collector) if checkpoint else {}
            return Collected(*gather(self.comm, own, found or {}), unfinished)


def run_barrier(
    context: RunContext,
    comm: Comm,
    progress: str = "lines",
    status: RankStatus | None = None,
    keep_trace: bool = False,
    oversubscribe: bool = False,
) -> Timeline:
    """Run the loop on every rank until the steps are used up; return what this rank did when.

    progress: auto, bar, lines or none. status: where a watchdog reads what is being played. Ranks beyond the cores of
    their machine leave the work to the others, who do it sooner alone, unless `oversubscribe` makes all of them work.
    """
    check_ranks(context.settings, comm.size)
    working = comm.split_per_node(comm.size if oversubscribe else cores())
    timeline = Timeline(comm, keep_trace)
    if working is None:
        with timeline.span("idle"):
            comm.barrier(max_sleep=0.05)
        return timeline
    sharded = context.settings.learner == "sharded"
    algorithm, given = make_algorithm(context.choice, context.spec, working if sharded else SerialComm(), timeline)
    fresh = partial(fresh_algorithm, context) if comm.rank == 0 else None
    algorithm = Guarded(algorithm, status or RankStatus.private(), given.notes, fresh)
    collector = make_collector(context.settings, context.spec, given.policy, working, status)
    if context.checkpoint:
        collector.restore(context.checkpoint, resumed_iteration(context.checkpoint))
    overlap, helped = context.settings.overlap == "yes", sharded and working.size > 1
    worker = Worker(working, collector, algorithm, timeline, working.split(0), helped, overlap)
    if comm.rank == 0:
        learner = Learner(context.settings, context.spec, algorithm, collector)
        root_loop(worker, learner, Root(context, learner, collector, progress, comm.size, working.size), given.notes)
    else:
        worker_loop(worker, context.settings.seed)
    close_environments(collector)
    working.close()
    if working.size < comm.size:
        comm.barrier(max_sleep=0.05)
    return timeline


def root_loop(worker: Worker, learner: Learner, root: Root, notes: list[str]) -> None:
    """Plan, collect and learn until the steps are used up, then send everybody home.

    What the next rollout does not need is done while the others play already, by the root or by those who help it.
    """
    timeline, pending, due = worker.timeline, Pending(worker, learner, root, notes), False
    try:
        while not (learner.finished or (due and asked_to_stop())):
            plan, request = learner.plan()
            root.mention_idle_ranks(request)
            worker.collector.refill()
            due = root.checkpoint_due(request, timeline.now())
            with timeline.span("broadcast"):
                worker.broadcast(plan, request, due)
            pending.complete()
            collected = worker.collect(plan, request, due)
            pending.complete(collected.found)
            assert collected.gathered is not None
            with timeline.span("update"):
                learner.learn(collected.gathered)
            pending.begin(collected.unfinished, due)
        worker.broadcast(Plan(np.zeros(0)), Request(OVER, 0, np.zeros(0), learner.filter), False)
        pending.complete()
        pending.complete(worker.comm.gather({}))
    finally:
        root.progress.close()


class Pending:
    """The update whose policy is known and whose fit is not: its row and its checkpoint wait for that."""

    def __init__(self, worker: Worker, learner: Learner, root: Root, notes: list[str]) -> None:
        self._worker, self._learner, self._root, self._notes = worker, learner, root, notes
        self._unfinished: Arrays | None = None  # of the episodes at the update's end; None: nothing pends
        self._due = False

    def begin(self, unfinished: Arrays, due: bool) -> None:
        """Take an update whose policy was learned just now."""
        self._unfinished, self._due = unfinished, due or self._learner.finished
        if self._worker.helped and self._learner.row_due:  # the fit arrives after the next rollout, which takes its own
            self._root.stop_clock(self._worker.timeline)
        if not self._worker.overlap:
            self.complete(self._worker.comm.gather({}) if self._worker.helped else None)

    def complete(self, found: list[Arrays] | None = None) -> None:
        """Fit, write row and checkpoint; found: by those who help, None while that is not here."""
        if self._unfinished is None or (found is None) == self._worker.helped:
            return
        timeline = self._worker.timeline
        with timeline.span("update"):
            self._learner.complete(found or [])
        if self._learner.row_due:
            if not self._worker.helped:
                self._root.stop_clock(timeline)
            self._root.record(self._notes, timeline)
        if self._due:
            self._root.save(self._unfinished, timeline)
        self._unfinished = None


def worker_loop(worker: Worker, seed: int) -> None:
    """Collect what the root asks for, and help it learn if this rank is to, until it says that the run is over."""
    found: Arrays = {}
    hear = worker.plans.listen()
    while True:
        with worker.timeline.span("idle"):
            plan, request, due = worker.received(hear())
        if request.iteration == OVER:
            worker.comm.gather(found)
            return
        worker.collect(plan, request, due, found)
        found, hear = {}, worker.plans.listen()
        if worker.helped:
            with worker.timeline.span("update"):
                found = worker.algorithm.assist(plan, update_rng(seed, request.iteration)) or {}
            if not worker.overlap:
                worker.comm.gather(found)
                found = {}
