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
from minitrpo.experience.lockstep import LaneNoise, Record
from minitrpo.experience.randomness import Purpose, generator, reset_seed
from minitrpo.policies import Actor, Array, Policy

ROWS = 16  # BLAS kernels work on blocks of 4, 8 or 16 rows


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
        self._noise = LaneNoise(policy, height)
        self._past_actions: dict[int, list[Array]] = {}  # of earlier pieces of the episode in a lane
        self._record = self._new_record()

    def play(
        self, theta: Array, frozen: ObservationFilter, iteration: int, draw: Callable[[], int | None], at_once: int
    ) -> Episodes:
        """Return whole episodes: draw numbers from a pool, `at_once` (at most `width`) at a time, until it is empty."""
        pieces: list[Episodes] = []
        act = self.policy.actor(theta)
        self._record = self._new_record()
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
            for lane, following, terminated in self._tick(act, frozen):
                pieces.append(self._piece(lane, following, terminated, not terminated))
                self._leave(lane)

    def advance(
        self, theta: Array, frozen: ObservationFilter, lane_numbers: range, total_lanes: int, steps: int
    ) -> Episodes:
        """Return segments: `steps` steps of every numbered lane, over as many episodes as they take.

        The k-th episode of lane l has the key (0, l + k * total_lanes); an episode goes on where it was cut.
        """
        pieces: list[Episodes] = []
        act = self.policy.actor(theta)
        self._record = self._new_record()
        self.board.busy[0] = 1
        for lane, number in enumerate(lane_numbers):
            if lane not in self.lanes:
                self._begin(lane, 0, number)
        for _ in range(steps):
            for lane, following, terminated in self._tick(act, frozen):
                pieces.append(self._piece(lane, following, terminated, not terminated))
                self._begin(lane, 0, int(self.board.numbers[lane]) + total_lanes)
        self.board.busy[0] = 0
        for lane in self.lanes.tolist():
            if self._first_tick[lane] < self._record.ticks:
                pieces.append(self._piece(lane, self._observations[lane].copy(), False, False))
        return self._all(pieces)

    def snapshots(self) -> list[LaneSnapshot]:
        """Return the unfinished episodes of all lanes between two segments, in lane order."""
        none = self._nothing().actions
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
            steps = len(snapshot.actions)
            self._begin(lane, 0, snapshot.number, steps)
            one = np.array([lane])
            for action in snapshot.actions:
                with self._named_failures():
                    following, rewards, _, _ = self.simulators.step(one, action if self.spec.discrete else action[None])
                self._observations[lane], self._returns[lane] = following[0], self._returns[lane] + rewards[0]
                self.board.beats[0] += 1
            if not np.array_equal(self._observations[lane], snapshot.observation):
                raise self._failure(lane, "the same actions led to another state: it cannot be resumed exactly")
            self._start[lane] = steps
            self._past_actions[lane] = [snapshot.actions]
        self.board.busy[0] = 0

    def _tick(self, act: Actor, frozen: ObservationFilter) -> list[tuple[int, Array, bool]]:
        """Step the lanes in use once; return (lane, observation behind the step, terminated) of those that ended."""
        lanes = self.lanes
        rows = slice(self.width) if len(lanes) == self.width else lanes  # numpy is quicker with a slice
        actions = act(frozen(self._observations), self._noise.next(lanes), int(lanes[-1]) + 1)
        with self._named_failures():
            following, rewards, terminated, truncated = self.simulators.step(lanes, actions[rows])
        self._returns[rows] += rewards
        self._record.append(self._observations, actions, rows, rewards)
        self._observations[rows] = following
        self.board.beats[0] += 1
        ended = terminated | truncated
        if not ended.any():
            return []
        return [(int(lanes[i]), following[i].copy(), bool(terminated[i])) for i in np.flatnonzero(ended).tolist()]

    def _begin(self, lane: int, iteration: int, number: int, steps_taken: int = 0) -> None:
        """Start an episode in a lane: its key decides the first state and every action's noise."""
        self.board.iterations[lane], self.board.numbers[lane] = iteration, number
        self.lanes = np.flatnonzero(self.board.numbers != IDLE)
        self._noise.begin(lane, generator(self.run_seed, iteration, number, Purpose.ACTIONS), steps_taken)
        self._first_tick[lane], self._start[lane], self._returns[lane] = self._record.ticks, 0, 0.0
        self._past_actions[lane] = []
        with self._named_failures():
            self._observations[lane] = self.simulators.reset(lane, reset_seed(self.run_seed, iteration, number))

    def _leave(self, lane: int) -> None:
        self.board.numbers[lane] = IDLE
        self.lanes = np.flatnonzero(self.board.numbers != IDLE)

    def _free_lane(self) -> int:
        return int(np.flatnonzero(self.board.numbers == IDLE)[0])

    def _new_record(self) -> Record:
        self._first_tick[:] = 0
        rows = len(self._observations)
        actions = np.zeros(rows, np.int64) if self.spec.discrete else np.zeros((rows, self.spec.action_size))
        return Record(self._observations, actions)

    def _piece(self, lane: int, following: Array, terminated: bool, truncated: bool) -> Episodes:
        """Return what was recorded of the episode in a lane since its piece began."""
        observations, actions, rewards = self._record.since(int(self._first_tick[lane]), lane)
        piece = Episodes(
            observations=observations,
            actions=actions,
            rewards=rewards,
            final_observations=following[None],
            numbers=self.board.numbers[lane : lane + 1].copy(),
            lengths=np.array([len(rewards)]),
            starts=self._start[lane : lane + 1].copy(),
            terminated=np.array([terminated]),
            truncated=np.array([truncated]),
            returns=self._returns[lane : lane + 1].copy(),
        )
        self._start[lane] += len(rewards)
        self._past_actions[lane].append(actions)
        return piece

    def _nothing(self) -> Episodes:
        """Return Episodes without a step."""
        columns = 1 if self.spec.discrete else self.spec.action_size
        return empty(self.spec.observation_size, columns, self.spec.discrete)

    def _all(self, pieces: list[Episodes]) -> Episodes:
        return concatenate([self._nothing(), *pieces])

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
