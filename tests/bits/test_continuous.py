"""Continuous training, as lecture 12 shows it, plays the steps that the house plays, to the bit."""

from dataclasses import fields

import numpy as np
import pytest
from fragments import in_turn
from hypothesis import given
from hypothesis.extra.numpy import array_shapes, arrays

from minitrpo.course.continuous import Agent, Simulators, cuts, train_continuously
from minitrpo.experience.environments import describe
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.randomness import Purpose, generator, reset_seed
from minitrpo.experience.rollouts import ActionNoise, Fragments, Rollouts, concatenate, make_vector_env

N = 16  # simulators: as many rows as a product of matrices has in Rollouts


@given(arrays(bool, array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=8)))
def test_fragments_hold_every_step_once_and_stop_where_an_episode_ends_and_at_the_last_step(ended):
    found, steps = cuts(ended).tolist(), len(ended)
    assert [(i, t) for i, first, stop in found for t in range(first, stop)] == [*np.ndindex(ended.shape[::-1])]
    for simulator, first, stop in found:
        assert not ended[first : stop - 1, simulator].any()
        assert ended[stop - 1, simulator] or stop == steps


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
        expected.append(in_turn(concatenate(rollouts.advance(now, identity, iteration + 1, range(N), N, steps))))
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
