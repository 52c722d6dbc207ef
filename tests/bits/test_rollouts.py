"""Rollouts against one plain Gymnasium loop; an episode's bits depend on its key, its policy and its filter alone."""

from dataclasses import fields, replace
from itertools import pairwise

import gymnasium
import numpy as np
import pytest
from fragments import PER_STEP, apart, fragment, in_turn, slices
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.experience.environments import describe
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.randomness import Purpose, generator, reset_seed
from minitrpo.experience.rollouts import ROWS, Fragments, Rollouts, concatenate
from minitrpo.experience.vector_env import VectorEnv
from minitrpo.perceptron import FEW

SEED = 5
ENVS = ["CartPole-v1", "Pendulum-v1"]  # discrete and terminating; continuous and truncated after 200 steps


class Toy(gymnasium.Env):
    """Counts its steps up to 7; actions are 3 and 4."""

    observation_space = gymnasium.spaces.Box(-100, 100, (1,))
    action_space = gymnasium.spaces.Discrete(2, start=3)
    stepped = 0

    def reset(self, *, seed=None, options=None):
        self.t = 0
        return np.zeros(1), {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.t += 1
        Toy.stepped += 1
        return np.array([float(self.t)]), float(action), self.t == 7, False, {}


gymnasium.register("Toy-v0", entry_point=Toy)
gymnasium.register("ToyLimited-v0", entry_point=Toy, max_episode_steps=7)


def make(env_id, width=4):
    """Return rollouts, a theta that prefers nothing, and a filter that does something."""
    spec = describe(env_id)
    policy, rng = spec.policy((8,)), np.random.default_rng(1)
    theta = policy.initialise(rng)
    theta += 0.3 * rng.standard_normal(len(theta))
    frozen = ObservationFilter.identity(spec.observation_size).merged(rng.standard_normal((30, spec.observation_size)))
    return Rollouts(spec, policy, VectorEnv(spec, width), SEED), theta, frozen


def play(env_id, numbers, width=4, concurrency=4, iteration=2):
    rollouts, theta, frozen = make(env_id, width)
    requests = iter(numbers)
    return concatenate(rollouts.play(theta, frozen, iteration, lambda: next(requests, None), concurrency))


def bits(fragments):
    arrays = {f.name: getattr(fragments, f.name) for f in fields(Fragments)}
    return {name: (array.dtype, array.shape, array.tobytes()) for name, array in arrays.items()}


def plain_episode(env_id, number, iteration=2):
    """Play one episode as a beginner would, one `gymnasium.make`, one loop; only the rows are padded to FEW."""
    rollouts, theta, frozen = make(env_id, 1)
    spec, policy = rollouts.spec, rollouts.policy
    env = gymnasium.make(env_id)
    observation, _ = env.reset(seed=reset_seed(SEED, iteration, number))
    rng, steps, over = generator(SEED, iteration, number, Purpose.ACTIONS), [], False
    while not over:
        rows, noise = np.zeros((FEW, spec.observation_size)), np.zeros((FEW, policy.noise_size))
        rows[0], noise[0] = observation, policy.draw_noise(rng, 1)[0]
        action = policy.act_function(theta)(frozen(rows), noise, 1)[0]
        sent = int(action) if spec.discrete else np.clip(2.0 * action, -2.0, 2.0).astype(np.float32)
        next_observation, reward, terminated, truncated, _ = env.step(sent)
        steps.append((observation, action, reward))
        observation, over = next_observation, terminated or truncated
    observations, actions, rewards = zip(*steps, strict=True)
    ends = {"terminated": terminated, "truncated": truncated and not terminated}
    episode = fragment(observations, actions, rewards, observation, number, **ends)
    return replace(episode, returns=np.array([sum(map(float, rewards))]))  # in turn, not by pairs


PLAIN = {}


def plain(env_id, numbers, iteration=2):
    """Return the plain episodes of these numbers, in order; each is played once for all tests."""
    for number in numbers:
        key = (env_id, number, iteration)
        PLAIN[key] = PLAIN.get(key) or plain_episode(*key)
    return concatenate([PLAIN[env_id, number, iteration] for number in sorted(numbers)])


# --- whole episodes


@pytest.mark.parametrize("env_id", ENVS)
@pytest.mark.parametrize("width", [1, 5, ROWS])
@given(numbers=st.permutations(range(6)))
@settings(max_examples=2)
def test_episodes_are_those_of_a_plain_loop_in_whatever_order_they_are_requested(env_id, width, numbers):
    """Any number of slots up to ROWS, any number of them in use."""
    for concurrency in {2, width + 3}:
        assert bits(in_turn(play(env_id, numbers, width, concurrency))) == bits(plain(env_id, range(6)))


def test_more_slots_than_rows_in_a_block():
    alone = bits(play("CartPole-v1", range(40), 3 * ROWS, 1))
    for concurrency in (2, 3 * ROWS):
        assert bits(in_turn(play("CartPole-v1", range(40), 3 * ROWS, concurrency))) == alone


def test_masks_returns_and_actions():
    """CartPole terminates long before its limit, Pendulum only meets its limit; the toy terminates at its limit."""
    cartpole, pendulum = play("CartPole-v1", range(6)), play("Pendulum-v1", range(6))
    toy = play("ToyLimited-v0", range(3))
    for episodes, terminates in ((cartpole, True), (pendulum, False), (toy, True)):
        assert np.all(episodes.terminated == terminates)
        assert np.all(episodes.truncated != terminates)
        np.testing.assert_allclose(episodes.returns, [episodes.rewards[rows].sum() for rows in slices(episodes)])
    assert pendulum.lengths.tolist() == [200] * 6
    assert np.array_equal(cartpole.returns, cartpole.lengths)  # the environment's own reward: 1 a step
    assert set(toy.actions.tolist()) == {0, 1}, "the policy counts from 0"
    assert np.array_equal(toy.rewards, toy.actions + 3.0), "the environment got 3 and 4"


def test_steps_are_counted_as_stepped_and_nothing_given_is_modified():
    Toy.stepped = 0
    assert play("Toy-v0", range(5), 3, 2).steps == Toy.stepped == 35
    rollouts, theta, frozen = make("CartPole-v1")
    before, requests = (theta.tobytes(), frozen.to_vector().tobytes()), iter(range(4))
    rollouts.play(theta, frozen, 1, lambda: next(requests, None), 4)
    assert (theta.tobytes(), frozen.to_vector().tobytes()) == before
    assert rollouts.play(theta, frozen, 2, lambda: None, 4) == []


# --- segments


def advance(env_id, lengths, width=4, rollouts=None):
    """Return segments of these lengths, in iterations from 2, of slots 1, 2 and 3 of 6."""
    made, theta, frozen = make(env_id, width)
    rollouts = rollouts or made
    parts = [rollouts.advance(theta, frozen, i, range(1, 4), 6, steps) for i, steps in enumerate(lengths, 2)]
    return [concatenate(part) for part in parts], rollouts


def glued(segments):
    """Return the fragments of each episode joined, for the episodes that ended; check that they fit together."""
    fragments, whole = apart(in_turn(concatenate(segments))), []
    for number in sorted({int(f.numbers[0]) for f in fragments}):
        mine = [f for f in fragments if f.numbers[0] == number]
        assert [int(f.starts[0]) for f in mine] == [0, *np.cumsum([f.steps for f in mine])[:-1]]
        assert not any(f.ended[0] for f in mine[:-1])
        for f, after in pairwise(mine):  # a cut fragment ends where the next begins
            assert np.array_equal(f.final_observations[0], after.observations[0])
        if mine[-1].ended[0]:
            rows = {name: np.concatenate([getattr(f, name) for f in mine]) for name in PER_STEP}
            whole.append(
                replace(mine[-1], **rows, starts=np.zeros(1, np.int64), lengths=np.array([len(rows["rewards"])]))
            )
    return concatenate(whole)


@pytest.mark.parametrize(("env_id", "lengths"), [("CartPole-v1", [7, 1, 30, 12, 40]), ("Pendulum-v1", [150, 100, 160])])
def test_segments_glued_together_are_the_episodes_of_the_same_keys(env_id, lengths):
    segments, _ = advance(env_id, lengths)
    assert [s.steps for s in segments] == [3 * n for n in lengths]
    whole = glued(segments)
    numbers = whole.numbers.tolist()
    assert bits(whole) == bits(plain(env_id, numbers, iteration=0))
    expected = range(2) if env_id == "Pendulum-v1" else range(3)  # the k-th episode of slot l is l + k * num_envs
    assert {slot + k * 6 for slot in (1, 2, 3) for k in expected} <= set(numbers)
    assert all(number % 6 in (1, 2, 3) for number in numbers)


@pytest.mark.parametrize("env_id", [*ENVS, "Toy-v0"])
@pytest.mark.parametrize("before", [7, 70])  # 7: the toy's episodes end where the segment ends
def test_unfinished_episodes_go_on_bit_for_bit(env_id, before):
    """Also beyond the noise that is drawn ahead."""
    _, original = advance(env_id, [before])
    restored, _, _ = make(env_id, 4)
    restored.restore(original.unfinished(), range(3), 3)
    ahead, resumed = (advance(env_id, [40, 50], rollouts=each)[0] for each in (original, restored))
    assert list(map(bits, ahead)) == list(map(bits, resumed))


def test_episodes_that_cannot_be_restored_begin_anew():
    _, original = advance("CartPole-v1", [5])
    kept, rollouts = original.unfinished(), make("CartPole-v1", 4)[0]
    kept["observations"][1] += 1e-9
    rollouts.restore(kept, range(3), 7)
    assert rollouts.not_restored == {1: kept["numbers"][1]}
    (fragments, *_), _ = advance("CartPole-v1", [5], rollouts=rollouts)
    starts = dict(zip(fragments.numbers.tolist(), fragments.starts.tolist(), strict=True))
    assert [starts[number] for number in kept["numbers"].tolist()] == [5, 0, 5]
