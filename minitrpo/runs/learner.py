"""The root's part of a run: what to request next, what was learned from it, and everything a checkpoint holds."""

from typing import Any

import numpy as np

from minitrpo.algorithms.interface import Plan
from minitrpo.errors import TOO_LARGE, AlgorithmFailed, infinite_theta, shown
from minitrpo.experience.collectors import UNFINISHED, Collector, Request
from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.experience.filters import ObservationFilter
from minitrpo.experience.randomness import Purpose, generator
from minitrpo.policies import Array
from minitrpo.runs.actor import Arrays, Gathered
from minitrpo.runs.context import fresh_filter
from minitrpo.runs.record import Record
from minitrpo.runs.settings import Settings

MAX_STEPS = 10**12  # of one update
UNKNOWN_LENGTH = 1_000  # steps, assumed of an episode before one has been seen and where there is no time limit
OWN = "run_"  # how the house's arrays are called in a checkpoint; all others are the algorithm's


class Learner:
    """The algorithm on the root, the observation filter, and the counters of the run."""

    def __init__(self, settings: Settings, spec: EnvironmentSpec, algorithm: Any, collector: Collector) -> None:
        self.settings, self.algorithm, self._collector = settings, algorithm, collector
        self.filter = fresh_filter(settings, spec)
        self.mean_length = float(spec.max_episode_steps or UNKNOWN_LENGTH)
        self.iteration = 0
        self.env_steps = 0
        self._steps_wanted = settings.steps_per_update
        self._record = Record()
        theta = np.asarray(algorithm.state()["theta"])
        self._theta_shape, self._theta_dtype = theta.shape, theta.dtype

    @property
    def finished(self) -> bool:
        """Return whether the run has taken all its steps."""
        return self.env_steps >= self.settings.total_steps

    def plan(self) -> tuple[Plan, Request]:
        """Return what the algorithm wants next, and what is requested for it."""
        plan = self.algorithm.plan()
        check_plan(plan, self._theta_shape)
        self._steps_wanted = plan.steps or self.settings.steps_per_update
        amount = plan.episodes or self._collector.amount(self._steps_wanted, self.mean_length)
        return plan, Request(self.iteration + 1, amount, plan.theta, self.filter)

    @property
    def row_due(self) -> bool:
        """Return whether the last update ends a row of the log."""
        return self.finished or self.iteration % self.settings.record_every == 0

    def learn(self, gathered: Gathered) -> None:
        """Move the policy; `complete` does what the next rollout does not need."""
        self.iteration += 1
        self.env_steps += gathered.steps
        try:
            columns = self.algorithm.learn(gathered.batch, update_rng(self.settings.seed, self.iteration))
        except np.linalg.LinAlgError as error:
            said = " ".join(str(error).split())
            raise AlgorithmFailed(
                f"learn() failed in update {self.iteration} ({said}). {sizes(gathered)}{TOO_LARGE}"
            ) from error
        check_columns(columns, self.algorithm.columns)
        self._check_theta(gathered)
        own, ended = gathered.fragments, gathered.ended
        if self.settings.filter == "running":
            for n, mean, squares in zip(own["lengths"].tolist(), own["mean"], own["squares"], strict=True):
                self.filter = self.filter.merged_moments(n, mean, squares)  # in episode order, whoever played them
        if ended.any():
            self.mean_length = float(np.mean((own["starts"] + own["lengths"])[ended]))
        self._record.add(gathered, columns)

    def complete(self, found: list[Arrays]) -> None:
        """Do what the next rollout does not need; found: what `assist` returned on the ranks that help."""
        if hasattr(self.algorithm, "fit"):
            theta = np.array(self.algorithm.state()["theta"])
            self.algorithm.fit(found)
            if not np.array_equal(theta, self.algorithm.state()["theta"]):
                raise AlgorithmFailed("fit() changed theta, with which the ranks are already playing: learn() may")

    def row(self) -> dict[str, Any]:
        """Return the row that ends with the last update; see `row_due`."""
        counters = {"iteration": self.iteration, "env_steps": self.env_steps, "steps_per_update": self._steps_wanted}
        return counters | self._record.take()

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

    def _check_theta(self, gathered: Gathered) -> None:
        theta, when = np.asarray(self.algorithm.state()["theta"]), f"after learn() in update {self.iteration}"
        if (theta.shape, theta.dtype) != (self._theta_shape, self._theta_dtype):
            wanted = f"{self._theta_dtype} of shape {self._theta_shape}"
            raise AlgorithmFailed(
                f"theta is {theta.dtype} of shape {theta.shape}, not {wanted}, {when}; no checkpoint has it"
            )
        if theta.dtype.kind in "fc" and not np.all(np.isfinite(theta)):
            raise infinite_theta(when, sizes(gathered))


def sizes(gathered: Gathered) -> str:
    """Return how large the numbers of an update are, for a message about those that became infinite in it."""
    own = gathered.fragments
    observations = f"{np.max(np.abs(own['mean']), initial=0.0):.1g}"
    returns = f"{np.max(np.abs(own['returns'][gathered.ended]), initial=0.0):.1g}"
    return f"Mean observations were up to {observations}, returns of finished episodes up to {returns}. "


def check_columns(columns: Any, wanted: tuple[str, ...]) -> None:
    """Raise AlgorithmFailed unless these are the columns that an algorithm adds to the log, a number or word each."""
    if not isinstance(columns, dict) or set(columns) != set(wanted):
        result = sorted(columns) if isinstance(columns, dict) else type(columns).__name__
        raise AlgorithmFailed(f"learn() must return a dict of its columns {wanted}, not {result}")
    for name, value in columns.items():
        if not isinstance(value, int | float | str | np.number | np.bool_):
            raise AlgorithmFailed(f"learn() returned {name} = {shown(value)}; a column holds one number or word")


def check_plan(plan: Any, shape: tuple[int, ...]) -> None:
    """Raise AlgorithmFailed unless this is a plan, its theta is finite and of this shape, its arrays can travel."""
    if not isinstance(plan, Plan):
        raise AlgorithmFailed(f"plan() returned {type(plan).__name__}; it must return a Plan(theta)")
    for name, array in {"theta": plan.theta, **plan.arrays}.items():
        if not isinstance(name, str) or type(array) is not np.ndarray or array.dtype.kind not in "biufc":
            raise AlgorithmFailed(f"plan() gave {name} = {shown(array)}; it must be an array of numbers")
    if plan.theta.shape != shape or not np.all(np.isfinite(plan.theta)):
        raise AlgorithmFailed(f"plan() gave a theta of shape {plan.theta.shape}; it must be finite, of shape {shape}")
    if plan.steps is not None and not (isinstance(plan.steps, int | np.integer) and 1 <= plan.steps <= MAX_STEPS):
        raise AlgorithmFailed(f"plan() gave steps = {shown(plan.steps)}; it must be an integer from 1 to {MAX_STEPS:,}")
    if plan.episodes is not None and not (isinstance(plan.episodes, int) and 1 <= plan.episodes <= MAX_STEPS):
        raise AlgorithmFailed(f"plan() gave episodes = {shown(plan.episodes)}; it must be a positive integer")


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
