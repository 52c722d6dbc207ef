"""The root's part of a run: what to request next, what was learned from it, and everything a checkpoint holds."""

from dataclasses import replace
from typing import Any

import numpy as np

from minitrpo.algorithms.algorithm import Algorithm, Arrays, Plan
from minitrpo.contract import OWN, check_plan, columns_of, numbers
from minitrpo.errors import TOO_LARGE, AlgorithmFailed, infinite_theta
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.randomness import Purpose, generator
from minitrpo.parallel.episode_pool import requests_for
from minitrpo.policies import Array
from minitrpo.supervision import status
from minitrpo.training.context import UNKNOWN_LENGTH, RunContext, fresh_filter, state_in
from minitrpo.training.gather import Gathered, Request
from minitrpo.training.run_log import Row


class Learner:
    """The algorithm on the root, the observation filter, and the counters of the run."""

    def __init__(self, context: RunContext, algorithm: Algorithm) -> None:
        """Begin, or go on from the run's checkpoint."""
        self.settings, self.algorithm = context.settings, algorithm
        self.filter = fresh_filter(self.settings, context.spec)
        self.mean_length = float(context.spec.max_episode_steps or UNKNOWN_LENGTH)
        self.iteration, self.env_steps, self._rows_until = 0, 0, 0
        self._episodes = 0  # that the last plan asked for; 0: it asked for steps
        self.evaluated: float | None = None  # the mean return of an evaluation, for the next row
        self._steps_wanted = self.settings.steps_per_update
        self._row = Row()
        theta = np.asarray(algorithm.state()["theta"])
        self._theta_shape, self._theta_dtype = theta.shape, theta.dtype
        if arrays := context.checkpoint:
            with status.at("restore"):
                algorithm.restore(state_in(arrays))
            self.filter = ObservationFilter.from_vector(arrays[OWN + "filter"])
            self.iteration, self.env_steps = (int(n) for n in arrays[OWN + "counters"])
            self.mean_length, self._rows_until = float(arrays[OWN + "mean_length"][0]), self.env_steps
            self._episodes = int(arrays[OWN + "episodes"][0])

    @property
    def finished(self) -> bool:
        """Return whether the run has taken all its steps, or all but fewer than its next episodes are expected to take.

        That matters where the algorithm says how many episodes it needs; a first update is always made.
        """
        to_come = self._episodes * self.mean_length if self.iteration else 0.0
        return self.env_steps >= self.settings.total_steps or self.env_steps + to_come > self.settings.total_steps

    def plan(self) -> tuple[Plan, Request]:
        """Return what the algorithm wants next, and what is requested for it."""
        with status.at("plan"):
            plan = check_plan(self.algorithm.plan(), self._theta_shape)
        self._steps_wanted, self._episodes = plan.steps or self.settings.steps_per_update, int(plan.episodes or 0)
        plan = replace(plan, theta=copied(plan.theta), arrays={name: copied(a) for name, a in plan.arrays.items()})
        if self.settings.segments:
            amount, known = -(-self._steps_wanted // self.settings.num_envs), True
        else:
            amount = plan.episodes or requests_for(self._steps_wanted, self.mean_length)
            known = self.iteration > 0 or plan.episodes is not None  # else the length of an episode is not known
        return plan, Request(self.iteration + 1, amount, plan.theta, self.filter, 0 if known else self._steps_wanted)

    def is_last(self, request: Request) -> bool:
        """Return whether the run ends with this request; False if its number of steps is not known."""
        steps = request.amount * self.settings.num_envs
        return self.settings.segments and self.env_steps + steps >= self.settings.total_steps

    @property
    def row_due(self) -> bool:
        """Return whether the last update ends a row of the log."""
        return self.finished or self.iteration % self.settings.record_every == 0

    def evaluation(self) -> Request | None:
        """Return what is to be evaluated after this update; None if nothing is.

        In the last update of a row, if since the row before a multiple of --eval-every steps was passed.
        """
        every = self.settings.eval_every
        if not every or not self.row_due or self.env_steps // every == self._rows_until // every:
            return None
        with status.at("state"):
            theta = np.array(self.algorithm.state()["theta"])
        return Request(self.iteration, self.settings.eval_episodes, theta, self.filter)

    def learn(self, gathered: Gathered) -> None:
        """Have the algorithm learn, and take what was seen into filter, counters and row."""
        self.iteration += 1
        self.env_steps += gathered.steps
        try:
            with status.at("learn"):
                columns = self.algorithm.learn(gathered.batch, update_rng(self.settings.seed, self.iteration))
        except np.linalg.LinAlgError as error:
            said = " ".join(str(error).split())
            raise AlgorithmFailed(
                f"learn() failed in update {self.iteration} ({said}). {sizes(gathered)}{TOO_LARGE}"
            ) from error
        columns_of("learn", columns, self.algorithm.columns, words=True)
        self._check_theta(gathered)
        own, ended = gathered.fragments, gathered.ended
        if self.settings.filter == "running":
            self.filter = self.filter.merged_parts(own["lengths"], own["mean"], own["squares"])  # in episode order
        lengths = (own["starts"] + own["lengths"])[ended]
        if ended.any():
            self.mean_length = float(np.mean(lengths))
        self._row.add(own["returns"][ended], lengths, columns)

    def row(self) -> dict[str, Any]:
        """Return the row that ends with the last update; see `row_due`."""
        counters: dict[str, Any] = {
            "iteration": self.iteration,
            "env_steps": self.env_steps,
            "steps_per_update": self._steps_wanted,
        }
        self._rows_until = self.env_steps
        if self.settings.eval_every:
            counters |= {"eval_return": "" if self.evaluated is None else self.evaluated}
            self.evaluated = None
        return counters | self._row.take()

    def state(self) -> Arrays:
        """Return everything a checkpoint needs, as arrays."""
        own = {
            "filter": self.filter.to_vector(),
            "counters": np.array([self.iteration, self.env_steps]),
            "mean_length": np.array([self.mean_length]),
            "episodes": np.array([self._episodes]),
        }
        with status.at("state"):
            state = numbers("state", self.algorithm.state(), within=True)
        return {**state, **{OWN + name: array for name, array in own.items()}}

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


def copied(array: Array) -> Array:
    """Return a read-only copy, on every rank alike: without it, the root's array could be the algorithm's own."""
    copy = np.array(array, order="C")
    copy.flags.writeable = False
    return copy


def update_rng(seed: int, iteration: int) -> np.random.Generator:
    """Return the random numbers of one update, the same on every rank."""
    return generator(seed, iteration, 0, Purpose.UPDATE)
