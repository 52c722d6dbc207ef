"""The loop with a barrier: broadcast a plan, collect on all ranks, gather to the root, learn, log, checkpoint.

`root_loop` is an iteration in the order of its steps; `worker_loop` is the same on the other ranks.
"""

from dataclasses import replace

import numpy as np

from minitrpo.algorithms.algorithm import Algorithm, Arrays, Plan
from minitrpo.contract import check_found
from minitrpo.experience.collectors import Request
from minitrpo.experience.vector_env import EnvironmentFailed
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.launcher import launched_rank
from minitrpo.parallel.timing import Timeline
from minitrpo.supervision.signals import asked_to_stop
from minitrpo.supervision.status import RankStatus
from minitrpo.supervision.stderr import say
from minitrpo.training.context import (
    RunContext,
    check_ranks,
    make_algorithm,
    make_collector,
    make_evaluator,
    make_policy,
    those_who_work,
)
from minitrpo.training.learner import Learner, update_rng
from minitrpo.training.notes import IdleRanks, at_the_beginning
from minitrpo.training.rank import OVER, Rank, received
from minitrpo.training.run_log import RunLog, Show


def run_synchronous(
    context: RunContext,
    comm: Comm,
    show: Show,
    status: RankStatus | None = None,
    keep_trace: bool = False,
    oversubscribe: bool = False,
) -> Timeline:
    """Run the loop on every rank until the steps are used up; return what this rank did when.

    show: makes the root's display. status: where a watchdog reads what is being done.
    oversubscribe: all ranks work, whether that is sooner or not.
    """
    check_ranks(context.settings, comm.size)
    working, timeline = those_who_work(context, comm, oversubscribe), Timeline(comm, keep_trace)
    if working is not None:
        work(context, comm, working, timeline, show, status or RankStatus.private())
        working.close()
    if working is None or working.size < comm.size:
        with timeline.span("idle"):
            comm.barrier(max_sleep=0.05)
    return timeline


def work(context: RunContext, comm: Comm, working: Comm, timeline: Timeline, show: Show, status: RankStatus) -> None:
    """Do what a rank does that works; `working`: all that do."""
    settings = context.settings
    sharded = settings.learner == "sharded"
    algorithm, given = make_algorithm(context.choice, context.spec, working if sharded else Comm(), timeline)
    collector = make_collector(settings, context.spec, given.policy, working, status)
    if context.checkpoint:
        collector.restore(context.checkpoint, context.iteration + 1)
    helped, overlap = sharded and working.size > 1, settings.overlap == "yes"
    evaluator = make_evaluator(context.choice, context.spec, working, status)
    rank = Rank(working, collector, algorithm, timeline, status, working.split(0), helped, overlap, evaluator)
    if comm.rank == 0:
        log = RunLog(context, timeline, show, comm.size, given.notes)
        root_loop(rank, Learner(context, algorithm, collector, status), log, context, comm.size)
    else:
        worker_loop(rank, settings.seed)
    try:
        collector.close()
        if evaluator is not None:
            evaluator.close()
    except EnvironmentFailed as error:  # the run is over, and an environment cannot undo it any more
        say(f"minitrpo: the run is whole, but rank {launched_rank()} could not close an environment: {error}")


def alone(context: RunContext, algorithm: Algorithm, status: RankStatus | None = None) -> tuple[Learner, Rank]:
    """Return what a run is made of, in this process alone: what only the root has, and what every rank has.

    An iteration without clocks, log and checkpoint, as `root_loop` has it:

        plan, request = learner.plan()
        rank.collector.refill()
        learner.learn(rank.collect(plan, request, checkpoint=False).gathered)
        learner.complete([])
    """
    comm, policy = Comm(), make_policy(context.choice, context.spec)
    collector = make_collector(context.settings, context.spec, policy, comm, status)
    rank = Rank(comm, collector, algorithm, Timeline(comm, keep=False), status or RankStatus.private())
    return Learner(context, algorithm, collector, status), rank


