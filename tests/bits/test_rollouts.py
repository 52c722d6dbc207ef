"""Rollouts against one plain Gymnasium loop; an episode's bits depend on its key, its policy and its filter alone."""

from dataclasses import fields

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.errors import EpisodeFailed
from minitrpo.experience.environments import describe
from minitrpo.experience.fragments import Fragments, concatenate
from minitrpo.experience.lockstep import UnfinishedEpisode
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.randomness import Purpose, generator, reset_seed
from minitrpo.experience.rollouts import ROWS, Rollouts
from minitrpo.experience.vector_env import GymnasiumVectorEnv
from minitrpo.perceptron import FEW
from minitrpo.supervision.status import RankStatus

SEED = 5
ENVS = ["CartPole-v1", "Pendulum-v1"]  # discrete and terminating; continuous and truncated after 200 steps


class Toy(gymnasium.Env):
    """Counts its steps up to 7; actions are 3 and 4; `trouble` may be hung in, to be called at every step."""

    observation_space = gymnasium.spaces.Box(-100, 100, (1,))
    action_space = gymnasium.spaces.Discrete(2, start=3)
    trouble = staticmethod(lambda env: None)

    def reset(self, *, seed=None, options=None):
        self.seed, self.t = seed, 0
        return np.zeros(1), {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.t += 1
        observation, reward = np.array([float(self.t)]), float(action)
        changed = Toy.trouble(self)
        observation, reward = changed if changed else (observation, reward)
        return observation, reward, self.t == 7, False, {}


gymnasium.register("Toy-v0", entry_point=Toy)
gymnasium.register("ToyLimited-v0", entry_point=Toy, max_episode_steps=7)


def make(env_id, width=4, status=None):
    """Return rollouts, a theta that prefers nothing, and a filter that does something."""
    spec = describe(env_id)
    policy = spec.policy((8,))
    rng = np.random.default_rng(1)
    theta = policy.initialise(rng)
    theta += 0.3 * rng.standard_normal(len(theta))
    frozen = ObservationFilter.identity(spec.observation_size).merged(rng.standard_normal((30, spec.observation_size)))
    return Rollouts(spec, policy, GymnasiumVectorEnv(spec, width), SEED, status), theta, frozen


def play(env_id, numbers, width=4, concurrency=4, iteration=2, status=None):
    rollouts, theta, frozen = make(env_id, width, status)
    requests = iter(numbers)
    return concatenate(rollouts.play(theta, frozen, iteration, lambda: next(requests, None), concurrency))


def same_bits(a, b):
    """Return whether all arrays agree in dtype, shape and bits."""
    pairs = [(getattr(a, f.name), getattr(b, f.name)) for f in fields(Fragments)]
    return all(x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes() for x, y in pairs)


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
    observations, actions, rewards = (np.array(column) for column in zip(*steps, strict=True))
    total = 0.0
    for reward in rewards:
        total += reward
    return Fragments(
        observations=observations.astype(np.float64),
        actions=actions,
        rewards=rewards,
        final_observations=observation[None].astype(np.float64),
        numbers=np.array([number]),
        lengths=np.array([len(rewards)]),
        starts=np.array([0]),
        terminated=np.array([terminated]),
        truncated=np.array([truncated and not terminated]),
        returns=np.array([total]),
    )


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
def test_episodes_are_those_of_a_plain_loop(env_id, width):
    """Any number of slots up to ROWS, any number of them in use."""
    for concurrency in {1, 2, width, width + 3}:
        assert same_bits(play(env_id, range(6), width, concurrency).sorted(), plain(env_id, range(6)))


@pytest.mark.parametrize("width", [ROWS + 1, 3 * ROWS])
def test_more_slots_than_rows_in_a_block(width):
    alone = play("CartPole-v1", range(40), width, 1)
    for concurrency in (2, width):
        assert same_bits(play("CartPole-v1", range(40), width, concurrency).sorted(), alone)


@pytest.mark.parametrize("env_id", ENVS)
@given(numbers=st.permutations(range(6)), concurrency=st.integers(1, 4))
@settings(max_examples=5, deadline=None)
def test_the_order_of_the_requests_does_not_matter(env_id, numbers, concurrency):
    assert same_bits(play(env_id, numbers, 4, concurrency).sorted(), plain(env_id, range(6)))


def test_episodes_differ_by_number_iteration_and_run_seed():
    """Otherwise equal bits above would mean little."""
    episodes = [play("CartPole-v1", [number], iteration=i) for number, i in ((0, 2), (1, 2), (0, 3))]
    starts = {e.observations[0].tobytes() for e in episodes}
    assert len(starts) == 3


def test_masks_and_returns():
    """CartPole terminates long before its limit, Pendulum only meets its limit."""
    cartpole, pendulum = plain("CartPole-v1", range(6)), plain("Pendulum-v1", range(6))
    for episodes in (play("CartPole-v1", range(6)), play("Pendulum-v1", range(6))):
        assert np.all(episodes.ended)
        sums = [episodes.rewards[rows].sum() for rows in episodes.slices()]
        np.testing.assert_allclose(episodes.returns, sums)
    assert np.all(cartpole.terminated)
    assert not np.any(cartpole.truncated)
    assert np.all(pendulum.truncated)
    assert not np.any(pendulum.terminated)
    assert pendulum.lengths.tolist() == [200] * 6
    assert np.array_equal(cartpole.returns, cartpole.lengths)  # the environment's own reward: 1 a step


def test_a_termination_at_the_time_limit_is_a_termination():
    episodes = play("ToyLimited-v0", range(3))
    assert episodes.terminated.all()
    assert not episodes.truncated.any()


def test_discrete_actions_may_start_anywhere():
    """The policy counts from 0; the environment got 3 and 4, as its reward says."""
    episodes = play("Toy-v0", range(4))
    assert episodes.actions.shape == (episodes.steps,)
    assert set(episodes.actions.tolist()) == {0, 1}
    assert np.array_equal(episodes.rewards, episodes.actions + 3.0)


def test_steps_are_counted_as_stepped(monkeypatch):
    stepped = []
    monkeypatch.setattr(Toy, "trouble", lambda env: stepped.append(env.t))
    assert play("Toy-v0", range(5), 3, 2).steps == len(stepped) == 35


def test_without_requests_nothing_is_played():
    for env_id in ENVS:
        rollouts, theta, frozen = make(env_id)
        assert rollouts.play(theta, frozen, 2, lambda: None, 4) == []


# --- segments


def advance(env_id, lengths, width=4, slot_numbers=range(1, 4), num_envs=6, rollouts=None, iteration=2):
    """Return segments of these lengths, in iterations from the given one, of slots 1, 2 and 3 of 6."""
    made, theta, frozen = make(env_id, width)
    rollouts = rollouts or made
    return [
        concatenate(rollouts.advance(theta, frozen, i, slot_numbers, num_envs, steps))
        for i, steps in enumerate(lengths, iteration)
    ], rollouts


def glued(segments):
    """Return the fragments of each episode joined, for the episodes that ended; check that they fit together."""
    fragments = concatenate(segments).sorted()
    whole = []
    for number in np.unique(fragments.numbers):
        mine = np.flatnonzero(fragments.numbers == number)
        rows = [range(fragments.slices()[i].start, fragments.slices()[i].stop) for i in mine]
        starts, lengths = fragments.starts[mine], fragments.lengths[mine]
        assert starts.tolist() == [0, *np.cumsum(lengths)[:-1]]
        assert not fragments.ended[mine[:-1]].any()
        for i, after in zip(mine, rows[1:], strict=False):  # a cut fragment ends where the next begins
            assert np.array_equal(fragments.final_observations[i], fragments.observations[after[0]])
        if fragments.ended[mine[-1]]:
            every, end = np.concatenate(rows), mine[-1:]
            per_step = {name: getattr(fragments, name)[every] for name in ("observations", "actions", "rewards")}
            sizes = {"starts": np.zeros(1, np.int64), "lengths": np.array([len(every)])}
            names = ("final_observations", "numbers", "terminated", "truncated", "returns")
            whole.append(Fragments(**per_step, **sizes, **{name: getattr(fragments, name)[end] for name in names}))
    return concatenate(whole)


@pytest.mark.parametrize(("env_id", "lengths"), [("CartPole-v1", [7, 1, 30, 12, 40]), ("Pendulum-v1", [150, 100, 160])])
def test_segments_glued_together_are_the_episodes_of_the_same_keys(env_id, lengths):
    segments, _ = advance(env_id, lengths)
    assert [s.steps for s in segments] == [3 * n for n in lengths]
    whole = glued(segments)
    numbers = whole.numbers.tolist()
    assert same_bits(whole, plain(env_id, numbers, iteration=0))
    expected = range(2) if env_id == "Pendulum-v1" else range(3)  # the k-th episode of slot l is l + k * num_envs
    assert {slot + k * 6 for slot in (1, 2, 3) for k in expected} <= set(numbers)
    assert all(number % 6 in (1, 2, 3) for number in numbers)


def test_where_a_segment_is_cut_does_not_matter():
    (one,), _ = advance("CartPole-v1", [90])
    many, _ = advance("CartPole-v1", [20, 1, 1, 33, 35], width=3)
    assert same_bits(glued([one]), glued(many))


def test_a_cut_is_neither_terminated_nor_truncated():
    (segment,), _ = advance("Pendulum-v1", [10])
    assert segment.numbers.tolist() == [1, 2, 3]
    assert not segment.ended.any()


@pytest.mark.parametrize("env_id", [*ENVS, "Toy-v0"])
@pytest.mark.parametrize("before", [1, 7, 70])  # 7: the toy's episodes end where the segment ends
def test_unfinished_episodes_go_on_bit_for_bit(env_id, before):
    """Also beyond the noise that is drawn ahead, and through a second interruption."""
    _, original = advance(env_id, [before])
    unfinished = original.unfinished()
    restored, _, _ = make(env_id, 4)
    restored.restore(unfinished, 3)
    again = restored.unfinished()
    assert [episode.number for episode in unfinished] == original.status.numbers[original.slots].tolist()
    for a, b in zip(unfinished, again, strict=True):
        assert a.number == b.number
        assert np.array_equal(a.actions, b.actions)
        assert a.actions.dtype == b.actions.dtype
        assert np.array_equal(a.observation, b.observation)
    ahead, _ = advance(env_id, [40, 50], rollouts=original)
    resumed, _ = advance(env_id, [40, 50], rollouts=restored)
    assert all(same_bits(a, b) for a, b in zip(ahead, resumed, strict=True))
    for a, b in zip(original.unfinished(), restored.unfinished(), strict=True):
        assert np.array_equal(a.actions, b.actions)


def test_an_environment_that_cannot_be_resumed_says_so():
    _, original = advance("CartPole-v1", [5])
    wrong = [UnfinishedEpisode(e.number, e.actions, e.observation + 1e-9, e.state) for e in original.unfinished()]
    with pytest.raises(EpisodeFailed, match="cannot be resumed exactly") as failure:
        make("CartPole-v1", 4)[0].restore(wrong, 7)
    assert (failure.value.iteration, failure.value.episode) == (7, wrong[0].number)


# --- failures


def fails_in(number, iteration, do):
    """Return a trouble that does something at step 4 of one episode."""

    def trouble(env):
        if env.seed == reset_seed(SEED, iteration, number) and env.t == 4:
            return do()
        return None

    return trouble


def raises():
    raise RuntimeError("the arm\n fell off")


@pytest.mark.parametrize(
    ("do", "cause"),
    [
        (raises, "step raised RuntimeError: the arm fell off"),
        (lambda: (np.array([np.nan]), 1.0), "an observation that is not finite"),
        (lambda: (np.array([np.inf]), 1.0), "an observation that is not finite"),
        (lambda: (np.zeros(1), np.nan), "a reward that is not finite"),
        (lambda: (np.zeros(1), -np.inf), "a reward that is not finite"),
    ],
)
@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_failure_names_the_episode(do, cause, concurrency, monkeypatch):
    monkeypatch.setattr(Toy, "trouble", fails_in(4, 9, do))
    with pytest.raises(EpisodeFailed) as failure:
        play("Toy-v0", range(6), 3, concurrency, iteration=9)
    error, seed = failure.value, reset_seed(SEED, 9, 4)
    assert (error.env, error.iteration, error.episode, error.seed) == ("Toy-v0", 9, 4, seed)
    assert cause in error.cause
    assert all(text in str(error) for text in ("Toy-v0", "episode 4 of iteration 9", str(seed), cause))


@pytest.mark.parametrize(("lengths", "iteration"), [([20], 2), ([8, 1, 5], 4), ([7, 3, 1], 4)])
def test_a_failing_segment_names_the_episode_and_the_iteration_in_which_it_failed(lengths, iteration, monkeypatch):
    """Episodes outlast iterations, and so their keys have none: the seed says 0 where the message says when."""
    monkeypatch.setattr(Toy, "trouble", fails_in(8, 0, raises))  # the second episode of slot 2, on its 4th step
    with pytest.raises(EpisodeFailed) as failure:
        advance("Toy-v0", lengths)
    error = failure.value
    assert (error.iteration, error.episode, error.seed) == (iteration, 8, reset_seed(SEED, 0, 8))
    assert f"episode 8 of iteration {iteration}" in str(error)


def test_a_failing_reset_names_the_episode(monkeypatch):
    monkeypatch.setattr(Toy, "reset", lambda env, **options: (np.full(1, np.nan), {}))
    with pytest.raises(EpisodeFailed, match="reset returned an observation that is not finite") as failure:
        play("Toy-v0", [3])
    assert failure.value.episode == 3


# --- the status


def test_the_status_shows_the_episode_at_work(monkeypatch):
    memory = np.full(RankStatus.size(8), 77, np.int64)  # as shared with a watchdog, wider than the rollouts
    status, watchdog, seen = RankStatus.on(memory), RankStatus.reading(memory), []

    def look(env):
        seen.append((watchdog.episodes(), env.seed, int(watchdog.busy[0])))

    monkeypatch.setattr(Toy, "trouble", look)
    assert (watchdog.episodes(), int(watchdog.heartbeat[0])) == ([], 0)
    play("Toy-v0", range(5), width=3, concurrency=2, iteration=6, status=status)
    assert len(seen) == 35
    for episodes, seed, busy in seen:
        ((reset_with, number),) = episodes
        assert reset_with == reset_seed(SEED, 6, number) == seed
        assert busy == 1
    assert {number for episodes, _, _ in seen for _, number in episodes} == set(range(5))
    assert watchdog.heartbeat[0] > 21  # a call for every reset and every step
    assert (watchdog.episodes(), watchdog.busy[0], watchdog.iteration[0]) == ([], 0, 6)


def test_the_status_between_steps_shows_all_episodes():
    status = RankStatus.on(np.zeros(RankStatus.size(4), np.int64))
    rollouts, theta, frozen = make("CartPole-v1", 4, status)
    rollouts.advance(theta, frozen, 9, range(1, 4), 6, 1)
    assert status.episodes() == [(reset_seed(SEED, 0, number), number) for number in (1, 2, 3)]
    assert status.iteration[0] == 9
    status.stepping[0] = 2
    assert status.episodes() == [(reset_seed(SEED, 0, 3), 3)]
    assert status.busy[0] == 0


def test_a_failure_leaves_the_status_on_the_episode_that_failed(monkeypatch):
    monkeypatch.setattr(Toy, "trouble", fails_in(4, 9, raises))
    status = RankStatus.on(np.zeros(RankStatus.size(3), np.int64))
    with pytest.raises(EpisodeFailed):
        play("Toy-v0", range(6), 3, 3, iteration=9, status=status)
    assert status.episodes() == [(reset_seed(SEED, 9, 4), 4)]


def test_nothing_given_is_modified():
    rollouts, theta, frozen = make("CartPole-v1", 4)
    before, vector = theta.copy(), frozen.to_vector()
    requests = iter(range(4))
    rollouts.play(theta, frozen, 1, lambda: next(requests, None), 4)
    assert np.array_equal(theta, before)
    assert np.array_equal(frozen.to_vector(), vector)
