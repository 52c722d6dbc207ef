"""A worker of an asynchronous run: pulled parameters become a gradient; and what a worker reports beside it.

Reports go into shared arrays that have a row for each worker, so that no report is lost over any transport.
"""

from typing import Any

import numpy as np

from minitrpo.algorithms.asynchronous import Arrays, AsynchronousSettings, Moment
from minitrpo.errors import AlgorithmFailed, infinite_theta, shown
from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.experience.episodes import Episodes
from minitrpo.experience.filters import ObservationFilter
from minitrpo.experience.lockstep import UnfinishedEpisode
from minitrpo.experience.physics import make_vector_env
from minitrpo.experience.randomness import Purpose, generator
from minitrpo.experience.rollouts import Rollouts
from minitrpo.experience.status import IDLE, Doing, RankStatus
from minitrpo.parallel.parameter_server import TALLY, Pulled, Tally
from minitrpo.parallel.timing import Timeline
from minitrpo.policies import Array
from minitrpo.runs.context import RunContext, fresh_filter, make_algorithm
from minitrpo.runs.settings import Choice, Settings

OWN = "run_"  # how the house's arrays are called among those that are shared, and that travel
REPORT, SEEN, ITERATION, OVER = (OWN + name for name in ("report", "seen", "iteration", "over"))
MEMORY = "memory_"  # how an algorithm's own arrays are called among those of its worker
PULLED = (REPORT, SEEN, ITERATION)
STEPS, EPISODES, RETURNS, LENGTHS, HEAD = range(5)  # of a report; sum and number for each column follow


def house_arrays(choice: Choice, spec: EnvironmentSpec, workers: int) -> Arrays:
    """Return the shared arrays that every asynchronous run has beside its algorithm's own.

    report: (W, 4 + 2C), sums over all gradients of a worker. seen: (W, 2 + 2D), its observations' moments, as a filter.
    """
    nothing = fresh_filter(choice.common, spec).to_vector()
    return {
        REPORT: np.zeros((workers, HEAD + 2 * len(choice.algorithm.columns))),
        SEEN: np.tile(nothing, (workers, 1)),
        ITERATION: np.ones(1, np.int64),
        OVER: np.zeros(1, np.int64),
        **Tally.arrays(workers),
    }


def account(worker: int, shared: Arrays, message: Arrays) -> None:
    """Take a worker's report out of what it pushed and add it to its row."""
    shared[REPORT][worker] += message.pop(REPORT)
    shared[SEEN][worker] = merged(np.array([shared[SEEN][worker], message.pop(SEEN)])).to_vector()


def merged(seen: Array) -> ObservationFilter:
    """Return the filter of all workers' observations, from their moments (W, 2 + 2D), in their order."""
    whole = ObservationFilter.from_vector(seen[0])
    for row in seen[1:]:
        other = ObservationFilter.from_vector(row)
        if other.count > 0:
            whole = whole.merged_moments(int(other.count), other.mean, other.squares)
    return whole


def env_steps(shared: Arrays) -> int:
    """Return the environment steps of all workers whose gradients have come."""
    return int(shared[REPORT][:, STEPS].sum())


