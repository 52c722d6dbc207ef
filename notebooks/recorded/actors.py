"""Record what lecture 11a shows of its own loops: python notebooks/recorded/actors.py.

CartPole, five seeds and three step sizes each. Now and then the policy plays 16 fresh episodes, whose mean return is
the score. Writes 11_actors.csv, a row per score. Takes about 6 minutes of two cores.

- `online`: 1 or 16 simulators, an update every step or every 5;
- `together`: 8, 32 or 128 simulators, an update every 5 steps; stopped once the score is at the goal;
- `late`: the same simulators in 1, 4 or 16 workers of 8, each of which pulls, plays 5 steps and pushes its gradient.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from keep import Row, each, keep

from minitrpo.algorithms.actor_critic import ActorCritic, ActorCriticSettings, actor_critic_gradient
from minitrpo.algorithms.asynchronous_algorithm import OPTIMISER, descend
from minitrpo.algorithms.shared_update import samples_of
from minitrpo.experience.environments import describe
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.rollouts import Rollouts, concatenate, make_vector_env
from minitrpo.optimisers import adam, initial_state
from minitrpo.parallel.event_queue import EventQueue
from minitrpo.parallel.parameter_server import Arrival, ParameterServer, Tally
from minitrpo.policies import Array

GOAL = 450.0
STEP_SIZES = (3e-4, 1e-3, 3e-3, 1e-2)
SPEC = describe("CartPole-v1")
MODEL = ActorCritic(SPEC.policy((64, 64)))
SETTINGS = ActorCriticSettings(max_gradient_norm=np.inf)
AS_SEEN = ObservationFilter.identity(SPEC.observation_size, clip=np.inf)
ROOM = 1_000_000  # seeds of one run's simulators lie this far from the next run's


class Run(NamedTuple):
    """One run; envs: simulators of a worker."""

    what: str
    workers: int
    envs: int
    n: int
    step_size: float
    seed: int


def simulators(envs: int, n: int, seed: int) -> Callable[[Array], Array]:
    """Return what plays n steps in each of some simulators, from where they stood, and returns the loss's gradient."""
    home = Rollouts(SPEC, MODEL, make_vector_env(SPEC, envs), seed)

    def gradient_of(theta: Array) -> Array:
        played = concatenate(home.advance(theta, AS_SEEN, 1, range(envs), envs, n))
        return actor_critic_gradient(MODEL, theta, samples_of(played), SETTINGS)[0]

    return gradient_of


def together(run: Run) -> Iterator[Array]:
    """Yield theta after every update: all simulators take n steps, then one step of Adam."""
    theta = MODEL.initialise(np.random.default_rng(run.seed))
    memory, gradient_of = initial_state("adam", len(theta)), simulators(run.workers * run.envs, run.n, ROOM * run.seed)
    while True:
        memory, step = adam(memory, gradient_of(theta), run.step_size)
        theta = theta - step
        yield theta


def late(run: Run) -> Iterator[Array]:
    """Yield theta after every update: workers at a drawn pace, whose gradients are applied as they come."""
    rng = np.random.default_rng(run.seed)
    theta = MODEL.initialise(rng)
    memory = {OPTIMISER + name: array for name, array in initial_state("adam", len(theta)).items()}
    shared = {"theta": theta, **memory, **Tally.arrays(run.workers)}

    def apply(shared: dict[str, Array], gradient: dict[str, Array], arrival: Arrival) -> None:
        descend(shared, gradient["gradient"], adam, run.step_size, OPTIMISER)

    def work_of(worker: int) -> Any:
        gradient_of = simulators(run.envs, run.n, ROOM * run.seed + 1000 * worker)
        return lambda pulled: {"gradient": gradient_of(pulled.arrays["theta"])}

    works, server = [work_of(worker) for worker in range(run.workers)], ParameterServer(shared, apply)
    queue = EventQueue(server, works, ("theta",), lambda worker, clock: 1 + 0.1 * rng.exponential())
    while True:
        queue.play()
        yield shared["theta"]


def score(theta: Array) -> float:
    """Return the mean return of 16 fresh episodes."""
    requests = iter(range(16))
    home = Rollouts(SPEC, MODEL, make_vector_env(SPEC, 16), 12_345)
    played = home.play(theta, AS_SEEN, 1, lambda: next(requests, None), 16)
    return round(float(np.mean(concatenate(played).returns)), 1)


def play(run: Run) -> list[Row]:
    """Return the scores of a run."""
    total, every, goal = (20_000, 2_000, np.inf) if run.what == "online" else (120_000, 6_000, GOAL)
    steps = run.envs * run.n * (1 if run.what == "late" else run.workers)  # of an update
    rows: list[Row] = []
    for update, theta in enumerate(late(run) if run.what == "late" else together(run), 1):
        taken = update * steps
        if taken // every > (taken - steps) // every:
            rows.append(run._asdict() | {"env_steps": taken, "score": score(theta)})
            if taken >= total or rows[-1]["score"] >= goal:
                break
    return rows


def main() -> None:
    """Run all, seed by seed."""
    kinds = [("online", 1, envs, n, size) for n in (1, 5) for envs in (1, 16) for size in STEP_SIZES[:3]]
    kinds += [(what, w, 8, 5, size) for what in ("together", "late") for w in (1, 4, 16) for size in STEP_SIZES[1:]]
    keep("11_actors", each(play, [Run(*kind, seed) for seed in range(5) for kind in kinds]))


if __name__ == "__main__":
    main()