def root_loop(rank: Rank, learner: Learner, log: RunLog, context: RunContext, ranks: int) -> None:
    """Plan, collect and learn until the steps are used up, then send everybody home.

    What the next rollout does not need is done while the others play already, by the root or by those who help it.
    """
    timeline, pending, due = rank.timeline, Pending(rank, learner, log), False
    idle = IdleRanks(rank.collector, rank.comm.size)
    try:
        log.begin(learner.state)
        for note in at_the_beginning(context, rank.collector, ranks, rank.comm.size):
            log.note(note)
        while not (learner.finished or (due and asked_to_stop())):
            plan, request = learner.plan()
            for note in idle.look(request, learner.mean_length):
                log.note(note)
            rank.collector.refill()
            due = log.due(request.iteration, learner.is_last(request))
            with timeline.span("broadcast"):
                plan, request = rank.broadcast(plan, request, due)
            pending.complete_alone()
            collected = rank.collect(plan, request, due)
            pending.complete_with(collected.found)
            assert collected.gathered is not None
            with timeline.span("update"):
                learner.learn(collected.gathered)
            pending.begin(collected.unfinished, due)
        rank.broadcast(Plan(np.zeros(0)), Request(OVER, 0, np.zeros(0), learner.filter), False)
        pending.complete_alone()
        pending.complete_with(rank.comm.gather({}))
    finally:
        log.close()


class Pending:
    """The update whose policy is known and whose fit is not: its row and its checkpoint wait for that."""

    def __init__(self, rank: Rank, learner: Learner, log: RunLog) -> None:
        self._rank, self._learner, self._log = rank, learner, log
        self._unfinished: Arrays | None = None  # of the episodes at the update's end; None: nothing pends
        self._due = False

    def begin(self, unfinished: Arrays, due: bool) -> None:
        """Take an update whose policy was learned just now."""
        self._unfinished, self._due = unfinished, due or self._learner.finished
        if self._rank.helped and self._learner.row_due:  # the fit arrives after the next rollout, which takes its own
            self._log.stop_clock()
        found = self._rank.comm.gather({}) if self._rank.helped and not self._rank.overlap else []
        self._evaluate()
        if not self._rank.overlap:
            self._complete(found)

    def complete_alone(self) -> None:
        """Fit, where nobody helps the root, while the others play already."""
        if not self._rank.helped:
            self._complete([])

    def complete_with(self, found: list[Arrays]) -> None:
        """Take over the fit of those who help, which came with what they played."""
        if self._rank.helped:
            self._complete(found)

    def _evaluate(self) -> None:
        """Have all ranks play what is to be evaluated, if anything is; the clock of the run stands still."""
        request = self._learner.evaluation()
        if request is not None:
            with self._rank.timeline.outside("evaluate"):
                _, request = self._rank.broadcast(Plan(request.theta), request, False)
                self._learner.evaluated = float(np.mean(self._rank.evaluate(request)))

    def _complete(self, found: list[Arrays]) -> None:
        """Fit, write row and checkpoint."""
        if self._unfinished is None:
            return
        with self._rank.timeline.span("update"):
            self._learner.complete(found)
        if self._learner.row_due:
            if not self._rank.helped:
                self._log.stop_clock()
            self._log.write(self._learner.row())
        if self._due:
            self._log.save({**self._learner.state(), **self._unfinished})
        self._unfinished = None


def worker_loop(rank: Rank, seed: int) -> None:
    """Collect what the root asks for, and help it learn if this rank is to, until it says that the run is over."""
    found: Arrays = {}
    hear = rank.plans.listen()
    while True:
        with rank.timeline.span("idle"):
            plan, request, due = received(hear())
        if request.iteration == OVER:
            rank.comm.gather(found)
            return
        if request.iteration < OVER:
            with rank.timeline.span("evaluate"):
                rank.evaluate(request)
            hear = rank.plans.listen()
            continue
        plan = replace(plan, arrays=plan.arrays | rank.collect(plan, request, due, found).rows)
        found, hear = {}, rank.plans.listen()
        if rank.helped:
            with rank.timeline.span("update"), rank.status.at("assist"):
                found = check_found(rank.algorithm.assist(plan, update_rng(seed, request.iteration)))
            if not rank.overlap:
                rank.comm.gather(found)
                found = {}
