"""Rollouts: one rank plays several episodes in lockstep, so that one matrix product serves them all.

BLAS may round a row differently in a matrix of another height, or in the rows that are left over beside its blocks.
So a policy gets an array whose rows are a multiple of ROWS, whether a slot is in use or not, and products of a fixed
height, as the package's own policies have (`perceptron.FEW`), make an episode's numbers independent of those beside it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from minitrpo.errors import EpisodeFailed
from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.experience.fragments import Fragments
from minitrpo.experience.lockstep import ActionNoise, StepBuffer, UnfinishedEpisode
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.randomness import EpisodeKey, Purpose, evaluation_seed, first_state_seed
from minitrpo.experience.vector_env import EnvironmentFailed, VectorEnv
from minitrpo.policies import ActFunction, Array, Policy
from minitrpo.supervision import status
from minitrpo.supervision.status import IDLE

MOST_STEPS = 10_000  # of an evaluation's episode where there is no time limit: a good policy may balance for ever
ROWS = 16  # BLAS kernels work on blocks of 4, 8 or 16 rows


class Rollouts:
    """The environment slots of one rank: `play` runs whole episodes, `advance` every slot for a number of steps."""

    def __init__(
        self,
        spec: EnvironmentSpec,
        policy: Policy,
        envs: VectorEnv,
        run_seed: int,
        first_states: int = 0,
        renewed: int = 0,
        purpose: Purpose = Purpose.ACTIONS,
    ) -> None:
        num_envs = envs.num_envs
        self.spec, self.envs, self.run_seed = spec, envs, run_seed
        self.policy: Any = policy
        self.num_envs, self._first_states, self._purpose = num_envs, (first_states, renewed), purpose
        endless = purpose == Purpose.EVALUATION and spec.max_episode_steps is None
        self._most_steps = MOST_STEPS if endless else None
        self.seeds, self.numbers = np.zeros(num_envs, np.int64), np.full(num_envs, IDLE)  # of the episodes in the slots
        self._iteration = 0  # for which they are played; -n: an evaluation after update n
        self.slots = np.zeros(0, np.intp)  # slots in use, ascending
        height = -(-num_envs // ROWS) * ROWS
        self._observations = np.zeros((height, spec.observation_size))
        self._first_tick = np.zeros(num_envs, np.int64)  # tick of the first step of the slot's fragment
        self._start = np.zeros(num_envs, np.int64)  # steps of the episode before this fragment
        self._returns = np.zeros(num_envs)
        self._noise = ActionNoise(policy, height)
        self._state = np.zeros((height, policy.state_size))  # of the policy, in the episode of each slot
        self._first_state = self._state.copy()  # before the slot's fragment
        self._past_actions: dict[int, list[Array]] = {}  # of earlier fragments of the episode in a slot
        self._buffer = self._new_buffer()

    def play(
        self, theta: Array, frozen: ObservationFilter, iteration: int, draw: Callable[[], int | None], concurrency: int
    ) -> list[Fragments]:
        """Return whole episodes as they end: draw numbers from a pool until it is empty, `concurrency` at a time.

        concurrency: at most `num_envs`. Episode n has the key (iteration, n).
        """
        fragments: list[Fragments] = []
        act = self._act_function(theta)
        self._show(-iteration if self._purpose == Purpose.EVALUATION else iteration)
        self._buffer = self._new_buffer()
        drained = False
        while True:
            while not drained and len(self.slots) < min(concurrency, self.num_envs):
                number = draw()
                drained = number is None
                if number is not None:
                    self._begin(self._free_slot(), theta, iteration, number)
            if len(self.slots) == 0:
                status.pause()
                return fragments
            for slot, final_observation, terminated in self._tick(act, frozen):
                fragments.append(self._fragment(slot, final_observation, terminated, not terminated))
                self._occupy(slot, 0, IDLE)

    def advance(
        self, theta: Array, frozen: ObservationFilter, iteration: int, slot_numbers: range, total_envs: int, steps: int
    ) -> list[Fragments]:
        """Return `steps` steps of every numbered slot, over as many episodes as they take, a fragment of each.

        The k-th episode of slot l has the key (0, l + k * total_envs); an episode goes on where it was cut.
        """
        fragments: list[Fragments] = []
        act = self._act_function(theta)
        self._show(iteration)
        self._buffer = self._new_buffer()
        for slot, number in enumerate(slot_numbers):
            if slot not in self.slots:
                self._begin(slot, theta, 0, number)
        for _ in range(steps):
            for slot, final_observation, terminated in self._tick(act, frozen):
                fragments.append(self._fragment(slot, final_observation, terminated, not terminated))
                self._begin(slot, theta, 0, int(self.numbers[slot]) + total_envs)
        status.pause()
        for slot in self.slots.tolist():
            if self._first_tick[slot] < self._buffer.ticks:
                fragments.append(self._fragment(slot, self._observations[slot].copy(), False, False))
        return fragments

    def unfinished(self) -> list[UnfinishedEpisode]:
        """Return the unfinished episodes of all slots between two segments, in slot order."""
        none = self._no_actions(0)
        return [
            UnfinishedEpisode(
                int(self.numbers[slot]),
                np.concatenate([none, *self._past_actions[slot]]),
                self._observations[slot].copy(),
                self._state[slot].copy(),
            )
            for slot in self.slots.tolist()
        ]

    def restore(self, unfinished: list[UnfinishedEpisode], iteration: int) -> None:
        """Put unfinished episodes back into the slots by playing their actions again from the reset."""
        self._show(iteration)
        for slot, episode in enumerate(unfinished):
            steps = len(episode.actions)
            self._begin(slot, None, 0, episode.number, steps)
            one = np.array([slot])
            for i in range(steps):
                observations, rewards, _, _ = self._played(self.envs.step, one, episode.actions[i : i + 1])
                self._observations[slot], self._returns[slot] = observations[0], self._returns[slot] + rewards[0]
            if not np.array_equal(self._observations[slot], episode.observation):
                raise self._failure(slot, "the same actions led to another state: it cannot be resumed exactly")
            self._start[slot], self._state[slot] = steps, episode.state
            self._past_actions[slot] = [episode.actions]
        status.pause()

    def _tick(self, act: ActFunction, frozen: ObservationFilter) -> list[tuple[int, Array, bool]]:
        """Step the slots in use once; return (slot, final observation, terminated) of those that ended."""
        slots = self.slots
        rows = slice(self.num_envs) if len(slots) == self.num_envs else slots  # numpy is quicker with a slice
        actions = act(frozen(self._observations), self._noise.next(slots), int(slots[-1]) + 1)
        next_observations, rewards, terminated, truncated = self._played(self.envs.step, slots, actions[rows])
        self._returns[rows] += rewards
        self._buffer.append(self._observations, actions, rows, rewards)
        self._observations[rows] = next_observations
        if self._most_steps is not None:
            truncated = truncated | (self._buffer.ticks - self._first_tick[slots] >= self._most_steps)
        ended = terminated | truncated
        if not ended.any():
            return []
        return [(int(slots[i]), next_observations[i].copy(), bool(terminated[i])) for i in np.flatnonzero(ended)]

    def _act_function(self, theta: Array) -> Any:
        if self.policy.state_size == 0:
            return self.policy.act_function(theta)
        return self.policy.act_function(theta, self._state)

    def _begin(self, slot: int, theta: Array | None, iteration: int, number: int, steps_taken: int = 0) -> None:
        """Start an episode in a slot: its key decides the first state and every action's noise.

        theta: of the policy, None where its state is known; steps_taken: whose random numbers are passed over.
        """
        key = EpisodeKey(self.run_seed, iteration, number, self._purpose)
        seed = first_state_seed(self.run_seed, iteration, number, *self._first_states)
        if self._purpose == Purpose.EVALUATION:
            seed = evaluation_seed(self.run_seed, iteration, number)
        if self.policy.state_size and theta is not None:
            self._state[slot] = self._first_state[slot] = self.policy.initial_state(theta, key)
        self._occupy(slot, seed, number)
        self._noise.begin(slot, key.actions(), steps_taken)
        self._first_tick[slot], self._start[slot], self._returns[slot] = self._buffer.ticks, 0, 0.0
        self._past_actions[slot] = []
        self._observations[slot] = self._played(self.envs.reset, slot, seed)

    def _show(self, iteration: int) -> None:
        self._iteration = iteration
        status.play(self.seeds, self.numbers, iteration)

    def _occupy(self, slot: int, seed: int, number: int) -> None:
        """Note which episode is in a slot; IDLE: none."""
        self.seeds[slot], self.numbers[slot] = seed, number
        self.slots = np.flatnonzero(self.numbers != IDLE)
        status.occupy(slot, seed, number)

    def _free_slot(self) -> int:
        return int(np.flatnonzero(self.numbers == IDLE)[0])

    def _new_buffer(self) -> StepBuffer:
        self._first_tick[:], self._first_state[:] = 0, self._state
        return StepBuffer(self._observations, self._no_actions(len(self._observations)))

    def _no_actions(self, rows: int) -> Array:
        return np.zeros(rows, np.int64) if self.spec.discrete else np.zeros((rows, self.spec.action_size))

    def _fragment(self, slot: int, final_observation: Array, terminated: bool, truncated: bool) -> Fragments:
        """Return what was recorded of the episode in a slot since its fragment began."""
        observations, actions, rewards = self._buffer.since(int(self._first_tick[slot]), slot)
        fragment = Fragments(
            observations=observations,
            actions=actions,
            rewards=rewards,
            final_observations=final_observation[None],
            numbers=self.numbers[slot : slot + 1].copy(),
            lengths=np.array([len(rewards)]),
            starts=self._start[slot : slot + 1].copy(),
            terminated=np.array([terminated]),
            truncated=np.array([truncated]),
            returns=self._returns[slot : slot + 1].copy(),
            policy_states=self._first_state[slot : slot + 1].copy(),
        )
        self._start[slot] += len(rewards)
        self._past_actions[slot].append(actions)
        return fragment

    def _played(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Return what the environments answer; the failure of a slot becomes one that names the episode in it."""
        try:
            return call(*arguments)
        except EnvironmentFailed as error:
            raise self._failure(error.slot, str(error)) from error

    def _failure(self, slot: int, cause: str) -> EpisodeFailed:
        seed, number = int(self.seeds[slot]), int(self.numbers[slot])
        return EpisodeFailed(self.spec.id, self._iteration, number, seed, cause)
