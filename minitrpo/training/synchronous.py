"""The loop with a barrier: broadcast a plan, collect on all ranks, gather to the root, learn, log, checkpoint.

`root_loop` is an iteration in the order of its steps; `worker_loop` is the same on the other ranks.
"""

import sys
from dataclasses import dataclass, replace

import numpy as np

from minitrpo.algorithms.algorithm import Algorithm, Arrays, Plan
from minitrpo.experience.collectors import Collector, Request
from minitrpo.experience.evaluation import Evaluator
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.vector_env import EnvironmentFailed
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.launcher import launched_rank
from minitrpo.parallel.timing import Timeline
from minitrpo.policies import Array
from minitrpo.supervision import status
from minitrpo.supervision.signals import asked_to_stop
from minitrpo.training.context import (
    RunContext,
    check_ranks,
    first_notes,
    make_algorithm,
    make_collector,
    make_evaluator,
    make_policy,
    working_ranks,
)
from minitrpo.training.gather import Gathered, digested, gather
from minitrpo.training.learner import Learner, update_rng
from minitrpo.training.run_log import RunLog, Show
from minitrpo.training.settings import Choice

OVER = 0  # an iteration that says: the run is over; -n: evaluate the policy of update n
NOT_SAID = -1  # of a plan's steps or episodes


@dataclass(frozen=True)
class Rank:
    """What every rank has: the way to the others, environments, the algorithm, and a clock."""

    comm: Comm
    collector: Collector
    algorithm: Algorithm
    timeline: Timeline
    shares: bool = False  # whether the ranks share the update
    evaluator: Evaluator | None = None  # if the run is to be evaluated

    def collect(self, plan: Plan, request: Request, checkpoint: bool) -> Gathered:
        """Collect, wait for the others, gather: the part of an iteration that all ranks do alike."""
        with self.timeline.span("collect"):
            own = digested(self.algorithm, plan, request, self.collector.collect(request))
        with self.timeline.span("wait"):
            self.comm.barrier()
        with self.timeline.span("gather"):
            unfinished = self.collector.unfinished() if checkpoint else {}
            return gather(self.comm, own, unfinished, self.algorithm if self.shares else None)

    def evaluate(self, request: Request) -> Array:
        """Return what the episodes of an evaluation returned, on the root; all ranks play them."""
        assert self.evaluator is not None
        return self.evaluator.returns(request.theta, request.observation_filter, -request.iteration, request.amount)


def run(context: RunContext, comm: Comm, show: Show, keep_trace: bool = False, oversubscribe: bool = False) -> Timeline:
    """Run the loop on every rank until the steps are used up; return what this rank did when.

    show: makes the root's display. oversubscribe: all ranks work, whether that is sooner or not.
    """
    working, timeline = working_ranks(context, comm, oversubscribe), Timeline(comm, keep_trace)
    if working is not None:
        work(context, comm, working, timeline, show)
        working.close()
    if working is None or working.size < comm.size:
        with timeline.span("idle"):
            comm.barrier(max_sleep=0.05)
    return timeline


def check(choice: Choice, ranks: int, one_machine: bool) -> list[str]:
    """Return what to say of a run on so many ranks before it begins; BadInput if they cannot play it."""
    check_ranks(choice.common, ranks)
    return []


def work(context: RunContext, comm: Comm, working: Comm, timeline: Timeline, show: Show) -> None:
    """Do what a rank does that works; `working`: all that do."""
    settings = context.settings
    sharded = settings.learner == "sharded"
    algorithm, given = make_algorithm(context.choice, context.spec, working if sharded else Comm(), timeline)
    collector = make_collector(settings, context.spec, given.policy, working)
    if context.checkpoint:
        collector.restore(context.checkpoint, context.iteration + 1)
    evaluator = make_evaluator(context.choice, context.spec, working)
    rank = Rank(working, collector, algorithm, timeline, sharded and working.size > 1, evaluator)
    if comm.rank > 0:
        worker_loop(rank, settings.seed)
    else:
        log = RunLog(context, timeline, show, comm.size, given.notes)
        notes = first_notes(context, comm.size, working.size)
        try:
            root_loop(rank, Learner(context, algorithm, collector), log, notes)
        finally:
            log.close()
    try:
        collector.close()
        if evaluator is not None:
            evaluator.close()
    except EnvironmentFailed as error:  # the run is over, and an environment cannot undo it any more
        said = f"minitrpo: the run is whole, but rank {launched_rank()} could not close an environment: {error}"
        print(said, file=sys.stderr)


