"""A worker of an asynchronous run: pulled parameters become a gradient and a report.

Reports go into shared arrays that have a row for each worker, so that no report is lost over any transport.
"""

import time
from enum import IntEnum
from typing import Any

import numpy as np

from minitrpo.algorithms.algorithm import Arrays
from minitrpo.algorithms.asynchronous_algorithm import Ask, AsynchronousAlgorithm, AsynchronousSettings, Moment
from minitrpo.contract import OWN, columns_of, numbers
from minitrpo.errors import AlgorithmFailed, infinite_theta, shorten
from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.experience.observation_filter import ObservationFilter, merged
from minitrpo.experience.randomness import Purpose, generator
from minitrpo.experience.rollouts import Fragments, Rollouts, concatenate, make_vector_env
from minitrpo.parallel.comm import Nested, nested
from minitrpo.parallel.parameter_server import Pulled, Tally
from minitrpo.parallel.timing import Timeline
from minitrpo.policies import Array
from minitrpo.supervision.watchdog import status
from minitrpo.training.context import RunContext, fresh_filter, make_algorithm
from minitrpo.training.settings import Choice, Settings

REPORT, SEEN, ITERATION, OVER = (OWN + name for name in ("report", "seen", "iteration", "over"))
PULLED = (REPORT, SEEN, ITERATION)


class Of(IntEnum):
    """What a worker's report counts; sum and number for each column follow."""

    STEPS, EPISODES, RETURNS, LENGTHS, COLUMNS = range(5)


def run_arrays(choice: Choice, spec: EnvironmentSpec, workers: int) -> Arrays:
    """Return the shared arrays that every asynchronous run has in addition to its algorithm's own.

    report: (W, 4 + 2C), sums over all gradients of a worker. seen: (W, 2 + 2D), its observations' moments, as a filter.
    """
    nothing = fresh_filter(choice.common, spec).to_vector()
    return {
        REPORT: np.zeros((workers, Of.COLUMNS + 2 * len(choice.algorithm.columns))),
        SEEN: np.tile(nothing, (workers, 1)),
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
        choice = context.choice
        self.settings: Settings = choice.common
        self.own: AsynchronousSettings = choice.own
        self.number, self.columns, self._timeline = number, choice.algorithm.columns, timeline
        self.algorithm: AsynchronousAlgorithm
        self.algorithm, given = make_algorithm(choice, context.spec, None, timeline, number, workers)
        self.notes = given.notes
        self.collects = number < workers - choice.algorithm.learners(self.own, workers)
        self.ask: Ask = dict  # set where there is somebody to ask
        self.patience = 0.0  # seconds to sleep after a gradient that there was none
        num_envs = self.own.envs_per_worker
        envs = make_vector_env(context.spec, num_envs, self.settings.physics)
        self.rollouts = Rollouts(context.spec, given.policy, envs, self.settings.seed)
        self.all_envs = workers * num_envs
        self.begin_at(0, 0)

    def begin_at(self, episode: int, gradients: int) -> None:
        """Begin with episodes from this number on, and with the random numbers of this gradient."""
        first = episode + self.number * self.own.envs_per_worker
        self._slots, self.gradients = range(first, first + self.own.envs_per_worker), gradients

    def work(self, pulled: Pulled) -> Arrays:
        """Return a gradient of what was pulled, and the report that goes with it; from who learns, of no steps."""
        shared = pulled.arrays
        now, frozen = Moment(pulled.version, env_steps(shared)), merged(shared.pop(SEEN))
        iteration = int(shared.pop(ITERATION)[0])
        del shared[REPORT]
        steps, seen = np.zeros(Of.COLUMNS), ObservationFilter.identity(len(frozen.mean))
        if self.collects:
            episodes = self._collect(self.algorithm.acting(shared, now), frozen, iteration)
            steps = counts(episodes)
            if self.settings.filter == "running":
                seen = seen.merged(episodes.observations)
        rng = generator(self.settings.seed, self.gradients, self.number, Purpose.UPDATE)
        self.gradients += 1
        with self._timeline.span("update"), status.at("gradient"):
            if self.collects:
                answer = self.algorithm.gradient(shared, episodes.filtered(frozen), now, rng)
            else:
                answer = self.algorithm.learner_gradient(shared, self.ask, now, rng)
        if not (isinstance(answer, tuple) and len(answer) == 2):
            raise AlgorithmFailed(f"gradient() must return (arrays, columns), two dicts, not {shorten(answer)}")
        gradient, columns = numbers("gradient", answer[0]), columns_of("gradient", answer[1], self.columns)
        if not gradient and not self.collects:
            time.sleep(self.patience)
        # (value, 1) for each column that has one, (0, 0) for NaN, one after the other
        known = [(columns[n], 1.0) if np.isfinite(columns[n]) else (0.0, 0.0) for n in self.columns]
        report = np.concatenate([steps, np.array(known, np.float64).ravel()])
        return gradient | {REPORT: report, SEEN: seen.to_vector()}

    def _collect(self, theta: Any, frozen: ObservationFilter, iteration: int) -> Fragments:
        if not isinstance(theta, np.ndarray) or theta.ndim != 1 or theta.dtype.kind != "f":
            raise AlgorithmFailed(f"acting() returned {shorten(theta)}; it must return the parameters that act, (P,)")
        if not np.isfinite(theta).all():
            raise infinite_theta(f"in update {iteration}")
        with self._timeline.span("collect"):
            played = self.rollouts.advance(theta, frozen, iteration, self._slots, self.all_envs, self.own.t_max)
            return concatenate(played)

    def state(self) -> Nested:
        """Return its unfinished episodes, slot by slot, and what its algorithm keeps of its own."""
        own = {"own": nested(numbers("worker_state", self.algorithm.worker_state(), within=True))}
        return own | self.rollouts.unfinished() if self.gradients and self.collects else own

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
    """Add what `apply` says of a gradient to its worker's report, in place; AlgorithmFailed for what is no column."""
    for name, value in columns_of("apply", said, tuple(said)).items():
        if name not in columns:
            raise AlgorithmFailed(f"apply() reported {name!r}, which is none of the columns {columns}")
        if np.isfinite(value):
            row[Of.COLUMNS + 2 * columns.index(name) :][:2] += value, 1.0
