"""A worker of an asynchronous run: pulled parameters become a gradient and a report.

Reports go into shared arrays that have a row for each worker, so that no report is lost over any transport.
"""

import time
from enum import IntEnum

import numpy as np

from minitrpo.algorithms.algorithm import Arrays
from minitrpo.algorithms.asynchronous_algorithm import Ask, AsynchronousAlgorithm, AsynchronousSettings, Moment
from minitrpo.algorithms.user_classes import RUN_PREFIX
from minitrpo.errors import infinite_theta
from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.experience.observation_filter import ObservationFilter, merged
from minitrpo.experience.randomness import Purpose, generator
from minitrpo.experience.rollouts import Fragments, Rollouts, concatenate, make_vector_env
from minitrpo.parallel.comm import Nested
from minitrpo.parallel.parameter_server import Pulled, Tally
from minitrpo.parallel.timing import Timeline
from minitrpo.policies import Array
from minitrpo.supervision.watchdog import status
from minitrpo.training.run_context import RunContext, fresh_filter, make_algorithm
from minitrpo.training.settings import Choice, Settings

REPORT, SEEN, ITERATION, OVER = (RUN_PREFIX + name for name in ("report", "seen", "iteration", "over"))
PULLED = (REPORT, SEEN, ITERATION)


class Of(IntEnum):
    """Where what stands in a worker's report, (4 + 2C,) floats, sums over its gradients.

    First its steps, and of the episodes that ended their number, returns and lengths; then for each of the C columns of
    the algorithm the sum of its values and the number of gradients that had one.
    """

    STEPS, EPISODES, RETURNS, LENGTHS, COLUMNS = range(5)


def run_arrays(choice: Choice, spec: EnvironmentSpec, workers: int) -> Arrays:
    """Return the shared arrays that every asynchronous run has in addition to those of its algorithm.

    Args:
        choice: the settings.
        spec: the environment.
        workers: how many workers the run has, W.

    Returns:
        Arrays by name: the workers' reports (W, 4 + 2C); the moments of the observations of each, (W, 2 + 2D), as a
        filter has them; the number of the next row; whether the run is over; and the counts of `Tally`.

    """
    no_observations = fresh_filter(choice.common, spec).to_vector()
    return {
        REPORT: np.zeros((workers, Of.COLUMNS + 2 * len(choice.algorithm.columns))),
        SEEN: np.tile(no_observations, (workers, 1)),
        ITERATION: np.ones(1, np.int64),
        OVER: np.zeros(1, np.int64),
        **Tally.arrays(workers),
    }


def account(worker: int, shared: Arrays, message: Arrays) -> None:
    """Take a worker's report out of what it pushed and add it to its row."""
    shared[REPORT][worker] += message.pop(REPORT)
    shared[SEEN][worker] = merged(np.array([shared[SEEN][worker], message.pop(SEEN)])).to_vector()


def env_steps(shared: Arrays) -> int:
    """Return the environment steps of all workers whose gradients have come."""
    return int(shared[REPORT][:, Of.STEPS].sum())


