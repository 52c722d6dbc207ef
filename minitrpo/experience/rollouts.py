"""Rollouts: one rank plays several episodes in lockstep, so that one matrix product serves them all.

BLAS may round a row differently in a matrix of another height, or in the rows that do not fill a block. So a policy
gets an array with a multiple of ROWS rows, even if some slots are not in use. Products of a fixed height, as in the
package's own policies (`perceptron.FEW`), then make the numbers of an episode independent of the other episodes.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from minitrpo.errors import EnvironmentFailed, EpisodeFailed
from minitrpo.experience.environments import EnvironmentSpec
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.randomness import EpisodeKey, Purpose, evaluation_seed, first_state_seed
from minitrpo.experience.vector_env import VectorEnv
from minitrpo.policies import ActFunction, Array, Policy
from minitrpo.supervision.watchdog import IDLE, status

MOST_STEPS = 10_000  # of an evaluation's episode where there is no time limit: a good policy may balance for ever
ROWS = 16  # BLAS kernels work on blocks of 4, 8 or 16 rows
CHUNK = 64  # ticks whose random numbers are drawn at once; an episode's stream is the same for any value


def make_vector_env(spec: EnvironmentSpec, num_envs: int, physics: str = "auto") -> VectorEnv:
    """Return `num_envs` copies of an environment; their bits are the same with physics "auto" and "gymnasium"."""
    if is_batched(spec, physics):
        from minitrpo.experience.batched_mujoco import MujocoVectorEnv

        return MujocoVectorEnv(spec, num_envs)
    return VectorEnv(spec, num_envs)


def is_batched(spec: EnvironmentSpec, physics: str) -> bool:
    """Return whether MuJoCo steps all copies in one call."""
    if physics != "auto" or spec.discrete:
        return False
    from minitrpo.experience.batched_mujoco import supports  # brings MuJoCo along

    return supports(spec.id)


@dataclass(frozen=True)
class Fragments:
    """N steps in E fragments, one fragment after the other; E-arrays say where a fragment stands and how it stopped.

    A fragment is an unbroken run of steps of one episode: the whole episode, or the part of it that a segment saw.
    """

    observations: Array  # (N, D), as the environment gave them
    actions: Array  # (N, A) floats or (N,) integers, as the policy chose them
    rewards: Array  # (N,)
    final_observations: Array  # (E, D): after the last step of each fragment
    numbers: Array  # (E,): the episode's number, the key of its random numbers
    lengths: Array  # (E,): steps in this fragment
    starts: Array  # (E,): steps of the episode before this fragment
    terminated: Array  # (E,) bool: the task ended, the value after it is 0
    truncated: Array  # (E,) bool: the time limit cut it; neither of the two: a segment's end cut it
    returns: Array  # (E,): sum of the environment's rewards since the episode began
    policy_states: Array = field(default_factory=lambda: np.zeros((1, 0)))  # (E, S): before each fragment

    @property
    def steps(self) -> int:
        """Return N, the number of environment steps."""
        return len(self.rewards)

    @property
    def ended(self) -> Array:
        """Return which fragments finish their episode, (E,) bool; only those have an episode return."""
        return self.terminated | self.truncated

    @property
    def last(self) -> Array:
        """Return the mask (N,) of the last step of each fragment."""
        mask = np.zeros(self.steps, bool)
        mask[np.cumsum(self.lengths) - 1] = True
        return mask

    @property
    def terminated_steps(self) -> Array:
        """Return the mask (N,) of the steps after which the value is 0."""
        mask = np.zeros(self.steps, bool)
        mask[(np.cumsum(self.lengths) - 1)[self.terminated]] = True
        return mask

    @property
    def timesteps(self) -> Array:
        """Return how many steps of its episode came before each step, (N,) floats."""
        first_rows = np.cumsum(self.lengths) - self.lengths
        return np.arange(self.steps, dtype=float) + np.repeat(self.starts - first_rows, self.lengths)

    def filtered(self, frozen: ObservationFilter) -> "Fragments":
        """Return the same with observations as the policy saw them."""
        seen = {"observations": frozen(self.observations), "final_observations": frozen(self.final_observations)}
        return replace(self, **seen)


def concatenate(parts: list[Fragments]) -> Fragments:
    """Return all fragments as one, in the order given; at least one."""
    return Fragments(**{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Fragments)})


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
        self.not_restored: dict[int, int] = {}  # slot: number of an episode that could not be restored
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
                    self._begin(int(np.flatnonzero(self.numbers == IDLE)[0]), theta, iteration, number)
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
                self._begin(slot, theta, 0, self.not_restored.pop(slot, number))
        for _ in range(steps):
            for slot, final_observation, terminated in self._tick(act, frozen):
                fragments.append(self._fragment(slot, final_observation, terminated, not terminated))
                self._begin(slot, theta, 0, int(self.numbers[slot]) + total_envs)
        status.pause()
        for slot in self.slots.tolist():
            if self._first_tick[slot] < self._buffer.ticks:
                fragments.append(self._fragment(slot, self._observations[slot].copy(), False, False))
        return fragments

    def unfinished(self) -> dict[str, Array]:
        """Return the unfinished episodes between two segments, slot by slot, at least one, as arrays for a checkpoint.

        lengths and actions are those of all steps so far, which lead from the reset to the observations; states only
        if the policy has any, and seeds of the resets only if the first states are renewed during the run.
        """
        past = [np.concatenate([self._no_actions(0), *self._past_actions[slot]]) for slot in self.slots.tolist()]
        arrays = {
            "numbers": self.numbers[self.slots],
            "lengths": np.array([len(actions) for actions in past], np.int64),
            "actions": np.concatenate(past),
            "observations": self._observations[self.slots],
        }
        _, renewed = self._first_states
        arrays |= {"seeds": self.seeds[self.slots]} if renewed else {}
        return arrays | ({"states": self._state[self.slots]} if self.policy.state_size else {})

    def restore(self, arrays: dict[str, Array], rows: range, iteration: int) -> None:
        """Restore unfinished episodes into the slots by playing their actions again from the reset.

        Episodes that reach another state will be in `not_restored`.
        """
        self._show(iteration)
        stops = np.cumsum(arrays["lengths"])
        for slot, row in enumerate(rows):
            steps = int(arrays["lengths"][row])
            actions, one = arrays["actions"][stops[row] - steps : stops[row]], np.array([slot])
            seed = int(arrays["seeds"][row]) if "seeds" in arrays else None
            self._begin(slot, None, 0, int(arrays["numbers"][row]), steps, seed)
            for i in range(steps):
                observations, rewards, terminated, truncated = self._played(self.envs.step, one, actions[i : i + 1])
                self._observations[slot], self._returns[slot] = observations[0], self._returns[slot] + rewards[0]
                if terminated[0] or truncated[0]:
                    break
            if not np.array_equal(self._observations[slot], arrays["observations"][row]):
                self.not_restored[slot] = int(self.numbers[slot])
                self._occupy(slot, 0, IDLE)
                continue
            self._start[slot], self._past_actions[slot] = steps, [actions]
            if self.policy.state_size:
                self._state[slot] = arrays["states"][row]
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

    def _begin(
        self, slot: int, theta: Array | None, iteration: int, number: int, steps_taken: int = 0, seed: int | None = None
    ) -> None:
        """Start an episode in a slot: its key decides the first state and every action's noise.

        theta: of the policy, None where its state is known; steps_taken: whose random numbers are passed over;
        seed: of the reset, None where the key decides it.
        """
        key = EpisodeKey(self.run_seed, iteration, number, self._purpose)
        seed = self._reset_seed(iteration, number) if seed is None else seed
        if self.policy.state_size and theta is not None:
            self._state[slot] = self._first_state[slot] = self.policy.initial_state(theta, key)
        self._occupy(slot, seed, number)
        self._noise.begin(slot, key.actions(), steps_taken)
        self._first_tick[slot], self._start[slot], self._returns[slot] = self._buffer.ticks, 0, 0.0
        self._past_actions[slot] = []
        self._observations[slot] = self._played(self.envs.reset, slot, seed)

    def _reset_seed(self, iteration: int, number: int) -> int:
        """Return the seed of the first state of an episode with the key (iteration, number)."""
        if self._purpose == Purpose.EVALUATION:
            return evaluation_seed(self.run_seed, iteration, number)
        first_states, renewed = self._first_states
        # Segments play episodes of iteration 0. Common first states are those of the update in which one begins.
        update = self._iteration if first_states else iteration
        return first_state_seed(self.run_seed, update, number, first_states, renewed)

    def _show(self, iteration: int) -> None:
        self._iteration = iteration
        status.play(self.seeds, self.numbers, iteration)

    def _occupy(self, slot: int, seed: int, number: int) -> None:
        """Note which episode is in a slot; IDLE: none."""
        self.seeds[slot], self.numbers[slot] = seed, number
        self.slots = np.flatnonzero(self.numbers != IDLE)
        status.occupy(slot, seed, number)

    def _new_buffer(self) -> "StepBuffer":
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
            seed, number = int(self.seeds[error.slot]), int(self.numbers[error.slot])
            evaluation = self._purpose == Purpose.EVALUATION
            when = abs(self._iteration)
            raise EpisodeFailed(self.spec.id, when, number, seed, str(error), evaluation) from error


class ActionNoise:
    """The random numbers of all slots, tick by tick; each slot has the generator of its episode."""

    def __init__(self, policy: Policy, height: int) -> None:
        self._policy = policy
        self._chunk = np.zeros((CHUNK, height, policy.noise_size))
        self._generators: dict[int, np.random.Generator] = {}
        self._tick = 0

    def begin(self, slot: int, generator: np.random.Generator, used: int = 0) -> None:
        """Give a slot the stream of its episode, of which `used` steps have been taken already."""
        self._generators[slot] = generator
        self._policy.draw_noise(generator, used)
        self._draw(slot)

    def next(self, slots: Array) -> Array:
        """Return the next step's random numbers (height, noise_size); those of `slots` count, the others are stale."""
        if self._tick == CHUNK:
            self._tick = 0
            for slot in slots.tolist():
                self._draw(slot)
        self._tick += 1
        return self._chunk[self._tick - 1]

    def _draw(self, slot: int) -> None:
        left = CHUNK - self._tick
        self._chunk[self._tick :, slot] = self._policy.draw_noise(self._generators[slot], left)


