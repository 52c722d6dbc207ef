"""Rollouts: one rank plays several episodes in lockstep, so that one matrix product serves them all.

The product always has the same number of rows, a multiple of ROWS, whether a lane is in use or not, because BLAS
may round a row differently in a matrix of another height, or in the rows that are left over beside its blocks. An
episode's numbers therefore do not depend on the episodes played beside it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from minitrpo.errors import EpisodeFailed
from minitrpo.experience.board import IDLE, Board
from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.experience.episodes import Episodes, concatenate, empty
from minitrpo.experience.filters import ObservationFilter
from minitrpo.experience.lanes import LaneFailed, Simulators
from minitrpo.experience.randomness import Purpose, generator, reset_seed
from minitrpo.policies import Array, Policy

ROWS = 16  # BLAS kernels work on blocks of 4, 8 or 16 rows
NOISE = 64  # steps whose random numbers are drawn at once; the stream is the same for any value


@dataclass(frozen=True)
class LaneSnapshot:
    """An episode cut by a segment's end: its number, its last observation, and the actions that lead there."""

    number: int
    actions: Array  # (t, A): all actions so far
    observation: Array  # (D,)


class Rollouts:
    """The lanes of one rank. `play` runs whole episodes, `advance` runs every lane for a fixed number of steps."""

    def __init__(
        self,
        spec: EnvironmentSpec,
        policy: Policy,
        simulators: Simulators,
        run_seed: int,
        board: Board | None = None,
    ) -> None:
        width = simulators.width
        self.spec, self.policy, self.simulators, self.run_seed = spec, policy, simulators, run_seed
        self.width = width
        board = board or Board.on(np.zeros(Board.size(width), np.int64))
        self.board = Board(board.busy, board.beats, board.stepping, board.iterations[:width], board.numbers[:width])
        simulators.stepping = board.stepping
        self.lanes = np.zeros(0, np.intp)  # lanes in use, ascending
        height = -(-width // ROWS) * ROWS
        self._observations = np.zeros((height, spec.observation_size))
        self._first_tick = np.zeros(width, np.int64)  # tick of the first step of the lane's piece
        self._start = np.zeros(width, np.int64)  # steps of the episode before this piece
        self._returns = np.zeros(width)
        self._generators: dict[int, np.random.Generator] = {}
        self._noise = np.zeros((height, NOISE, policy.noise_size))
        self._noise_used = np.zeros(height, np.int64)
        self._past_actions: dict[int, list[Array]] = {}  # of earlier pieces of the episode in a lane
        self._record: list[tuple[Array, Array, Array]] = []  # per tick: observations, actions, rewards of all lanes

    def play(
        self, theta: Array, frozen: ObservationFilter, iteration: int, draw: Callable[[], int | None], at_once: int
    ) -> Episodes:
        """Return whole episodes: draw numbers from a pool, `at_once` (at most `width`) at a time, until it is empty."""
        pieces: list[Episodes] = []
        self._new_record()
        drained = False
        while True:
            while not drained and len(self.lanes) < min(at_once, self.width):
                number = draw()
                drained = number is None
                if number is not None:
                    self._begin(self._free_lane(), iteration, number)
            self.board.busy[0] = len(self.lanes) > 0
            if len(self.lanes) == 0:
                return self._all(pieces)
            for lane, following, terminated in self._tick(theta, frozen):
                pieces.append(self._piece(lane, following, terminated, not terminated))
                self._leave(lane)

    def advance(
        self, theta: Array, frozen: ObservationFilter, lane_numbers: range, total_lanes: int, steps: int
    ) -> Episodes:
        """Return segments: `steps` steps of every numbered lane, over as many episodes as they take.

        The k-th episode of lane l has the key (0, l + k * total_lanes); an episode goes on where it was cut.
        """
        pieces: list[Episodes] = []
        self._new_record()
        self.board.busy[0] = 1
        for lane, number in enumerate(lane_numbers):
            if lane not in self.lanes:
                self._begin(lane, 0, number)
        for _ in range(steps):
            for lane, following, terminated in self._tick(theta, frozen):
                pieces.append(self._piece(lane, following, terminated, not terminated))
                self._begin(lane, 0, int(self.board.numbers[lane]) + total_lanes)
        self.board.busy[0] = 0
        for lane in self.lanes.tolist():
            if self._first_tick[lane] < len(self._record):
                pieces.append(self._piece(lane, self._observations[lane].copy(), False, False))
        return self._all(pieces)

    def snapshots(self) -> list[LaneSnapshot]:
        """Return the unfinished episodes of all lanes between two segments, in lane order."""
        columns = 1 if self.spec.discrete else self.spec.action_size
        none = empty(self.spec.observation_size, columns, self.spec.discrete).actions
        return [
            LaneSnapshot(
                int(self.board.numbers[lane]),
                np.concatenate([none, *self._past_actions[lane]]),
                self._observations[lane].copy(),
            )
            for lane in self.lanes.tolist()
        ]

    def restore(self, snapshots: list[LaneSnapshot]) -> None:
        """Put unfinished episodes back into the lanes by playing their actions again from the reset."""
        self.board.busy[0] = 1
        for lane, snapshot in enumerate(snapshots):
            self._begin(lane, 0, snapshot.number)
            one = np.array([lane])
            for action in snapshot.actions:
                with self._named_failures():
                    following, rewards, _, _ = self.simulators.step(one, action if self.spec.discrete else action[None])
                self._observations[lane], self._returns[lane] = following[0], self._returns[lane] + rewards[0]
                self._next_noise(one)
                self.board.beats[0] += 1
            if not np.array_equal(self._observations[lane], snapshot.observation):
                raise self._failure(lane, "the same actions led to another state: it cannot be resumed exactly")
            self._start[lane] = len(snapshot.actions)
            self._past_actions[lane] = [snapshot.actions]
        self.board.busy[0] = 0

    def _tick(self, theta: Array, frozen: ObservationFilter) -> list[tuple[int, Array, bool]]:
        """Step the lanes in use once; return (lane, observation behind the step, terminated) of those that ended."""
        lanes = self.lanes
        noise = self._next_noise(lanes)
        actions = self.policy.sample(self.policy.distribution(theta, frozen(self._observations)), noise)
        with self._named_failures():
            following, rewards, terminated, truncated = self.simulators.step(lanes, actions[lanes])
        all_rewards = np.zeros(self.width)
        all_rewards[lanes] = rewards
        self._returns[lanes] += rewards
        self._record.append((self._observations.copy(), actions, all_rewards))
        self._observations[lanes] = following
        self.board.beats[0] += 1
        ended = np.flatnonzero(terminated | truncated).tolist()
        return [(int(lanes[i]), following[i].copy(), bool(terminated[i])) for i in ended]

    def _next_noise(self, lanes: Array) -> Array:
        """Return the next random numbers of these lanes, in an array of all rows of the product."""
        for lane in lanes[self._noise_used[lanes] == NOISE].tolist():
            self._noise[lane] = self.policy.draw_noise(self._generators[lane], NOISE)
            self._noise_used[lane] = 0
        noise = self._noise[np.arange(len(self._noise)), np.minimum(self._noise_used, NOISE - 1)]
        self._noise_used[lanes] += 1
        return np.asarray(noise)

    def _begin(self, lane: int, iteration: int, number: int) -> None:
        """Start an episode in a lane: its key decides the first state and every action's noise."""
        self.board.iterations[lane], self.board.numbers[lane] = iteration, number
        self.lanes = np.flatnonzero(self.board.numbers != IDLE)
        self._generators[lane] = generator(self.run_seed, iteration, number, Purpose.ACTIONS)
        self._noise_used[lane] = NOISE
        self._first_tick[lane], self._start[lane], self._returns[lane] = len(self._record), 0, 0.0
        self._past_actions[lane] = []
        with self._named_failures():
            self._observations[lane] = self.simulators.reset(lane, reset_seed(self.run_seed, iteration, number))

    def _leave(self, lane: int) -> None:
        self.board.numbers[lane] = IDLE
        self.lanes = np.flatnonzero(self.board.numbers != IDLE)

    def _free_lane(self) -> int:
        return int(np.flatnonzero(self.board.numbers == IDLE)[0])

    def _new_record(self) -> None:
        self._record = []
        self._first_tick[:] = 0

    def _piece(self, lane: int, following: Array, terminated: bool, truncated: bool) -> Episodes:
        """Return what was recorded of the episode in a lane since its piece began."""
        mine = self._record[self._first_tick[lane] :]
        actions = np.array([actions[lane] for _, actions, _ in mine]).reshape(len(mine), -1)
        piece = Episodes(
            observations=np.array([observations[lane] for observations, _, _ in mine]),
            actions=actions,
            rewards=np.array([rewards[lane] for _, _, rewards in mine]),
            final_observations=following[None],
            numbers=self.board.numbers[lane : lane + 1].copy(),
            lengths=np.array([len(mine)]),
            starts=self._start[lane : lane + 1].copy(),
            terminated=np.array([terminated]),
            truncated=np.array([truncated]),
            returns=self._returns[lane : lane + 1].copy(),
        )
        self._start[lane] += len(mine)
        self._past_actions[lane].append(actions)
        return piece

    def _all(self, pieces: list[Episodes]) -> Episodes:
        columns = 1 if self.spec.discrete else self.spec.action_size
        return concatenate([empty(self.spec.observation_size, columns, self.spec.discrete), *pieces])

    @contextmanager
    def _named_failures(self) -> Iterator[None]:
        """Turn the failure of a lane into one that names the episode in it."""
        try:
            yield
        except LaneFailed as error:
            raise self._failure(error.lane, str(error)) from error

    def _failure(self, lane: int, cause: str) -> EpisodeFailed:
        iteration, number = int(self.board.iterations[lane]), int(self.board.numbers[lane])
        return EpisodeFailed(self.spec.id, iteration, number, reset_seed(self.run_seed, iteration, number), cause)
