"""Continuous training as ChainerRL has it: simulators that never wait for each other, and an agent of two calls.

`batch_act` chooses an action for every simulator, `batch_observe` is told what became of it; what the two share lies in
an accumulator, and every T steps of all simulators the agent learns from it. This is the loop by hand, for one process;
`rollouts.Rollouts.advance` plays the same steps, to the bit, on the slots of one rank.
"""

from collections.abc import Callable

import numpy as np

from minitrpo.experience.rollouts import Fragments, concatenate
from minitrpo.experience.vector_env import VectorEnv
from minitrpo.policies import Array, Policy

Update = Callable[[Array, Fragments], Array]  # theta, fragments -> theta


class Simulators:
    """N environments side by side: all are stepped, and those in a mask begin anew."""

    def __init__(self, envs: VectorEnv, observation_size: int) -> None:
        self.envs, self.number = envs, envs.num_envs
        self._observations = np.zeros((envs.num_envs, observation_size))

    def reset(self, mask: Array, seeds: list[int]) -> Array:
        """Begin an episode where `mask` (N,) is set, in order of `seeds`; return all observations (N, D).

        The others are not touched: they are in the middle of an episode.
        """
        for slot, seed in zip(np.flatnonzero(mask).tolist(), seeds, strict=True):
            self._observations[slot] = self.envs.reset(slot, seed)
        return self._observations.copy()

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array]:
        """Step all; return observations (N, D), rewards, terminated and truncated (N,), final ones where one ended."""
        observations, rewards, terminated, truncated = self.envs.step(np.arange(self.number), actions)
        self._observations[:] = observations
        return observations, rewards, terminated, truncated


def cuts(ended: Array) -> Array:
    """Return the fragments of T steps of N simulators, a row (simulator, first step, step after the last) of each.

    ended (T, N): whether the simulator's episode ended with this step; the next step then belongs to the next episode.
    A fragment is an unbroken run of steps of one episode. Simulator by simulator, each in the order of its steps;
    together they hold every step once. Integers, (number of fragments, 3); without any step (0, 3).
    """
    # 1. a fragment stops behind every end, and behind the last step that there is
    stops = ended.copy()
    stops[-1:] = True
    # 2. simulator by simulator
    simulators, last = np.nonzero(stops.T)
    # 3. it begins where the one before it stopped; the first of a simulator begins at step 0
    first = np.where(np.diff(simulators, prepend=-1) == 0, np.roll(last + 1, 1), 0)
    return np.stack([simulators, first, last + 1], axis=1)


class Accumulator:
    """What two calls must share: the first leaves observations and actions, the second adds what became of them.

    Nothing is lost: an action that nobody saw the end of, or an end without an action, is an error.
    """

    def __init__(self, simulators: int) -> None:
        self._pending: tuple[Array, Array] | None = None
        self._rows: list[tuple[Array, ...]] = []
        self._numbers = np.arange(simulators)  # of the episodes that go on
        self._taken = np.zeros(simulators, np.int64)  # steps of them that have been flushed
        self._returns = np.zeros(simulators)

    def __len__(self) -> int:
        """Return how many steps of every simulator are complete."""
        return len(self._rows)

    def before(self, observations: Array, actions: Array) -> None:
        """Keep what a step began with: (N, D) and (N, ...)."""
        if self._pending is not None:
            raise RuntimeError("the last actions have not been observed: call batch_observe after every batch_act")
        self._pending = (observations.copy(), actions.copy())

    def after(self, observations: Array, rewards: Array, terminated: Array, truncated: Array) -> None:
        """Complete the step; observations are final ones where an episode ended, not the first of the next."""
        if self._pending is None:
            raise RuntimeError("there is no action to observe: call batch_act before batch_observe")
        self._rows.append((*self._pending, observations.copy(), rewards.copy(), terminated.copy(), truncated.copy()))
        self._pending = None

    def flush(self) -> Fragments:
        """Return all complete steps as fragments, in episode order, and forget them."""
        columns = [np.array(column) for column in zip(*self._rows, strict=True)]  # (T, N, ...) each
        self._rows = []
        fragments = cuts(columns[4] | columns[5]).tolist()
        parts = [self._fragment(n, slice(first, stop), columns) for n, first, stop in fragments]
        return concatenate(sorted(parts, key=lambda part: (part.numbers[0], part.starts[0])))

    def _fragment(self, n: int, rows: slice, columns: list[Array]) -> Fragments:
        observations, actions, after, rewards, terminated, truncated = (column[rows, n] for column in columns)
        for reward in rewards.tolist():  # one by one, as it came
            self._returns[n] += reward
        fragment = Fragments(
            observations=observations,
            actions=actions,
            rewards=rewards,
            final_observations=after[-1:],
            numbers=self._numbers[n : n + 1].copy(),
            lengths=np.array([len(rewards)]),
            starts=self._taken[n : n + 1].copy(),
            terminated=terminated[-1:],
            truncated=truncated[-1:] & ~terminated[-1:],
            returns=self._returns[n : n + 1].copy(),
        )
        self._taken[n] += len(rewards)
        if terminated[-1] or truncated[-1]:
            self._numbers[n] += len(self._numbers)
            self._taken[n], self._returns[n] = 0, 0.0
        return fragment


class Agent:
    """A policy that acts for N simulators at once, and learns every `steps` steps of each."""

    def __init__(
        self, policy: Policy, theta: Array, simulators: int, steps: int, noise: Callable[[], Array], update: Update
    ) -> None:
        self.policy, self.theta, self.steps, self.noise, self.update = policy, theta, steps, noise, update
        self.accumulator = Accumulator(simulators)

    def batch_act(self, observations: Array) -> Array:
        """Return an action for each of the observations (N, D)."""
        actions = self.policy.act_function(self.theta)(observations, self.noise(), len(observations))
        self.accumulator.before(observations, actions)
        return actions

    def batch_observe(self, observations: Array, rewards: Array, terminated: Array, truncated: Array) -> None:
        """Take in what became of the actions; if that completes `steps` steps of each simulator, learn from them."""
        self.accumulator.after(observations, rewards, terminated, truncated)
        if len(self.accumulator) == self.steps:
            fragments = self.accumulator.flush()
            self.theta = self.update(self.theta, fragments)


def train_continuously(agent: Agent, simulators: Simulators, seed_of: Callable[[int], int], steps: int) -> None:
    """Let the agent act `steps` times in all simulators; an episode that ends is followed by the next at once.

    seed_of: the reset seed of episode n; the k-th episode of simulator l is l + k N.
    """
    numbers = np.arange(simulators.number)
    observations = simulators.reset(np.ones(simulators.number, bool), [seed_of(n) for n in numbers.tolist()])
    for _ in range(steps):
        observations, rewards, terminated, truncated = simulators.step(agent.batch_act(observations))
        # observe, then reset: in the other order V would be asked about the first state of the next episode
        agent.batch_observe(observations, rewards, terminated, truncated)
        ended = terminated | truncated
        numbers[ended] += simulators.number
        observations = simulators.reset(ended, [seed_of(n) for n in numbers[ended].tolist()])
