"""What rank 0 alone knows of a run: how far it is, what it writes to the log, and what it keeps in a checkpoint.

`Bookkeeping` is what both loops need. `Root` adds the algorithm, for the loop with a barrier; `monitor.Monitor` adds
the shared arrays, for the loop without one.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from minitrpo.algorithms.algorithm import Algorithm, Arrays, Plan
from minitrpo.algorithms.user_classes import RUN_PREFIX, check_theta
from minitrpo.errors import TOO_LARGE, AlgorithmFailed
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.randomness import Purpose, generator
from minitrpo.parallel.comm import flat
from minitrpo.parallel.episode_pool import requests_for
from minitrpo.policies import Array
from minitrpo.run_folder.metrics_csv import Record
from minitrpo.supervision.watchdog import status
from minitrpo.training.collect import Gathered, Request
from minitrpo.training.run_context import UNKNOWN_LENGTH, RunContext, counted, fresh_filter, state_in


class Bookkeeping:
    """How far a run is, when it is evaluated, what a row of its log is made of, and what a checkpoint keeps of that."""

    def __init__(self, context: RunContext) -> None:
        """Begin, or continue from the run's checkpoint."""
        self.settings = context.settings
        self.iteration, self.env_steps = counted(context.checkpoint)
        self.mean_length = float(context.spec.max_episode_steps or UNKNOWN_LENGTH)  # of an episode
        if context.checkpoint:
            self.mean_length = float(context.checkpoint[RUN_PREFIX + "mean_length"][0])
        self.evaluated: float | None = None  # the mean return of an evaluation, for the next row
        self.row_began = self.env_steps  # at the end of the last row

    @property
    def finished(self) -> bool:
        """Return whether the run has taken all its steps."""
        return self.env_steps >= self.settings.total_steps

    @property
    def evaluation_due(self) -> bool:
        """Return whether a multiple of --eval-every steps was passed since the last row."""
        every = self.settings.eval_every
        return every > 0 and self.env_steps // every > self.row_began // every

    def end_row(self, **counted: Any) -> Record:
        """End a row of the log.

        Args:
            counted: the fields of `Record` that the loop has counted since the row before.

        Returns:
            What the row is made of, without the times.

        """
        record = Record(iteration=self.iteration, env_steps=self.env_steps, evaluation=self.evaluated, **counted)
        self.evaluated, self.row_began = None, self.env_steps
        return record

    def kept(self, observation_filter: ObservationFilter) -> Arrays:
        """Return what every checkpoint has, whichever loop wrote it: the filter, the counters, an episode's length."""
        return {
            RUN_PREFIX + "filter": observation_filter.to_vector(),
            RUN_PREFIX + "counters": np.array([self.iteration, self.env_steps]),
            RUN_PREFIX + "mean_length": np.array([self.mean_length]),
        }


class Root(Bookkeeping):
    """The root of the loop with a barrier: it plans what to collect, learns from it, and counts."""

    def __init__(self, context: RunContext, algorithm: Algorithm) -> None:
        """Begin, or continue from the run's checkpoint."""
        super().__init__(context)
        self.algorithm = algorithm
        self.filter = fresh_filter(self.settings, context.spec)
        self._episodes = 0  # that the last plan asked for; 0: it asked for steps
        self._steps_wanted = self.settings.steps_per_update
        self._updates: list[dict[str, Any]] = []  # the algorithm's columns, of the updates of the next row
        self._returns: list[Array] = []  # of the episodes that ended in each of these updates
        self._lengths: list[Array] = []
        self._first_theta = np.asarray(algorithm.state()["theta"])
        if arrays := context.checkpoint:
            with status.at("restore"):
                algorithm.restore(state_in(arrays))
            self.filter = ObservationFilter.from_vector(arrays[RUN_PREFIX + "filter"])
            self._episodes = int(arrays[RUN_PREFIX + "episodes"][0])

    @property
    def finished(self) -> bool:
        """Return whether the run has taken all its steps, or all but fewer than its next episodes are expected to take.

        That matters where the algorithm says how many episodes it needs; a first update is always made.
        """
        to_come = self._episodes * self.mean_length if self.iteration else 0.0
        return super().finished or self.env_steps + to_come > self.settings.total_steps

    def plan(self) -> tuple[Plan, Request]:
        """Return what the algorithm wants next, and what is requested for it."""
        with status.at("plan"):
            plan = self.algorithm.plan()
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

    def learn(self, gathered: Gathered) -> None:
        """Have the algorithm learn, and take what was collected into the filter, the counters and the row."""
        # 1. the update
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
        theta, when = self.algorithm.state()["theta"], f"after learn() in update {self.iteration}"
        check_theta(theta, self._first_theta, when, sizes(gathered))
        # 2. the filter, in the order of the episodes
        fragments, ended = gathered.fragments, gathered.ended
        if self.settings.filter == "running":
            self.filter = self.filter.merged_parts(fragments["lengths"], fragments["mean"], fragments["squares"])
        # 3. the episodes that ended
        lengths = (fragments["starts"] + fragments["lengths"])[ended]
        if ended.any():
            self.mean_length = float(np.mean(lengths))
        self._updates.append(columns)
        self._returns.append(fragments["returns"][ended])
        self._lengths.append(lengths)

    @property
    def row_due(self) -> bool:
        """Return whether the last update ends a row of the log."""
        return self.finished or self.iteration % self.settings.record_every == 0

    def evaluation(self) -> Request | None:
        """Return what is to be evaluated after this update, which ends a row; None if nothing is."""
        if not self.row_due or not self.evaluation_due:
            return None
        with status.at("state"):
            theta = np.array(self.algorithm.state()["theta"])
        return Request(self.iteration, self.settings.eval_episodes, theta, self.filter)

    def row(self) -> Record:
        """Return what the row that ends with the last update is made of.

        The episodes of its updates are counted together, and the algorithm's columns are averaged.
        """
        returns, lengths = np.concatenate(self._returns), np.concatenate(self._lengths)
        columns = {name: average([update[name] for update in self._updates]) for name in self._updates[0]}
        self._updates, self._returns, self._lengths = [], [], []
        return self.end_row(
            steps_per_update=self._steps_wanted,
            episodes=len(returns),
            returns=float(np.sum(returns)),
            lengths=float(np.sum(lengths)),
            columns=columns,
        )

    def state(self) -> Arrays:
        """Return everything a checkpoint needs, as arrays."""
        with status.at("state"):
            state = flat(self.algorithm.state())
        return {**state, **self.kept(self.filter), RUN_PREFIX + "episodes": np.array([self._episodes])}


def average(values: list[Any]) -> Any:
    """Return the mean of numbers, without those that are not known; of words, and of a single value, the last."""
    if len(values) == 1 or isinstance(values[-1], str):
        return values[-1]
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def sizes(gathered: Gathered) -> str:
    """Return how large the numbers of an update are, for a message about those that became infinite in it."""
    fragments = gathered.fragments
    observations = f"{np.max(np.abs(fragments['mean']), initial=0.0):.1g}"
    returns = f"{np.max(np.abs(fragments['returns'][gathered.ended]), initial=0.0):.1g}"
    return f"Mean observations were up to {observations}, returns of finished episodes up to {returns}. "


def copied(array: Array) -> Array:
    """Return a read-only copy, on every rank alike: without it, the root's array could be the algorithm's own."""
    copy = np.array(array, order="C")
    copy.flags.writeable = False
    return copy


def update_rng(seed: int, iteration: int) -> np.random.Generator:
    """Return the random numbers of one update, the same on every rank."""
    return generator(seed, iteration, 0, Purpose.UPDATE)
