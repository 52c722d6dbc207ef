"""Continuous training: masked resets, an accumulator that loses nothing, and the same steps as the house's rollouts."""

from collections import deque
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.algorithms.batch_ppo import MovingAverage
from minitrpo.course.continuous import Accumulator, Agent, Simulators, train_continuously
from minitrpo.experience.environments import describe
from minitrpo.experience.fragments import Fragments, concatenate
from minitrpo.experience.lockstep import ActionNoise
from minitrpo.experience.make_vector_env import make_vector_env
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.randomness import Purpose, generator, reset_seed
from minitrpo.experience.rollouts import Rollouts
from minitrpo.policies import CategoricalPolicy

QUICK = settings(max_examples=30, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)
N = 16  # simulators: as many rows as a product of matrices has in Rollouts


# --- masked resets


class Recorder:
    """A vector of environments that remembers what it was asked for; observations count resets and steps."""

    def __init__(self, width):
        self.num_envs, self.calls, self.counts = width, [], np.zeros((width, 2))

    def reset(self, slot, seed):
        self.calls.append((slot, seed))
        self.counts[slot] = [seed, 0]
        return self.counts[slot].copy()

    def step(self, slots, actions):
        self.counts[slots, 1] += 1
        k = len(slots)
        return self.counts[slots].copy(), np.zeros(k), np.zeros(k, bool), np.zeros(k, bool)


@given(SEEDS, st.integers(1, 8))
@QUICK
def test_a_reset_touches_those_in_the_mask_alone(seed, width):
    rng = np.random.default_rng(seed)
    envs = Recorder(width)
    simulators = Simulators(envs, 2)
    simulators.reset(np.ones(width, bool), list(range(width)))
    for _ in range(3):
        simulators.step(np.zeros(width))
    before = envs.counts.copy()
    envs.calls.clear()
    mask = rng.random(width) < 0.5
    seeds = rng.integers(100, 1000, int(mask.sum())).tolist()
    observations = simulators.reset(mask, seeds)
    assert envs.calls == list(zip(np.flatnonzero(mask).tolist(), seeds, strict=True))
    np.testing.assert_array_equal(observations[~mask], before[~mask])
    np.testing.assert_array_equal(observations[mask, 0], seeds)
    np.testing.assert_array_equal(observations[mask, 1], 0)


def test_a_reset_needs_a_seed_for_each():
    with pytest.raises(ValueError, match="zip"):
        Simulators(Recorder(3), 2).reset(np.array([True, False, True]), [1])


def test_a_real_simulator_in_the_middle_of_an_episode_does_not_notice_the_others_reset():
    spec = describe("CartPole-v1")
    pair = [Simulators(make_vector_env(spec, 2), 4) for _ in range(2)]
    for simulators in pair:
        simulators.reset(np.ones(2, bool), [1, 2])
    for k in range(8):
        if k == 4:
            pair[0].reset(np.array([True, False]), [3])
        seen = [simulators.step(np.array([k % 2, k % 2]))[0] for simulators in pair]
        np.testing.assert_array_equal(seen[0][1], seen[1][1])
        assert np.array_equal(seen[0][0], seen[1][0]) == (k < 4)


# --- the moving average


@given(st.lists(st.lists(st.floats(-1e3, 1e3), max_size=7), max_size=8), st.integers(1, 10))
@QUICK
def test_the_average_is_of_the_last_ones(batches, length):
    average, everything = MovingAverage(length), []
    for batch in batches:
        average.extend(np.array(batch))
        everything += batch
        if everything:
            assert average.mean == pytest.approx(np.mean(everything[-length:]), abs=1e-9)
        again = MovingAverage(length)
        again.restore(average.to_vector())
        assert average.to_vector().shape == (length,)
        assert again.values == average.values == deque(everything, maxlen=length)
    assert everything or np.isnan(average.mean)


# --- the accumulator


def told(rng, accumulator, steps, simulators, rewards):
    """Let an accumulator see random steps; `rewards` gets all of them, by simulator."""
    for _ in range(steps):
        ends = rng.random(simulators) < 0.3
        terminated = ends & (rng.random(simulators) < 0.5)
        accumulator.before(rng.standard_normal((simulators, 2)), rng.integers(0, 2, simulators))
        row = rng.standard_normal(simulators)
        rewards.append(row)
        accumulator.after(rng.standard_normal((simulators, 2)), row, terminated, ends & ~terminated)