class Worker:
    """One worker: its environments, its algorithm with whatever that keeps, and its random numbers."""

    def __init__(self, context: RunContext, number: int, workers: int, timeline: Timeline) -> None:
        """Make the worker with this number, one of so many."""
        choice = context.choice
        self.settings: Settings = choice.common
        options: AsynchronousSettings = choice.algorithm_settings
        self.number, self.columns, self._timeline = number, choice.algorithm.columns, timeline
        # 1. the algorithm
        self.algorithm: AsynchronousAlgorithm
        self.algorithm, algorithm_context = make_algorithm(choice, context.spec, None, timeline, number, workers)
        self.notes = algorithm_context.notes
        self.collects = number < workers - choice.algorithm.learners(options, workers)  # else it only learns
        self.ask: Ask = dict  # how a learner asks the others; the transport sets it
        self.patience = 0.0  # seconds that a learner sleeps when it had nothing to learn from
        # 2. the environments
        self.num_envs, self.all_envs, self.t_max = (
            options.envs_per_worker,
            workers * options.envs_per_worker,
            options.t_max,
        )
        envs = make_vector_env(context.spec, self.num_envs, self.settings.physics)
        self.rollouts = Rollouts(context.spec, algorithm_context.policy, envs, self.settings.seed)
        self.begin_at(0, 0)

    def begin_at(self, episode: int, gradients: int) -> None:
        """Begin with episodes from this number on, and with the random numbers of this gradient."""
        first = episode + self.number * self.num_envs
        self._slots, self.gradients = range(first, first + self.num_envs), gradients

    def work(self, pulled: Pulled) -> Arrays:
        """Collect with what was pulled, and take the gradient.

        Args:
            pulled: the shared arrays; the run's are taken out of them.

        Returns:
            What travels: the arrays of the algorithm's `gradient`, and this gradient's share of the worker's report and
            of its observations' moments. A worker that only learns reports no steps.

        """
        # 1. what was pulled
        shared = pulled.arrays
        now, frozen = Moment(pulled.version, env_steps(shared)), merged(shared.pop(SEEN))
        iteration = int(shared.pop(ITERATION)[0])
        del shared[REPORT]
        # 2. collect
        steps, seen = np.zeros(Of.COLUMNS), ObservationFilter.identity(len(frozen.mean))
        if self.collects:
            episodes = self._collect(self.algorithm.acting(shared, now), frozen, iteration)
            steps = counts(episodes)
            if self.settings.filter == "running":
                seen = seen.merged(episodes.observations)
        # 3. the gradient
        rng = generator(self.settings.seed, self.gradients, self.number, Purpose.UPDATE)
        self.gradients += 1
        with self._timeline.span("update"), status.at("gradient"):
            if self.collects:
                gradient, columns = self.algorithm.gradient(shared, episodes.filtered(frozen), now, rng)
            else:
                gradient, columns = self.algorithm.learner_gradient(shared, self.ask, now, rng)
        if not gradient and not self.collects:
            time.sleep(self.patience)
        # 4. the report: (value, 1) for each column that has one, (0, 0) for NaN
        known = [(columns[n], 1.0) if np.isfinite(columns[n]) else (0.0, 0.0) for n in self.columns]
        report = np.concatenate([steps, np.array(known, np.float64).ravel()])
        return gradient | {REPORT: report, SEEN: seen.to_vector()}

    def _collect(self, theta: Array, frozen: ObservationFilter, iteration: int) -> Fragments:
        if not np.isfinite(theta).all():
            raise infinite_theta(f"in update {iteration}")
        with self._timeline.span("collect"):
            played = self.rollouts.advance(theta, frozen, iteration, self._slots, self.all_envs, self.t_max)
            return concatenate(played)

    def state(self) -> Nested:
        """Return the arrays that its algorithm keeps, and its unfinished episodes slot by slot if it has begun any."""
        state: Nested = {"own": self.algorithm.worker_state()}
        if self.gradients and self.collects:
            state |= self.rollouts.unfinished()
        return state

    def restore(self, arrays: Nested, iteration: int) -> None:
        """Take over what `state` returned, for this iteration."""
        self.algorithm.restore_worker(arrays["own"])
        if "numbers" in arrays:
            self.rollouts.restore(arrays, range(len(arrays["numbers"])), iteration)


def counts(episodes: Fragments) -> Array:
    """Return what a report begins with, (4,): steps, and of the episodes that ended their number, returns, lengths."""
    ended = episodes.ended
    lengths = (episodes.starts + episodes.lengths)[ended]
    return np.array([episodes.steps, ended.sum(), episodes.returns[ended].sum(), lengths.sum()], np.float64)


def report_applied(row: Array, said: dict[str, float], columns: tuple[str, ...]) -> None:
    """Add what `apply` says of a gradient to its worker's report, in place."""
    for name, value in said.items():
        if np.isfinite(value):
            row[Of.COLUMNS + 2 * columns.index(name) :][:2] += value, 1.0
