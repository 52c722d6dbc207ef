"""What an asynchronous algorithm is: gradients of old parameters, applied as they come to parameters that all share.

`training.asynchronous.loop` plays such a class over each of the transports of `training.asynchronous.transports`.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from minitrpo.algorithms.algorithm import Arrays, Member
from minitrpo.algorithms.options import option
from minitrpo.experience.rollouts import Fragments
from minitrpo.optimisers import Optimiser
from minitrpo.parallel.comm import Nested
from minitrpo.parallel.parameter_server import NO_LIMIT
from minitrpo.policies import Array

TRANSPORTS = ("window", "server", "events")
OPTIMISER = "optimiser."  # how an optimiser's arrays are called among the shared ones
COUNTED = OPTIMISER + "updates"  # the shared array, if there is one, in which an optimiser counts its own steps
Ask = Callable[[dict[int, Arrays]], dict[int, Arrays]]  # a question to each of some workers; their answers
Pushed = tuple[Arrays, dict[str, float]]  # what travels ({}: nothing to apply); columns (NaN: nothing to say)


@dataclass(frozen=True)
class Moment:
    """When something happens: which gradients and steps came before it, on all workers."""

    version: int  # gradients applied
    env_steps: int
    staleness: int = 0  # in `apply`: gradients applied since the parameters of this gradient were pulled


@dataclass(frozen=True)
class AsynchronousSettings:
    """Settings of every asynchronous algorithm."""

    transport: str = option(
        "auto",
        "window: shared memory without locks, on one machine; server: rank 0 keeps the parameters, on any machines; "
        "events: one process plays --workers workers with drawn delays, the same bits each time; auto: window where "
        "all ranks share a machine, else server",
        "",
        ("auto", *TRANSPORTS),
    )
    workers: int = option(
        2, "with --transport events: number of simulated workers", least=1, most=1024, only={"transport": "events"}
    )
    envs_per_worker: int = option(1, "environments of each worker", "Mnih et al. 2016: 1", least=1, most=64)
    t_max: int = option(5, "steps in each environment for one gradient", "Mnih et al. 2016: 5", least=1, most=1_000_000)
    max_staleness: int = option(
        NO_LIMIT, "gradients older than this many updates are refused", "Nair et al. 2015", least=0, most=NO_LIMIT
    )
    max_lead: int = option(
        NO_LIMIT,
        "a worker waits when it is this many gradients ahead of the slowest",
        "Dai et al. 2015",
        least=0,
        most=NO_LIMIT,
    )
    delay_jitter: float = option(
        0.1, "with --transport events: a gradient takes 1 + jitter * Exp(1); 0: all workers are equal", least=0,
        most=1e6, only={"transport": "events"},
    )  # fmt: skip


class AsynchronousAlgorithm(Member):
    """An algorithm without a barrier: one object for every worker, `context.worker` of `context.workers`.

    Its Settings inherit AsynchronousSettings. metrics.csv has the means of its columns over a row's gradients. `state`
    returns the shared arrays at the start: parameters, optimiser, target network. Lasting state is there; shapes and
    dtypes never change.
    """

    loop = "asynchronous"
    removed: ClassVar[dict[str, Any]] = {"servers": 1}
    pulled: ClassVar[tuple[str, ...]] = ("theta",)  # which shared arrays a worker pulls
    transports: ClassVar[tuple[str, ...]] = TRANSPORTS  # those that make sense

    @abstractmethod
    def gradient(self, shared: Arrays, fragment: Fragments, now: Moment, rng: np.random.Generator) -> Pushed:
        """Return what travels (gradients or samples; {}: nothing), and columns (NaN: not measured).

        Runs on a worker: `shared` has its copies of the `pulled` arrays, `fragment` the steps that it took with them.
        """

    @staticmethod
    def learners(settings: Any, workers: int) -> int:
        """Return how many of the workers, the last ones, only learn: they run `learner_gradient`, not `gradient`."""
        return 0

    def learner_gradient(self, shared: Arrays, ask: Ask, now: Moment, rng: np.random.Generator) -> Pushed:
        """Return what `gradient` returns, on a worker that only learns: from what the others `answer` if it asks."""
        raise NotImplementedError

    def answer(self, question: Arrays) -> Arrays:
        """Return the reply to another worker's question; at least one array."""
        raise NotImplementedError

    @abstractmethod
    def apply(self, shared: Arrays, gradient: Arrays, now: Moment) -> bool | dict[str, float] | None:
        """Change the shared arrays in place; keep no state in self.

        Returns False to refuse the gradient, or the columns that are known only here.
        """

    def acting(self, shared: Arrays, now: Moment) -> Array:
        """Return the parameters for `policy.act_function` on a worker."""
        return shared["theta"]

    def worker_state(self) -> Nested:
        """Return a worker's own arrays, such as a replay buffer, for an exact resume."""
        return {}

    def restore_worker(self, arrays: Nested) -> None:
        """Restore what `worker_state` returned."""

    @classmethod
    def defects(cls) -> Iterator[str]:
        if not issubclass(cls.Settings, AsynchronousSettings):
            yield "is asynchronous, but its Settings do not inherit AsynchronousSettings"
        base = AsynchronousAlgorithm
        if (cls.worker_state is base.worker_state) != (cls.restore_worker is base.restore_worker):
            yield "has only one of worker_state() and restore_worker(arrays)"
        if "theta" not in cls.pulled:
            yield f"has pulled = {cls.pulled!r}; it must be a tuple of names of shared arrays, theta among them"
        if not cls.transports or not set(cls.transports) <= set(TRANSPORTS):
            yield f"has transports = {cls.transports!r}; it must be a tuple of some of {', '.join(TRANSPORTS)}"


def descend(shared: Arrays, gradient: Array, optimiser: Optimiser, step_size: float, prefix: str = "") -> None:
    """Step shared["theta"] down a gradient, in place: every array of `shared` stays where it is, and is changed there.

    Ranks that write at the same time overwrite each other's updates, as in Mnih et al. 2016.

    Args:
        shared: theta, and the arrays of the optimiser, whose names begin with `prefix`.
        gradient: (P,); it is not changed.
        optimiser: from (its arrays by the rest of their names, gradient, step_size) to its new arrays and the step.
        step_size: how far to step.
        prefix: of the names of the optimiser's arrays.

    """
    # 1. the optimiser's arrays, by its names for them
    before = {name.removeprefix(prefix): array for name, array in shared.items() if name.startswith(prefix)}
    # 2. a step
    after, step = optimiser(before, gradient, step_size)
    # 3. write the new arrays, and theta, into the memory of the old ones
    for name, array in after.items():
        shared[prefix + name][:] = array
    shared["theta"] -= step