class Worker:
    """One worker: its environments, its algorithm with whatever memory that has, and its random numbers."""

    def __init__(
        self, context: RunContext, number: int, workers: int, status: RankStatus | None, timeline: Timeline
    ) -> None:
        choice = context.choice
        self.settings: Settings = choice.common
        self.own: AsynchronousSettings = choice.own
        self.number, self.columns, self._timeline = number, choice.algorithm.columns, timeline
        self.algorithm, given = make_algorithm(choice, context.spec, None, timeline, number, workers)
        self.notes = given.notes
        width = self.own.envs_per_worker
        envs = make_vector_env(context.spec, width, self.settings.physics)
        self.rollouts = Rollouts(context.spec, given.policy, envs, self.settings.seed, status)
        self.all_envs = workers * width
        self._away = self._numbers().copy()  # what the status says of this worker's slots while another works here
        self._shapes: dict[str, Any] = {}  # what this worker's gradients look like
        self.begin_at(0, 0)

    def begin_at(self, episode: int, gradients: int) -> None:
        """Begin with episodes from this number on, and with the random numbers of this gradient."""
        first = episode + self.number * self.own.envs_per_worker
        self._slots, self.gradients = range(first, first + self.own.envs_per_worker), gradients

    def work(self, pulled: Pulled) -> Arrays:
        """Return a gradient of what was pulled, and the report that goes with it."""
        shared = pulled.arrays
        now, frozen = Moment(pulled.version, env_steps(shared)), merged(shared.pop(SEEN))
        iteration = int(shared.pop(ITERATION)[0])
        del shared[REPORT]
        acting = getattr(self.algorithm, "acting", None)
        theta = acting(shared, now) if acting else shared["theta"]
        if not isinstance(theta, np.ndarray) or theta.ndim != 1 or theta.dtype.kind != "f":
            raise AlgorithmFailed(f"acting() returned {shown(theta)}; it must return the parameters that act, (P,)")
        if not np.isfinite(theta).all():
            raise infinite_theta(f"in update {iteration}")
        with self._timeline.span("collect"):
            self._arrive()
            episodes = self.rollouts.advance(theta, frozen, iteration, self._slots, self.all_envs, self.own.t_max)
            self._leave()
        rng = generator(self.settings.seed, self.gradients, self.number, Purpose.UPDATE)
        self.gradients += 1
        with self._timeline.span("update"), self.rollouts.status.at(Doing.GRADIENT):
            answer = self.algorithm.gradient(shared, episodes.filtered(frozen), now, rng)
        gradient, columns = checked(answer, self.columns)
        shapes = {name: (array.dtype, array.shape) for name, array in gradient.items()}
        self._shapes = self._shapes or shapes
        if shapes and shapes != self._shapes:
            odd = next(name for name in {**shapes, **self._shapes} if shapes.get(name) != self._shapes.get(name))
            raise AlgorithmFailed(f"gradient() returned another {odd!r} than before: kinds and shapes must stay")
        seen = ObservationFilter.identity(episodes.observations.shape[1])
        if self.settings.filter == "running":
            seen = seen.merged(episodes.observations)
        return gradient | {
            REPORT: report(episodes, [columns[name] for name in self.columns]),
            SEEN: seen.to_vector(),
        }

    def state(self) -> Arrays:
        """Return what this worker has of its own: its unfinished episodes, slot by slot, and its algorithm's memory."""
        memory = checked_memory(self.algorithm)
        own = {MEMORY + name: array for name, array in memory.items()}
        if not self.gradients:
            return own
        self._arrive()
        episodes = self.rollouts.unfinished()
        self._leave()
        return own | {
            "numbers": np.array([e.number for e in episodes], np.int64),
            "lengths": np.array([len(e.actions) for e in episodes], np.int64),
            "actions": np.concatenate([e.actions for e in episodes]),
            "observations": np.array([e.observation for e in episodes]),
        }

    def restore(self, arrays: Arrays, iteration: int) -> None:
        """Take over what `state` returned, for this iteration."""
        memory: Arrays = {name.removeprefix(MEMORY): a for name, a in arrays.items() if name.startswith(MEMORY)}
        if memory:
            self.algorithm.remember(memory)
        if "numbers" in arrays:
            past = np.split(arrays["actions"], np.cumsum(arrays["lengths"])[:-1])
            numbers, observations = arrays["numbers"].tolist(), arrays["observations"]
            self._arrive()
            self.rollouts.restore(
                [UnfinishedEpisode(*parts) for parts in zip(numbers, past, observations, strict=True)], iteration
            )
            self._leave()

    def _numbers(self) -> Array:
        status = self.rollouts.status
        return np.array([status.keys, status.numbers])

    def _arrive(self) -> None:
        """Tell the status, which one process's workers share, which episodes are in this worker's slots."""
        self.rollouts.status.keys[:], self.rollouts.status.numbers[:] = self._away

    def _leave(self) -> None:
        self._away = self._numbers()
        self.rollouts.status.numbers[:] = IDLE


def checked_memory(algorithm: Any) -> Arrays:
    """Return a worker's own arrays; AlgorithmFailed if a checkpoint cannot hold them."""
    memory: Any = getattr(algorithm, "memory", dict)()
    if not isinstance(memory, dict):
        raise AlgorithmFailed(f"memory() must return a dict of arrays, not {type(memory).__name__}")
    for name, array in memory.items():
        if not isinstance(name, str) or np.asarray(array).dtype.kind not in "biufc":
            raise AlgorithmFailed(f"memory() has {name} = {shown(array)}; it must be an array of numbers")
    return memory


def check_shared(state: Arrays, algorithm: Any) -> None:
    """Raise AlgorithmFailed unless these can be the shared arrays of an asynchronous algorithm."""
    missing = set(getattr(algorithm, "pulled", ("theta",))) - state.keys()
    if missing:
        raise AlgorithmFailed(f"pulled names {min(missing)!r}, which state() does not have")
    odd = [name for name in state if name.startswith(TALLY)]
    if odd:
        raise AlgorithmFailed(f"state() has {odd[0]!r}; names that begin with {TALLY} are the run's own")
    checked_memory(algorithm)
    theta = np.asarray(state["theta"])
    if theta.ndim != 1 or not np.all(np.isfinite(theta)):
        raise AlgorithmFailed(f"state() has a theta of shape {theta.shape}; it must be finite, of shape (P,)")


def report(episodes: Episodes, columns: list[float]) -> Array:
    """Return what a worker says of its steps, (4 + 2C,): see `house_arrays`."""
    ended = episodes.ended
    lengths = (episodes.starts + episodes.lengths)[ended]
    known = [(value, 1.0) if np.isfinite(value) else (0.0, 0.0) for value in columns]
    head = [episodes.steps, ended.sum(), episodes.returns[ended].sum(), lengths.sum()]
    return np.array([*head, *(number for pair in known for number in pair)], np.float64)


def checked(answer: Any, columns: tuple[str, ...]) -> tuple[Arrays, dict[str, float]]:
    """Return what `gradient` returned; AlgorithmFailed if it cannot travel."""
    if not (isinstance(answer, tuple) and len(answer) == 2 and all(isinstance(part, dict) for part in answer)):
        raise AlgorithmFailed(f"gradient() must return (a dict of arrays, a dict of columns), not {shown(answer)}")
    gradient, said = answer
    for name, array in gradient.items():
        text = isinstance(name, str) and not name.startswith((OWN, ":"))
        if not text or not isinstance(array, np.ndarray) or array.dtype.kind not in "biufc":
            raise AlgorithmFailed(f"gradient() returned {name} = {shown(array)}; it must be an array of numbers")
    if set(said) != set(columns):
        raise AlgorithmFailed(f"gradient() must return its columns {columns}, not {sorted(said)}")
    for name, value in said.items():
        if not isinstance(value, int | float | np.number | np.bool_):
            raise AlgorithmFailed(f"gradient() returned the column {name} = {shown(value)}; it must be a number")
    return gradient, said
