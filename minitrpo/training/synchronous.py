"""The loop with a barrier: broadcast a plan, collect on all ranks, gather to the root, learn, log, checkpoint.

`root_loop` is an iteration in the order of its steps; `worker_loop` is the same on the other ranks.
"""

from dataclasses import dataclass, replace

import numpy as np

from minitrpo.algorithms.algorithm import Algorithm, Plan
from minitrpo.experience.evaluation import Evaluator
from minitrpo.experience.repeatability import RESTLESS
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.timing import Timeline
from minitrpo.policies import Array
from minitrpo.supervision.program import asked_to_stop
from minitrpo.supervision.watchdog import status
from minitrpo.training.collect import Collector, Gathered, Request, gather, prepare_fragments
from minitrpo.training.root import Root, update_rng
from minitrpo.training.run_context import (
    RunContext,
    check_ranks,
    counted,
    first_notes,
    make_algorithm,
    make_collector,
    make_evaluator,
    state_in,
)
from minitrpo.training.run_log import RunLog, Show
from minitrpo.training.settings import Choice


@dataclass(frozen=True)
class RankParts:
    """What every rank has: the way to the others, environments, the algorithm, and a clock."""

    comm: Comm
    collector: Collector
    algorithm: Algorithm
    timeline: Timeline
    shares: bool = False  # whether all ranks learn together
    evaluator: Evaluator | None = None  # if the run is to be evaluated

    def collect(self, plan: Plan, request: Request, checkpoint: bool) -> Gathered:
        """Collect, wait for the others, gather: the part of an iteration that all ranks do alike."""
        with self.timeline.span("collect"):
            prepared = prepare_fragments(self.algorithm, plan, request, self.collector.collect(request))
        with self.timeline.span("wait"):
            self.comm.barrier()
        with self.timeline.span("gather"):
            prepared = replace(prepared, unfinished=self.collector.unfinished() if checkpoint else {})
            return gather(self.comm, prepared)

    def evaluate(self, request: Request) -> Array:
        """Return what the episodes of an evaluation returned, on the root; all ranks play them."""
        assert self.evaluator is not None
        return self.evaluator.returns(request.theta, request.observation_filter, request.iteration, request.amount)


def root_loop(rank: RankParts, root: Root, log: RunLog, notes: list[str]) -> None:
    """Plan, broadcast, collect, gather, learn, log, until the steps are used up; then end the other ranks."""
    timeline, checkpoint = rank.timeline, False
    log.begin(root.state, notes)
    while not (root.finished or (checkpoint and asked_to_stop())):
        # 1. what to collect next, and with which policy and filter: theta, frozen until all ranks have played
        plan, request = root.plan()
        checkpoint = log.due(request.iteration, root.is_last(request))  # asked now: unfinished episodes travel for it
        rank.collector.refill()
        with timeline.span("broadcast"):
            rank.comm.broadcast((plan, request, checkpoint))
        # 2. all ranks play; what travels is gathered and sorted by episode number
        gathered = rank.collect(plan, request, checkpoint)
        # 3. advantages, a step of the policy, the critic, the adaptive rule: whatever the algorithm does. With
        # --learner sharded the other ranks do their share at the same time, in `worker_loop`
        with timeline.span("update"):
            root.learn(gathered)
        # 4. an evaluation if one is due, a row of the log, a checkpoint
        evaluation = root.evaluation()
        if evaluation is not None:
            with timeline.outside("evaluate"):
                rank.comm.broadcast((None, evaluation, False))
                root.evaluated = float(np.mean(rank.evaluate(evaluation)))
        if root.row_due:
            log.write(root.row())
        if checkpoint or root.finished:
            log.save(root.state() | gathered.unfinished)
    rank.comm.broadcast(None)


def worker_loop(rank: RankParts, seed: int) -> None:
    """Collect what the root asks for, and learn with it if all ranks do, until it says that the run is over."""
    while True:
        with rank.timeline.span("idle"):
            message = rank.comm.broadcast(None)
        if message is None:
            return
        plan, request, checkpoint = message
        if plan is None:
            with rank.timeline.span("evaluate"):
                rank.evaluate(request)
            continue
        rank.collect(plan, request, checkpoint)
        if rank.shares:
            with rank.timeline.span("update"), status.at("learn"):
                rank.algorithm.learn({}, update_rng(seed, request.iteration))


# --- before the loop and after it


def run(context: RunContext, comm: Comm, show: Show, keep_trace: bool = False) -> Timeline:
    """Run the loop on every rank until the steps are used up; return what this rank did when.

    Args:
        context: where the run begins, and the ranks that work.
        comm: all ranks.
        show: makes the root's display.
        keep_trace: keep the spans of the timeline.

    """
    working, timeline = context.working, Timeline(comm, keep_trace)
    if working is not None:
        work(context, comm, working, timeline, show)
        working.close()
    if working is None or working.size < comm.size:
        with timeline.span("idle"):
            comm.barrier(max_sleep=0.05)
    return timeline


def check(choice: Choice, ranks: int, working: int, one_machine: bool) -> list[str]:
    """Return the notes on a run before it begins; BadInput if the ranks that work are too many for it."""
    check_ranks(choice.common, working)
    return []


def work(context: RunContext, comm: Comm, working: Comm, timeline: Timeline, show: Show) -> None:
    """Do what a rank does that works; `working`: all that do."""
    rank, algorithm_notes = make_rank(context, working, timeline)
    if context.checkpoint:
        rank.collector.restore(context.checkpoint, counted(context.checkpoint)[0] + 1)
    begun_again = sum(working.gather(len(rank.collector.rollouts.not_restored)))
    if comm.rank > 0:
        if rank.shares and context.checkpoint:
            rank.algorithm.restore(state_in(context.checkpoint))
        worker_loop(rank, context.settings.seed)
        return
    log = RunLog(context, timeline, show, comm.size, algorithm_notes)
    notes = first_notes(context, comm.size, working.size)
    notes += [RESTLESS.format(context.spec.id)] if begun_again else []
    try:
        root_loop(rank, Root(context, rank.algorithm), log, notes)
    finally:
        log.display.close()


def make_rank(context: RunContext, comm: Comm, timeline: Timeline) -> tuple[RankParts, list[str]]:
    """Return what every rank of a run has, and where its algorithm writes notes.

    An iteration in one process, without clocks, log and checkpoint, is

        root = Root(context, rank.algorithm)
        plan, request = root.plan()
        rank.collector.refill()
        root.learn(rank.collect(plan, request, checkpoint=False))

    Args:
        context: where the run begins.
        comm: the ranks that work.
        timeline: the clock of this rank.

    """
    sharded = context.settings.learner == "sharded"
    algorithm, algorithm_context = make_algorithm(context.choice, context.spec, comm if sharded else Comm(), timeline)
    collector = make_collector(context.settings, context.spec, algorithm_context.policy, comm)
    evaluator = make_evaluator(context.choice, context.spec, comm)
    return RankParts(
        comm, collector, algorithm, timeline, sharded and comm.size > 1, evaluator
    ), algorithm_context.notes
