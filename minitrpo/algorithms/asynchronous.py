"""What an asynchronous algorithm is: gradients of old parameters, applied as they come to parameters that all share.

    Settings        inherits AsynchronousSettings
    columns         names of what `gradient` says of itself; metrics.csv has the mean over a row's gradients
    pulled          which shared arrays a worker is given; optional, ("theta",) by default
    transports      which of `TRANSPORTS` make sense; optional, all by default
    __init__        (settings, context): one object for every worker, `context.worker` of `context.workers`
    state()         the shared arrays at the start -> a dict of arrays, `theta` among them: parameters, optimiser,
                    target network. What lasts lies here; shapes and dtypes never change
    gradient(shared, fragment, now, rng)    on a worker, from its copies of the `pulled` arrays and the steps it took
                    with them -> what travels, a dict of arrays, the same names each time ({}: nothing to apply), and a
                    dict of `columns` (NaN: nothing to say)
    apply(shared, gradient, now)            where the shared arrays are: changes them in place; keeps nothing in self.
                    Returns False to refuse a gradient
    acting(shared, now)                     what `policy.act_function` is given; optional, theta by default
    memory(), remember(arrays)              a worker's own arrays, such as a replay; optional; for an exact resume
    make_policy(settings, policy)           as every algorithm may have

`runs.asynchronous` plays such a class over each of the transports of `parallel.parameter_server`.
"""

from dataclasses import dataclass
from typing import Any

from minitrpo.algorithms.options import option
from minitrpo.optimisers import Optimiser
from minitrpo.policies import Array

Arrays = dict[str, Array]
TRANSPORTS = ("window", "server", "events")
NO_LIMIT = 10**9


@dataclass(frozen=True)
class Moment:
    """When something happens: which gradients and steps came before it, on all workers."""

    version: int  # gradients applied
    env_steps: int
    staleness: int = 0  # in `apply`: gradients that were applied since this one's parameters were pulled


@dataclass(frozen=True)
class AsynchronousSettings:
    """What every asynchronous algorithm can be told."""

    transport: str = option(
        "auto",
        "window: shared memory without locks, on one machine; server: rank 0 keeps the parameters, on any machines; "
        "events: one process plays --workers workers with drawn delays, the same bits each time; auto: window where "
        "all ranks share a machine, else server",
        "",
        ("auto", *TRANSPORTS),
    )
    workers: int = option(2, "with --transport events: how many workers are played", least=1, most=1024)
    envs_per_worker: int = option(1, "environments of each worker", "Mnih et al. 2016: 1", least=1, most=64)
    t_max: int = option(5, "steps in each environment for one gradient", "Mnih et al. 2016: 5", least=1, most=1_000_000)
    max_staleness: int = option(
        NO_LIMIT, "gradients older than so many updates are refused", "Nair et al. 2015", least=0, most=NO_LIMIT
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
        most=1e6,
    )  # fmt: skip


def is_asynchronous(algorithm: Any) -> bool:
    """Return whether a class is an asynchronous algorithm: it has both `gradient` and `apply`."""
    return callable(getattr(algorithm, "gradient", None)) and callable(getattr(algorithm, "apply", None))


def descend(shared: Arrays, gradient: Array, optimiser: Optimiser, step_size: float, prefix: str = "") -> None:
    """Step shared["theta"] down a gradient with the shared optimiser: every array stays where it is, and is changed.

    Others look at the same memory. The optimiser's arrays are those whose names begin with `prefix`; it knows them
    without. optimiser: (its arrays, gradient, step_size) -> (its new arrays, step). gradient: (P,), left as it is.
    """
    # 1. the optimiser's own arrays, by the names that it gave them
    own = {name.removeprefix(prefix): array for name, array in shared.items() if name.startswith(prefix)}
    # 2. a step
    after, step = optimiser(own, gradient, step_size)
    # 3. write the new arrays, and theta, into the memory of the old ones
    for name, array in after.items():
        shared[prefix + name][:] = array
    shared["theta"] -= step
