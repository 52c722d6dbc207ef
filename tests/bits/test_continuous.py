"""Continuous training, as lecture 12 shows it: masked resets, nothing lost, and the steps that the house plays."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
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

SEEDS = st.integers(0, 2**32 - 1)
N = 16  # simulators: as many rows as a product of matrices has in Rollouts


def test_a_reset_touches_those_in_the_mask_alone():
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


@given(st.lists(st.lists(st.floats(-1e3, 1e3), max_size=7), max_size=8), st.integers(1, 10))
def test_the_average_is_of_the_last_ones(batches, length):
    average, everything = MovingAverage(length), []
    for batch in batches:
        average.extend(np.array(batch))
        everything += batch
        again = MovingAverage(length)
        again.restore(average.to_vector())
        for each in (average, again) if everything else ():
            assert each.mean == pytest.approx(np.mean(everything[-length:]), abs=1e-9)
    assert everything or np.isnan(average.mean)


@given(SEEDS, st.integers(1, 5), st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_nothing_is_lost_and_nothing_is_made_up(seed, simulators, segments):
    """Steps in equal steps out, each reward once; fragments of an episode follow each other without a gap."""
    rng, accumulator, rewards, flushed = np.random.default_rng(seed), Accumulator(simulators), [], []
    for steps in segments:
        for _ in range(steps):
            ends = rng.random(simulators) < 0.3
            terminated = ends & (rng.random(simulators) < 0.5)
            accumulator.before(rng.standard_normal((simulators, 2)), rng.integers(0, 2, simulators))
            rewards.append(rng.standard_normal(simulators))
            accumulator.after(rng.standard_normal((simulators, 2)), rewards[-1], terminated, ends & ~terminated)
        fragments = accumulator.flush()
        assert len(accumulator) == 0
        assert fragments.steps == steps * simulators
        flushed += fragments.fragments()
    of_episode = {}
    for f in flushed:
        taken, total, over = of_episode.get(int(f.numbers[0]), (0, 0.0, False))
        assert not over
        assert int(f.starts[0]) == taken
        assert f.returns[0] == pytest.approx(total + f.rewards.sum())
        of_episode[int(f.numbers[0])] = (taken + f.steps, float(f.returns[0]), bool(f.ended[0]))
    for simulator in range(simulators):
        own = [f.rewards for f in flushed if f.numbers[0] % simulators == simulator]
        np.testing.assert_array_equal(np.concatenate(own), np.array(rewards)[:, simulator])


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
    identity, expected, now = ObservationFilter.identity(spec.observation_size, clip=1e6), [], theta
    for iteration in range(4):
        expected.append(concatenate(rollouts.advance(now, identity, iteration + 1, range(N), N, steps)).sorted())
        now = moved(now, expected[-1])
    seen, noise = [], ActionNoise(policy, N)

    def seed_of(number):
        """Begin the streams of the house's episode in a simulator: they change with its episode."""
        noise.begin(number % N, generator(seed, 0, number, Purpose.ACTIONS))
        return reset_seed(seed, 0, number)

    def update(theta, fragments):
        seen.append(fragments)
        return moved(theta, fragments)

    agent = Agent(policy, theta, N, steps, lambda: noise.next(np.arange(N)), update)
    train_continuously(agent, Simulators(make_vector_env(spec, N), spec.observation_size), seed_of, 4 * steps)
    for ours, theirs in zip(seen, expected, strict=True):
        for f in fields(Fragments):
            np.testing.assert_array_equal(getattr(ours, f.name), getattr(theirs, f.name), err_msg=f.name)
    assert np.array_equal(agent.theta, now)
    returns = np.concatenate([fragments.returns[fragments.ended] for fragments in expected])
    assert len(returns) == 0 or agent.average_return.mean == pytest.approx(np.mean(returns[-100:]))
