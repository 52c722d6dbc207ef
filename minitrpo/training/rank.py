"""A rank of the loop with a barrier: what it has, and what it does together with the others."""

from dataclasses import dataclass, field

import numpy as np

from minitrpo.algorithms.algorithm import Algorithm, Arrays, Plan
from minitrpo.experience.collectors import Collector, Request
from minitrpo.experience.evaluation import Evaluator
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.timing import Timeline
from minitrpo.policies import Array
from minitrpo.supervision.status import RankStatus
from minitrpo.training.gather import Gathered, digested, gather, gather_unfinished
from minitrpo.training.spread import spread

OVER = 0  # an iteration that says: the run is over; -n: evaluate the policy of update n
NOT_SAID = -1  # of a plan's steps or episodes


@dataclass(frozen=True)
class Collected:
    """What has come to the root: everybody's experience, and what every rank has found for the update before."""

    gathered: Gathered | None  # None on the others
    found: list[Arrays]
    unfinished: Arrays  # episodes, if a checkpoint is due
    rows: Arrays = field(default_factory=dict)  # of `Algorithm.spread`: those that this rank needs


@dataclass(frozen=True)
class Rank:
    """What every rank has: its collector, the algorithm, and the way to the others."""

    comm: Comm
    collector: Collector
    algorithm: Algorithm
    timeline: Timeline
    status: RankStatus = field(default_factory=RankStatus.private)
    plans: Comm = field(default_factory=Comm)  # the same ranks, for plans: these travel while other things do
    helped: bool = False  # whether others share the root's update, or do what is not urgent of it
    overlap: bool = True  # whether that is done while the others play already
    evaluator: Evaluator | None = None  # if the run is to be evaluated

    def broadcast(self, plan: Plan, request: Request, checkpoint: bool) -> tuple[Plan, Request]:
        """Tell the others what to collect, and whether a checkpoint is due; return both as they get them; root."""
        numbers = (NOT_SAID if n is None else int(n) for n in (plan.steps, plan.episodes))
        head = np.array([request.iteration, request.amount, request.wanted, checkpoint, *numbers], np.int64)
        own = {"head": head, "theta": plan.theta, "filter": request.observation_filter.to_vector()}
        arrays = {name: np.array(a, order="C") for name, a in plan.arrays.items()}
        plan, request, _ = received(self.plans.broadcast(own | {f"plan_{name}": a for name, a in arrays.items()}))
        return plan, request

    def collect(self, plan: Plan, request: Request, checkpoint: bool, found: Arrays | None = None) -> Collected:
        """Collect, wait for the others, gather: the part of an iteration that all ranks share.

        found: by this rank, for the update before; it travels along. What only some need goes to them, not to the root.
        """
        names = self.algorithm.spread if self.helped else ()
        with self.timeline.span("collect"):
            own = digested(self.algorithm, plan, request, self.collector.collect(request), self.status)
            rows = {name: own.pop(name) for name in names if own}
        with self.timeline.span("wait"):
            self.comm.barrier()
        with self.timeline.span("gather"):
            unfinished = gather_unfinished(self.comm, self.collector) if checkpoint else {}
            gathered, others = gather(self.comm, own, found or {})
            rows = spread(self.comm, own, rows, self.algorithm.needs) if names else {}
            if gathered is not None:
                gathered.batch.update(rows)
            return Collected(gathered, others, unfinished, rows)

    def evaluate(self, request: Request) -> Array:
        """Return what the episodes of an evaluation returned, on the root; all ranks play them."""
        assert self.evaluator is not None
        return self.evaluator.returns(request.theta, request.observation_filter, -request.iteration, request.amount)


def received(arrays: Arrays) -> tuple[Plan, Request, bool]:
    """Return plan, request and whether a checkpoint is due, of what `Rank.broadcast` sent: alike on every rank.

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
