"""The loops of lecture 11a, in one process: one after the other, with a barrier, and by workers that are late."""

from typing import Any

import numpy as np

from minitrpo.algorithms.actor_critic import ActorCritic, ActorCriticSettings, actor_critic_gradient
from minitrpo.algorithms.asynchronous_algorithm import OPTIMISER, descend
from minitrpo.algorithms.samples import samples_of
from minitrpo.experience.environments import describe
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.rollouts import Fragments, Rollouts, concatenate, make_vector_env
from minitrpo.optimisers import adam, initial_state
from minitrpo.parallel.event_queue import EventQueue
from minitrpo.parallel.parameter_server import Arrival, ParameterServer, Pulled, Tally
from minitrpo.policies import Array

SPEC = describe("CartPole-v1")
MODEL = ActorCritic(SPEC.policy((64, 64)))
SETTINGS = ActorCriticSettings(max_gradient_norm=np.inf)
AS_SEEN = ObservationFilter.identity(SPEC.observation_size, clip=np.inf)
ROOM = 1_000_000  # seeds of one run's simulators lie this far from the next run's


def home(seed: int, envs: int) -> Rollouts:
    """Return simulators."""
    return Rollouts(SPEC, MODEL, make_vector_env(SPEC, envs), seed)


def gradient_of(theta: Array, fragment: Fragments) -> Array:
    """Return the gradient of the actor-critic's loss."""
    return actor_critic_gradient(MODEL, theta, samples_of(fragment), SETTINGS)[0]


class Together:
    """All simulators take n steps, then one step of Adam."""

    def __init__(self, seed: int, step_size: float, envs: int, n: int) -> None:
        self.theta = MODEL.initialise(np.random.default_rng(seed))
        self.memory = initial_state("adam", len(self.theta))
        self.home, self.step_size, self.envs, self.n = home(ROOM * seed, envs), step_size, envs, n

    def update(self) -> Fragments:
        """Play, learn, and return what was played."""
        fragment = concatenate(self.home.advance(self.theta, AS_SEEN, 1, range(self.envs), self.envs, self.n))
        self.memory, step = adam(self.memory, gradient_of(self.theta, fragment), self.step_size)
        self.theta = self.theta - step
        return fragment


class Late:
    """Workers at a drawn pace, each with simulators of its own; gradients are applied as they come."""

    def __init__(self, seed: int, step_size: float, workers: int, envs: int = 8, n: int = 5) -> None:
        rng = np.random.default_rng(seed)
        theta = MODEL.initialise(rng)
        memory = {OPTIMISER + name: array for name, array in initial_state("adam", len(theta)).items()}
        self.shared = {"theta": theta, **memory, **Tally.arrays(workers)}
        self.step_size, self.envs, self.n = step_size, envs, n
        self.fragment: Any = None
        server = ParameterServer(self.shared, self.apply)
        works = [self.work_of(home(ROOM * seed + 1000 * worker, envs)) for worker in range(workers)]
        self.queue = EventQueue(server, works, ("theta",), lambda worker, clock: 1 + 0.1 * rng.exponential())

    @property
    def theta(self) -> Array:
        """Return the parameters as they are now."""
        return self.shared["theta"]

    def apply(self, shared: dict[str, Array], gradient: dict[str, Array], arrival: Arrival) -> None:
        """Take a step."""
        descend(shared, gradient["gradient"], adam, self.step_size, OPTIMISER)

    def work_of(self, place: Rollouts) -> Any:
        """Return a worker's way from what it pulled to its gradient."""

        def work(pulled: Pulled) -> dict[str, Array]:
            theta = pulled.arrays["theta"]
            self.fragment = concatenate(place.advance(theta, AS_SEEN, 1, range(self.envs), self.envs, self.n))
            return {"gradient": gradient_of(theta, self.fragment)}

        return work

    def update(self) -> Fragments:
        """Let the next gradient arrive, and return what it is of."""
        self.queue.play()
        return self.fragment


def score(theta: Array) -> float:
    """Return the mean return of 16 fresh episodes."""
    requests = iter(range(16))
    played = home(12_345, 16).play(theta, AS_SEEN, 1, lambda: next(requests, None), 16)
    return float(np.mean(concatenate(played).returns))
