"""The loop with a barrier: broadcast a plan, collect on all ranks, gather to the root, learn, log, checkpoint."""

from dataclasses import dataclass
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
from minitrpo.policies import Array
from minitrpo.runs.actor import (
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

OVER = 0  # an iteration that says: the run is over


@dataclass(frozen=True)
class Worker:
    """What every rank has: its collector, the algorithm, and the way to the others."""

    comm: Comm
    collector: Collector
    algorithm: Any
    timeline: Timeline

    def broadcast(self, plan: Plan, request: Request, checkpoint: bool) -> None:
        """Tell the others what to collect, and whether a checkpoint is due; on the root."""
        head = np.array([request.iteration, request.amount, checkpoint], np.int64)
        own = {"head": head, "theta": plan.theta, "filter": request.observation_filter.to_vector()}
        self.comm.broadcast(own | {f"plan_{name}": array for name, array in plan.arrays.items()})

    def receive(self) -> tuple[Plan, Request, bool]:
        """Return what the root said; on the others."""
        arrays = self.comm.broadcast({})
        iteration, amount, checkpoint = arrays.pop("head").tolist()
        theta, frozen = arrays.pop("theta"), ObservationFilter.from_vector(arrays.pop("filter"))
        plan = Plan(theta, None, {name.removeprefix("plan_"): array for name, array in arrays.items()})
        return plan, Request(iteration, amount, theta, frozen), bool(checkpoint)

    def collect(self, plan: Plan, request: Request, checkpoint: bool) -> tuple[Gathered | None, dict[str, Array]]:
        """Collect, wait for the others, gather: the part of an iteration that all ranks share.

        Returns everybody's experience and, if a checkpoint is due, the unfinished episodes, on the root.
        """
        with self.timeline.span("collect"):
            own = digested(self.algorithm, plan, request, self.collector.collect(request))
        with self.timeline.span("wait"):
            self.comm.barrier()
        with self.timeline.span("gather"):
            return gather(self.comm, own), gather_unfinished(self.comm, self.collector) if checkpoint else {}


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
    worker = Worker(working, collector, algorithm, timeline)
    if comm.rank == 0:
        learner = Learner(context.settings, context.spec, algorithm, collector)
        root_loop(worker, learner, Root(context, learner, collector, progress, comm.size, working.size), given.notes)
    else:
        worker_loop(worker, context.settings.seed, sharded)
    close_environments(collector)
    working.close()
    if working.size < comm.size:
        comm.barrier(max_sleep=0.05)
    return timeline


def root_loop(worker: Worker, learner: Learner, root: Root, notes: list[str]) -> None:
    """Plan, collect and learn until the steps are used up, then send everybody home."""
    timeline = worker.timeline
    try:
        while not learner.finished:
            plan, request = learner.plan()
            root.mention_idle_ranks(request)
            worker.collector.refill()
            due = root.checkpoint_due(request, timeline.now())
            with timeline.span("broadcast"):
                worker.broadcast(plan, request, due)
            gathered, unfinished = worker.collect(plan, request, due)
            assert gathered is not None
            with timeline.span("update"):
                row = learner.learn(gathered)
            root.record(row, notes, timeline)
            if due or learner.finished:
                root.save(unfinished, timeline)
    finally:
        root.progress.close()
    worker.broadcast(Plan(np.zeros(0)), Request(OVER, 0, np.zeros(0), learner.filter), False)


def worker_loop(worker: Worker, seed: int, sharded: bool) -> None:
    """Collect what the root asks for, and help it learn if this rank is to, until it says that the run is over."""
    while True:
        with worker.timeline.span("idle"):
            plan, request, due = worker.receive()
        if request.iteration == OVER:
            return
        worker.collect(plan, request, due)
        if sharded:
            with worker.timeline.span("update"):
                worker.algorithm.assist(plan, update_rng(seed, request.iteration))