class StepBuffer:
    """Observations, actions and rewards of all slots, tick by tick, in arrays that grow when they must."""

    def __init__(self, observations: Array, actions: Array) -> None:
        """Take the shapes and dtypes of a row of observations (height, D) and of actions (height, ...)."""
        self._arrays = [np.empty((CHUNK, *a.shape), a.dtype) for a in (observations, actions, np.zeros(len(actions)))]
        self.ticks = 0

    def append(self, observations: Array, actions: Array, slots: Array | slice, rewards: Array) -> None:
        """Keep a tick; rewards (k,) are of these slots, observations and actions of all rows."""
        if self.ticks == len(self._arrays[0]):
            self._arrays = [np.concatenate([a, np.empty_like(a)]) for a in self._arrays]
        all_observations, all_actions, all_rewards = self._arrays
        all_observations[self.ticks], all_actions[self.ticks] = observations, actions
        all_rewards[self.ticks, slots] = rewards
        self.ticks += 1

    def since(self, tick: int, slot: int) -> tuple[Array, Array, Array]:
        """Return copies of a slot's observations (t, D), actions (t, A) or (t,) and rewards (t,) since a tick."""
        observations, actions, rewards = (a[tick : self.ticks, slot].copy() for a in self._arrays)
        return observations, actions, rewards
