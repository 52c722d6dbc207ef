"""The root's part of a run: what to request next, what was learned from it, and everything a checkpoint holds."""

from typing import Any

import numpy as np

from minitrpo.algorithms.interface import Plan
from minitrpo.errors import AlgorithmFailed, shown
from minitrpo.experience.collectors import UNFINISHED, Collector, Request
from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.experience.filters import ObservationFilter
from minitrpo.experience.randomness import Purpose, generator
from minitrpo.policies import Array
from minitrpo.runs.actor import Gathered
from minitrpo.runs.settings import Settings

MAX_STEPS = 10**12  # of one update
UNKNOWN_LENGTH = 1_000  # steps, assumed of an episode before one has been seen and where there is no time limit
OWN = "run_"  # how the house's arrays are called in a checkpoint; all others are the algorithm's


class Learner:
    """The algorithm on the root, the observation filter, and the counters of the run."""

    def __init__(self, settings: Settings, spec: EnvironmentSpec, algorithm: Any, collector: Collector) -> None:
        self.settings, self.algorithm, self._collector = settings, algorithm, collector
        self.filter = ObservationFilter.identity(spec.observation_size, settings.filter_clip)
        self.mean_length = float(spec.max_episode_steps or UNKNOWN_LENGTH)
        self.iteration = 0
        self.env_steps = 0
        self._steps_wanted = settings.steps_per_update
        self._theta_shape = np.shape(algorithm.state()["theta"])

    @property
    def finished(self) -> bool:
        """Return whether the run has taken all its steps."""
        return self.env_steps >= self.settings.total_steps

    def plan(self) -> tuple[Plan, Request]:
        """Return what the algorithm wants next, and what is requested for it."""
        plan = self.algorithm.plan()
        check_plan(plan, self._theta_shape)
        self._steps_wanted = plan.steps or self.settings.steps_per_update
        amount = self._collector.amount(self._steps_wanted, self.mean_length)
        return plan, Request(self.iteration + 1, amount, plan.theta, self.filter)

    def learn(self, gathered: Gathered) -> dict[str, Any]:
        """Take one update; return its row for the log."""
        self.iteration += 1
        self.env_steps += gathered.steps
        columns = self.algorithm.learn(gathered.batch, update_rng(self.settings.seed, self.iteration))
        if not isinstance(columns, dict) or set(columns) != set(self.algorithm.columns):
            result = sorted(columns) if isinstance(columns, dict) else type(columns).__name__
            raise AlgorithmFailed(f"learn() must return a dict of its columns {self.algorithm.columns}, not {result}")
        for name, value in columns.items():
            if not isinstance(value, int | float | str | np.number | np.bool_):
                raise AlgorithmFailed(f"learn() returned {name} = {shown(value)}; a column holds one number or word")
        theta = np.asarray(self.algorithm.state()["theta"])
        if theta.shape != self._theta_shape or not np.all(np.isfinite(theta)):
            what = "is not finite" if theta.shape == self._theta_shape else f"has shape {theta.shape}"
            raise AlgorithmFailed(f"theta {what} after learn() in update {self.iteration}; no checkpoint has it")
        if self.settings.filter == "running":
            self._merge(gathered.fragments)
        mean_return, mean_length = self._episode_means(gathered)
        return {
            "iteration": self.iteration,
            "env_steps": self.env_steps,
            "episodes": int(gathered.ended.sum()),
            "mean_return": mean_return,
            "mean_length": mean_length,
            "steps_per_update": self._steps_wanted,
            **columns,
        }

    def state(self) -> dict[str, Array]:
        """Return everything a checkpoint needs, as arrays."""
        own = {
            "filter": self.filter.to_vector(),
            "counters": np.array([self.iteration, self.env_steps]),
            "mean_length": np.array([self.mean_length]),
        }
        return {**checked_state(self.algorithm.state()), **{OWN + name: array for name, array in own.items()}}

    def restore(self, arrays: dict[str, Array]) -> None:
        """Take the state from a checkpoint's arrays."""
        self.algorithm.restore({name: a for name, a in arrays.items() if not name.startswith((OWN, UNFINISHED))})
        self.filter = ObservationFilter.from_vector(arrays[OWN + "filter"])
        self.iteration, self.env_steps = (int(n) for n in arrays[OWN + "counters"])
        self.mean_length = float(arrays[OWN + "mean_length"][0])

    def _merge(self, own: dict[str, Array]) -> None:
        """Let the filter see what was gathered, in episode order, whoever played it."""
        for n, mean, squares in zip(own["lengths"].tolist(), own["mean"], own["squares"], strict=True):
            self.filter = self.filter.merged_moments(n, mean, squares)

    def _episode_means(self, gathered: Gathered) -> tuple[float, float]:
        """Return mean return and length of the episodes that ended; NaN if none did."""
        own, ended = gathered.fragments, gathered.ended
        if not ended.any():
            return float("nan"), float("nan")
        self.mean_length = float(np.mean((own["starts"] + own["lengths"])[ended]))
        return float(np.mean(own["returns"][ended])), self.mean_length


def check_plan(plan: Any, shape: tuple[int, ...]) -> None:
    """Raise AlgorithmFailed unless this is a plan, its theta is finite and of this shape, its arrays can travel."""
    if not isinstance(plan, Plan):
        raise AlgorithmFailed(f"plan() returned {type(plan).__name__}; it must return a Plan(theta)")
    for name, array in {"theta": plan.theta, **plan.arrays}.items():
        if not isinstance(name, str) or not isinstance(array, np.ndarray) or array.dtype.kind not in "biufc":
            raise AlgorithmFailed(f"plan() gave {name} = {shown(array)}; it must be an array of numbers")
    if plan.theta.shape != shape or not np.all(np.isfinite(plan.theta)):
        raise AlgorithmFailed(f"plan() gave a theta of shape {plan.theta.shape}; it must be finite, of shape {shape}")
    if plan.steps is not None and not (isinstance(plan.steps, int | np.integer) and 1 <= plan.steps <= MAX_STEPS):
        raise AlgorithmFailed(f"plan() gave steps = {shown(plan.steps)}; it must be an integer from 1 to {MAX_STEPS:,}")


def checked_state(state: Any) -> dict[str, Array]:
    """Return what an algorithm's `state` returned; AlgorithmFailed if a checkpoint cannot hold it."""
    if not isinstance(state, dict) or "theta" not in state:
        raise AlgorithmFailed("state() must return a dict of arrays with theta among them")
    for name, array in state.items():
        if not isinstance(name, str) or not name.isidentifier() or name == "file":
            raise AlgorithmFailed(f"state() has an array called {shown(name)}; choose another name, such as weights")
        if np.asarray(array).dtype.kind not in "biufc":
            raise AlgorithmFailed(f"state() has {name} = {shown(array)}; it must be an array of numbers")
    return state


def resumed_iteration(checkpoint: dict[str, Array]) -> int:
    """Return the iteration with which a run goes on from a checkpoint."""
    return int(checkpoint[OWN + "counters"][0]) + 1


def update_rng(seed: int, iteration: int) -> np.random.Generator:
    """Return the random numbers of one update, the same on every rank."""
    return generator(seed, iteration, 0, Purpose.UPDATE)
