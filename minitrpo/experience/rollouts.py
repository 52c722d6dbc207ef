"""Rollouts: one rank plays several episodes in lockstep, so that one matrix product serves them all.

The product always has the same number of rows, a multiple of ROWS, whether a slot is in use or not, because BLAS
may round a row differently in a matrix of another height, or in the rows that are left over beside its blocks. An
episode's numbers therefore do not depend on the episodes played beside it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from minitrpo.errors import EpisodeFailed
from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.experience.episodes import Episodes, concatenate, empty
from minitrpo.experience.filters import ObservationFilter
from minitrpo.experience.lockstep import ActionNoise, StepBuffer, UnfinishedEpisode
from minitrpo.experience.randomness import Purpose, first_state_seed, generator
from minitrpo.experience.status import IDLE, RankStatus
from minitrpo.experience.vector_env import EnvironmentFailed, VectorEnv
from minitrpo.policies import ActFunction, Array, Policy

ROWS = 16  # BLAS kernels work on blocks of 4, 8 or 16 rows


class Rollouts:
    """The environment slots of one rank: `play` runs whole episodes, `advance` every slot for a number of steps."""

    def __init__(
        self,
        spec: EnvironmentSpec,
        policy: Policy,
        envs: VectorEnv,
        run_seed: int,
        status: RankStatus | None = None,
        first_states: int = 0,
    ) -> None:
        width = envs.width
        self.spec, self.policy, self.envs, self.run_seed = spec, policy, envs, run_seed
        self.width, self._first_states = width, first_states
        self.status = envs.status = (status or RankStatus.private(width)).of(width)
        self.slots = np.zeros(0, np.intp)  # slots in use, ascending
        height = -(-width // ROWS) * ROWS
        self._observations = np.zeros((height, spec.observation_size))
        self._first_tick = np.zeros(width, np.int64)  # tick of the first step of the slot's fragment
        self._start = np.zeros(width, np.int64)  # steps of the episode before this fragment
        self._returns = np.zeros(width)
        self._noise = ActionNoise(policy, height)
        self._past_actions: dict[int, list[Array]] = {}  # of earlier fragments of the episode in a slot
        self._buffer = self._new_buffer()

    def play(
        self, theta: Array, frozen: ObservationFilter, iteration: int, draw: Callable[[], int | None], concurrency: int
    ) -> Episodes:
        """Return whole episodes: draw numbers from a pool until it is empty, `concurrency` in play at a time.

        concurrency: at most `width`. Episode n has the key (iteration, n).
        """
        fragments: list[Episodes] = []
        act = self.policy.act_function(theta)
        self.status.iteration[0] = iteration
        self._buffer = self._new_buffer()
        drained = False
        self.status.busy[0] = 1
        while True:
            while not drained and len(self.slots) < min(concurrency, self.width):
                number = draw()
                drained = number is None
                if number is not None:
                    self._begin(self._free_slot(), iteration, number)
            if len(self.slots) == 0:
                self.status.busy[0] = 0
                return self._all(fragments)
            for slot, final_observation, terminated in self._tick(act, frozen):
                fragments.append(self._fragment(slot, final_observation, terminated, not terminated))
                self._leave(slot)

    def advance(
        self,
        theta: Array,
        frozen: ObservationFilter,
        iteration: int,
        slot_numbers: range,
        num_envs: int,
        steps: int,
    ) -> Episodes:
        """Return segments: `steps` steps of every numbered slot, over as many episodes as they take.

        The k-th episode of slot l has the key (0, l + k * num_envs); an episode goes on where it was cut.
        """
        fragments: list[Episodes] = []
        act = self.policy.act_function(theta)
        self.status.iteration[0] = iteration
        self._buffer = self._new_buffer()
        self.status.busy[0] = 1
        for slot, number in enumerate(slot_numbers):
            if slot not in self.slots:
                self._begin(slot, 0, number)
        for _ in range(steps):
            for slot, final_observation, terminated in self._tick(act, frozen):
                fragments.append(self._fragment(slot, final_observation, terminated, not terminated))
                self._begin(slot, 0, int(self.status.numbers[slot]) + num_envs)
        self.status.busy[0] = 0
        for slot in self.slots.tolist():
            if self._first_tick[slot] < self._buffer.ticks:
                fragments.append(self._fragment(slot, self._observations[slot].copy(), False, False))
        return self._all(fragments)

    def unfinished(self) -> list[UnfinishedEpisode]:
        """Return the unfinished episodes of all slots between two segments, in slot order."""
        none = self._nothing().actions
        return [
            UnfinishedEpisode(
                int(self.status.numbers[slot]),
                np.concatenate([none, *self._past_actions[slot]]),
                self._observations[slot].copy(),
            )
            for slot in self.slots.tolist()
        ]

    def restore(self, unfinished: list[UnfinishedEpisode], iteration: int) -> None:
        """Put unfinished episodes back into the slots by playing their actions again from the reset."""
        self.status.busy[0], self.status.iteration[0] = 1, iteration
        for slot, episode in enumerate(unfinished):
            steps = len(episode.actions)
            self._begin(slot, 0, episode.number, steps)
            one = np.array([slot])
            for i in range(steps):
                with self._named_failures():
                    observations, rewards, _, _ = self.envs.step(one, episode.actions[i : i + 1])
                self._observations[slot], self._returns[slot] = observations[0], self._returns[slot] + rewards[0]
            if not np.array_equal(self._observations[slot], episode.observation):
                raise self._failure(slot, "the same actions led to another state: it cannot be resumed exactly")
            self._start[slot] = steps
            self._past_actions[slot] = [episode.actions]
        self.status.busy[0] = 0

    def _tick(self, act: ActFunction, frozen: ObservationFilter) -> list[tuple[int, Array, bool]]:
        """Step the slots in use once; return (slot, final observation, terminated) of those that ended."""
        slots = self.slots
        rows = slice(self.width) if len(slots) == self.width else slots  # numpy is quicker with a slice
        actions = act(frozen(self._observations), self._noise.next(slots), int(slots[-1]) + 1)
        with self._named_failures():
            next_observations, rewards, terminated, truncated = self.envs.step(slots, actions[rows])
        self._returns[rows] += rewards
        self._buffer.append(self._observations, actions, rows, rewards)
        self._observations[rows] = next_observations
        ended = terminated | truncated
        if not ended.any():
            return []
        return [(int(slots[i]), next_observations[i].copy(), bool(terminated[i])) for i in np.flatnonzero(ended)]

    def _begin(self, slot: int, key: int, number: int, steps_taken: int = 0) -> None:
        """Start an episode in a slot: its key decides the first state and every action's noise."""
        self.status.keys[slot], self.status.numbers[slot] = key, number
        self.slots = np.flatnonzero(self.status.numbers != IDLE)
        self._noise.begin(slot, generator(self.run_seed, key, number, Purpose.ACTIONS), steps_taken)
        self._first_tick[slot], self._start[slot], self._returns[slot] = self._buffer.ticks, 0, 0.0
        self._past_actions[slot] = []
        with self._named_failures():
            self._observations[slot] = self.envs.reset(slot, self._reset_seed(key, number))

    def _leave(self, slot: int) -> None:
        self.status.numbers[slot] = IDLE
        self.slots = np.flatnonzero(self.status.numbers != IDLE)

    def _free_slot(self) -> int:
        return int(np.flatnonzero(self.status.numbers == IDLE)[0])

    def _new_buffer(self) -> StepBuffer:
        self._first_tick[:] = 0
        rows = len(self._observations)
        actions = np.zeros(rows, np.int64) if self.spec.discrete else np.zeros((rows, self.spec.action_size))
        return StepBuffer(self._observations, actions)

    def _fragment(self, slot: int, final_observation: Array, terminated: bool, truncated: bool) -> Episodes:
        """Return what was recorded of the episode in a slot since its fragment began."""
        observations, actions, rewards = self._buffer.since(int(self._first_tick[slot]), slot)
        fragment = Episodes(
            observations=observations,
            actions=actions,
            rewards=rewards,
            final_observations=final_observation[None],
            numbers=self.status.numbers[slot : slot + 1].copy(),
            lengths=np.array([len(rewards)]),
            starts=self._start[slot : slot + 1].copy(),
            terminated=np.array([terminated]),
            truncated=np.array([truncated]),
            returns=self._returns[slot : slot + 1].copy(),
        )
        self._start[slot] += len(rewards)
        self._past_actions[slot].append(actions)
        return fragment

    def _nothing(self) -> Episodes:
        """Return Episodes without a step."""
        return empty(self.spec.observation_size, self.spec.action_size, self.spec.discrete)

    def _all(self, fragments: list[Episodes]) -> Episodes:
        return concatenate([self._nothing(), *fragments])

    @contextmanager
    def _named_failures(self) -> Iterator[None]:
        """Turn the failure of a slot into one that names the episode in it."""
        try:
            yield
        except EnvironmentFailed as error:
            raise self._failure(error.slot, str(error)) from error

    def _failure(self, slot: int, cause: str) -> EpisodeFailed:
        key, number = int(self.status.keys[slot]), int(self.status.numbers[slot])
        iteration = int(self.status.iteration[0])
        return EpisodeFailed(self.spec.id, iteration, number, self._reset_seed(key, number), cause)

    def _reset_seed(self, key: int, number: int) -> int:
        return first_state_seed(self.run_seed, key, number, self._first_states)