@given(SEEDS, st.integers(1, 5), st.lists(st.integers(1, 9), min_size=1, max_size=4))
@QUICK
def test_nothing_is_lost_and_nothing_is_made_up(seed, simulators, segments):
    """Steps in equal steps out, each reward once; fragments of an episode follow each other without a gap."""
    rng, accumulator, rewards, flushed = np.random.default_rng(seed), Accumulator(simulators), [], []
    for steps in segments:
        told(rng, accumulator, steps, simulators, rewards)
        assert len(accumulator) == steps
        fragments = accumulator.flush()
        assert len(accumulator) == 0
        assert fragments.steps == steps * simulators
        flushed += fragments.fragments()
    assert sorted(np.concatenate([f.rewards for f in flushed]).tolist()) == sorted(np.concatenate(rewards).tolist())
    of_episode = {}
    for f in flushed:
        number = int(f.numbers[0])
        taken, total, over = of_episode.get(number, (0, 0.0, False))
        assert not over
        assert int(f.starts[0]) == taken
        assert f.returns[0] == pytest.approx(total + f.rewards.sum())
        of_episode[number] = (taken + f.steps, float(f.returns[0]), bool(f.ended[0]))
    for simulator in range(simulators):
        own = [f for f in flushed if f.numbers[0] % simulators == simulator]
        np.testing.assert_array_equal(np.concatenate([f.rewards for f in own]), np.array(rewards)[:, simulator])


def test_a_call_that_is_missing_is_an_error():
    accumulator, row = Accumulator(2), np.zeros(2)
    with pytest.raises(RuntimeError, match="call batch_act before batch_observe"):
        accumulator.after(np.zeros((2, 3)), row, row > 0, row > 0)
    accumulator.before(np.zeros((2, 3)), row)
    with pytest.raises(RuntimeError, match="call batch_observe after every batch_act"):
        accumulator.before(np.zeros((2, 3)), row)


# --- the agent


class Noise:
    """The streams of the house's episodes, as an agent draws them: a simulator's changes with its episode."""

    def __init__(self, policy, run_seed):
        self.noise, self.run_seed = ActionNoise(policy, N), run_seed

    def seed_of(self, number):
        self.noise.begin(number % N, generator(self.run_seed, 0, number, Purpose.ACTIONS))
        return reset_seed(self.run_seed, 0, number)

    def __call__(self):
        return self.noise.next(np.arange(N))


def moved(theta, fragments):
    """An update that depends on every fragment."""
    return theta * (1 + 1e-3 * fragments.rewards.mean() / (1 + fragments.lengths.std()))


@pytest.mark.parametrize("env", ["CartPole-v1", "Reacher-v5"])
def test_an_agent_sees_the_steps_that_rollouts_play(env):
    """Four segments, theta moving after each: every array of every fragment is equal, to the bit."""
    spec, seed, steps = describe(env), 5, 33
    policy = spec.policy((8,))
    theta = 3 * policy.initialise(np.random.default_rng(0))
    rollouts = Rollouts(spec, policy, make_vector_env(spec, N), seed)
    expected, now = [], theta
    for iteration in range(4):
        identity = ObservationFilter.identity(spec.observation_size, clip=1e6)
        expected.append(concatenate(rollouts.advance(now, identity, iteration + 1, range(N), N, steps)).sorted())
        now = moved(now, expected[-1])
    seen, noise = [], Noise(policy, seed)

    def update(theta, fragments):
        seen.append(fragments)
        return moved(theta, fragments)

    agent = Agent(policy, theta, N, steps, noise, update)
    simulators = Simulators(make_vector_env(spec, N), spec.observation_size)
    train_continuously(agent, simulators, noise.seed_of, 4 * steps)
    assert len(seen) == 4
    for ours, theirs in zip(seen, expected, strict=True):
        for f in fields(Fragments):
            np.testing.assert_array_equal(getattr(ours, f.name), getattr(theirs, f.name), err_msg=f.name)
    assert np.array_equal(agent.theta, now)
    returns = np.concatenate([fragments.returns[fragments.ended] for fragments in expected])
    assert agent.average_return.mean == pytest.approx(np.mean(returns[-100:])) or len(returns) == 0


def test_the_final_observation_is_the_old_episodes():
    """Observed before the reset: what V is asked about after a cut is where the episode stood, not where one begins."""
    spec = describe("CartPole-v1")
    policy, kept = CategoricalPolicy(4, 2, ()), []
    noise = Noise(policy, 0)
    agent = Agent(policy, np.zeros(10), N, 60, noise, lambda theta, fragments: kept.append(fragments) or theta)
    train_continuously(agent, Simulators(make_vector_env(spec, N), 4), noise.seed_of, 60)
    fallen = kept[0].terminated
    assert fallen.sum() > 10
    assert np.all(np.max(np.abs(kept[0].final_observations[fallen][:, [0, 2]]) / [2.4, 0.2094], axis=1) > 1)