def alone(context: RunContext, algorithm: Algorithm) -> tuple[Learner, Rank]:
    """Return what a run is made of, in this process alone: what only the root has, and what every rank has.

    An iteration without clocks, log and checkpoint, as `root_loop` has it:

        plan, request = learner.plan()
        rank.collector.refill()
        learner.learn(rank.collect(plan, request, checkpoint=False))
    """
    comm, policy = Comm(), make_policy(context.choice, context.spec)
    collector = make_collector(context.settings, context.spec, policy, comm)
    rank = Rank(comm, collector, algorithm, Timeline(comm, keep=False))
    return Learner(context, algorithm, collector), rank


def root_loop(rank: Rank, learner: Learner, log: RunLog, notes: list[str]) -> None:
    """Plan, broadcast, collect, gather, learn, log, until the steps are used up; then send everybody home."""
    timeline, checkpoint = rank.timeline, False
    log.begin(learner.state, notes)
    while not (learner.finished or (checkpoint and asked_to_stop())):
        # 1. what to collect next, and with which policy and filter: theta, frozen until everybody has played
        plan, request = learner.plan()
        checkpoint = log.due(request.iteration, learner.is_last(request))
        rank.collector.refill()
        with timeline.span("broadcast"):
            plan, request = broadcast(rank.comm, plan, request, checkpoint)
        # 2. all ranks play; what travels is gathered and sorted by episode number
        gathered = rank.collect(plan, request, checkpoint)
        # 3. advantages, a step of the policy, the critic, the adaptive rule: whatever the algorithm does
        with timeline.span("update"):
            learner.learn(gathered)
        # 4. an evaluation if one is due, a row of the log, a checkpoint
        if (evaluation := learner.evaluation()) is not None:
            with timeline.outside("evaluate"):
                _, evaluation = broadcast(rank.comm, Plan(evaluation.theta), evaluation, False)
                learner.evaluated = float(np.mean(rank.evaluate(evaluation)))
        if learner.row_due:
            log.write(learner.row())
        if checkpoint or learner.finished:
            log.save(learner.state() | gathered.unfinished)
    broadcast(rank.comm, Plan(np.zeros(0)), Request(OVER, 0, np.zeros(0), learner.filter), False)


def worker_loop(rank: Rank, seed: int) -> None:
    """Collect what the root asks for, and share its update if the ranks do, until it says that the run is over."""
    while True:
        with rank.timeline.span("idle"):
            plan, request, checkpoint = received(rank.comm.broadcast({}))
        if request.iteration == OVER:
            return
        if request.iteration < OVER:
            with rank.timeline.span("evaluate"):
                rank.evaluate(request)
            continue
        gathered = rank.collect(plan, request, checkpoint)
        if rank.shares:
            plan = replace(plan, arrays=plan.arrays | gathered.batch)
            with rank.timeline.span("update"), status.at("assist"):
                rank.algorithm.assist(plan, update_rng(seed, request.iteration))


def broadcast(comm: Comm, plan: Plan, request: Request, checkpoint: bool) -> tuple[Plan, Request]:
    """Tell the others what to collect, and whether a checkpoint follows; return both as they get them; on the root."""
    numbers = (NOT_SAID if n is None else int(n) for n in (plan.steps, plan.episodes))
    head = np.array([request.iteration, request.amount, request.wanted, checkpoint, *numbers], np.int64)
    own = {"head": head, "theta": plan.theta, "filter": request.observation_filter.to_vector()}
    arrays = {f"plan_{name}": np.array(a, order="C") for name, a in plan.arrays.items()}
    plan, request, _ = received(comm.broadcast(own | arrays))
    return plan, request


def received(arrays: Arrays) -> tuple[Plan, Request, bool]:
    """Return plan, request and whether a checkpoint follows, of what `broadcast` sent: alike on every rank.

    Nobody may write into the plan's arrays: on the root alone they could be the algorithm's own.
    """
    arrays = dict(arrays)
    iteration, amount, wanted, checkpoint, *numbers = arrays.pop("head").tolist()
    frozen, theta = ObservationFilter.from_vector(arrays.pop("filter")), np.array(arrays.pop("theta"), order="C")
    for array in (theta, *arrays.values()):
        array.flags.writeable = False
    steps, episodes = (None if n == NOT_SAID else n for n in numbers)
    plan = Plan(theta, steps, {name.removeprefix("plan_"): array for name, array in arrays.items()}, episodes)
    return plan, Request(iteration, amount, theta, frozen, wanted), bool(checkpoint)
