"""Batched MuJoCo against Gymnasium stepping each environment alone: not one bit may differ."""

import dataclasses
import os
from collections import Counter
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest

from minitrpo.experience.environments import describe, make
from minitrpo.experience.lanes import LaneFailed
from minitrpo.experience.mujoco_tasks import squares

batched = pytest.importorskip("minitrpo.experience.batched", reason="mujoco.batch came with MuJoCo 4")
BatchedSimulators, supports = batched.BatchedSimulators, batched.supports

WIDTH = 4
LIMITS = {  # short enough for random actions to meet the time limit as well as terminations
    "Reacher-v5": 50,
    "Swimmer-v5": 90,
    "HalfCheetah-v5": 90,
    "Hopper-v5": 20,
    "Walker2d-v5": 20,
    "Ant-v5": 60,
    "InvertedPendulum-v5": 9,
    "InvertedDoublePendulum-v5": 6,
    "Humanoid-v5": 20,
}
FREE_ACTIONS = {"InvertedPendulum-v5", "InvertedDoublePendulum-v5"}  # the reward does not depend on the action
NEVER_TERMINATES = {"Reacher-v5", "Swimmer-v5", "HalfCheetah-v5"}
SCALES = (0.0, 0.3, 1.0, 4.0)  # of the actions, which the bounds clip at 1


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo logs its warnings into the current folder


class OneByOne:
    """Gymnasium environments, one per lane, by `gymnasium.make` alone."""

    def __init__(self, spec, width):
        self.spec = spec
        self.envs = [make(spec.id, max_episode_steps=spec.max_episode_steps) for _ in range(width)]

    def reset(self, lane, seed):
        return self.envs[lane].reset(seed=seed)[0]

    def step(self, lanes, actions):
        low, high = self.spec.low, self.spec.high
        sent = np.clip((low + high) / 2 + (high - low) / 2 * actions, low, high).astype(np.float32)
        results = [self.envs[lane].step(action)[:4] for lane, action in zip(lanes.tolist(), sent, strict=True)]
        return tuple(np.array(column) for column in zip(*results, strict=True))


def spec_of(env_id, limit=None):
    return dataclasses.replace(describe(env_id), max_episode_steps=limit or LIMITS[env_id])


def some_lanes(rng, width):
    lanes = np.flatnonzero(rng.random(width) < 0.7)
    return lanes if len(lanes) and rng.random() < 0.7 else np.arange(width)


def assert_same(ours, theirs):
    for name, a, b in zip(("observations", "rewards", "terminated", "truncated"), ours, theirs, strict=True):
        assert np.array_equal(a, b), f"{name} differ by {np.max(np.abs(a.astype(float) - b.astype(float)))}"


@pytest.mark.parametrize("env_id", LIMITS)
def test_bits_equal_gymnasium(env_id):
    spec, rng = spec_of(env_id), np.random.default_rng(1)
    ours, theirs = BatchedSimulators(spec, WIDTH), OneByOne(spec, WIDTH)
    seen, scales = Counter(), np.zeros(WIDTH)

    def begin(lane):
        seed = int(rng.integers(2**31))
        scales[lane] = rng.choice(SCALES)
        assert np.array_equal(ours.reset(lane, seed), theirs.reset(lane, seed))

    for lane in range(WIDTH):
        begin(lane)
    for _ in range(350):
        lanes = some_lanes(rng, WIDTH)
        actions = scales[lanes, None] * rng.standard_normal((len(lanes), spec.action_size))
        result = ours.step(lanes, actions)
        assert_same(result, theirs.step(lanes, actions))
        _, _, terminated, truncated = result
        seen.update(terminated=int(terminated.sum()), truncated=int(truncated.sum()), steps=len(lanes))
        for lane in lanes[terminated | truncated].tolist():
            begin(lane)
    assert seen["truncated"] > 3
    assert seen["terminated"] > 3 or env_id in NEVER_TERMINATES


def put(ours, theirs, rng):
    """Put all lanes of both into the same states, wilder than a policy would meet."""
    for lane, env in enumerate(theirs.envs):
        ours.reset(lane, lane)
        theirs.reset(lane, lane)
        env = env.unwrapped
        qpos = env.init_qpos + 10 ** rng.uniform(-3, -0.3) * rng.standard_normal(env.model.nq)
        qvel = 10 ** rng.uniform(-1, 2) * rng.standard_normal(env.model.nv)
        env.set_state(qpos, qvel)
        ours.batch.qpos[lane], ours.batch.qvel[lane] = qpos, qvel
    ours.batch.forward()


@pytest.mark.parametrize("env_id", LIMITS)
def test_bits_equal_gymnasium_from_wild_states(env_id):
    spec, rng, width = spec_of(env_id), np.random.default_rng(3), 24
    ours, theirs, lanes = BatchedSimulators(spec, width), OneByOne(spec, width), np.arange(width)
    for _ in range(20):
        put(ours, theirs, rng)
        for _ in range(4):
            actions = 2 * rng.standard_normal((width, spec.action_size))
            assert_same(ours.step(lanes, actions), theirs.step(lanes, actions))


def test_squares_round_as_gymnasium_scalars_do():
    values = np.random.default_rng(0).standard_normal(20_000)
    assert np.array_equal(squares(values), [np.float64(value) ** 2 for value in values.tolist()])


def play_alone(spec, width, lane, steps):
    """Return all results of one lane's episode, with other episodes in the other lanes, some of them resting."""
    simulators, mine, others = BatchedSimulators(spec, width), np.random.default_rng(2), np.random.default_rng(width)
    results = [simulators.reset(lane, 5)]
    for other in set(range(width)) - {lane}:
        simulators.reset(other, 100 + other)
    for _ in range(steps):
        lanes = np.union1d(some_lanes(others, width), [lane])
        actions = 2 * others.standard_normal((len(lanes), spec.action_size))
        actions[lanes == lane] = mine.standard_normal(spec.action_size)
        results += [column[lanes == lane] for column in simulators.step(lanes, actions)]
    return np.concatenate([np.ravel(result) for result in results])


@pytest.mark.parametrize("env_id", LIMITS)
def test_a_lane_does_not_depend_on_its_mates(env_id):
    spec = spec_of(env_id)
    alone = play_alone(spec, 1, 0, 40)
    assert np.array_equal(alone, play_alone(spec, 3, 2, 40))
    assert np.array_equal(alone, play_alone(spec, 32, 17, 40))


def test_actions_are_stretched_to_the_bounds_and_clipped():
    spec = spec_of("Humanoid-v5")  # its actions lie in [-0.4, 0.4]
    stretched = spec.stretched(np.array([[-1.0, -0.5, 0.0, 1.0, 7.0] + [0.0] * 12]))
    assert stretched.dtype == np.float32
    np.testing.assert_allclose(stretched[0, :5], [-0.4, -0.2, 0.0, 0.4, 0.4], rtol=1e-6)


def test_results_are_not_views_of_the_simulation():
    spec, lanes = spec_of("InvertedPendulum-v5"), np.arange(WIDTH)
    simulators = BatchedSimulators(spec, WIDTH)
    first = [simulators.reset(lane, lane) for lane in lanes.tolist()]
    result = simulators.step(lanes, np.ones((WIDTH, 1)))
    before = [array.copy() for array in (*first, *result)]
    simulators.step(lanes, np.ones((WIDTH, 1)))
    assert all(np.array_equal(a, b) for a, b in zip(before, (*first, *result), strict=True))


def steps_until_truncated(spec, most):
    simulators, lanes = BatchedSimulators(spec, 1), np.arange(1)
    simulators.reset(0, 0)
    ends = (simulators.step(lanes, np.zeros((1, spec.action_size)))[3][0] for _ in range(most))
    return next((step for step, truncated in enumerate(ends, 1) if truncated), None)


def test_time_limit_is_the_registered_one_or_none():
    spec = describe("Reacher-v5")
    assert steps_until_truncated(spec, 60) == 50
    assert steps_until_truncated(dataclasses.replace(spec, max_episode_steps=None), 60) is None


@pytest.mark.parametrize("env_id", sorted(LIMITS.keys() - FREE_ACTIONS))
def test_not_finite_names_the_lane(env_id):
    spec = spec_of(env_id)
    simulators = BatchedSimulators(spec, WIDTH)
    for lane in range(WIDTH):
        simulators.reset(lane, lane)
    actions = np.zeros((2, spec.action_size))
    actions[1, 0] = np.nan
    with pytest.raises(LaneFailed, match="not finite") as failure:
        simulators.step(np.array([0, 2]), actions)
    assert failure.value.lane == 2


@pytest.mark.parametrize("env_id", sorted(FREE_ACTIONS))
def test_an_action_that_mujoco_ignores_is_ignored_as_in_gymnasium(env_id):
    spec, lanes = spec_of(env_id), np.arange(2)
    ours, theirs = BatchedSimulators(spec, 2), OneByOne(spec, 2)
    for lane in range(2):
        assert np.array_equal(ours.reset(lane, lane), theirs.reset(lane, lane))
    actions = np.array([[0.5], [np.nan]])
    assert_same(ours.step(lanes, actions), theirs.step(lanes, actions))


def test_an_error_inside_mujoco_names_the_lane(monkeypatch):
    simulators = BatchedSimulators(spec_of("Reacher-v5"), WIDTH)

    def fail(ids, nstep):
        raise batched.SimulationError(np.array([2, 3]), "stack overflow", 4)

    monkeypatch.setattr(simulators, "batch", SimpleNamespace(step=fail))
    with pytest.raises(LaneFailed, match="stack overflow") as failure:
        simulators.step(np.arange(WIDTH), np.zeros((WIDTH, 2)))
    assert failure.value.lane == 2


def test_loading_says_nothing(capfd):
    spec = spec_of("HalfCheetah-v5")
    if os.path.exists("MUJOCO_LOG.TXT"):
        os.remove("MUJOCO_LOG.TXT")
    BatchedSimulators(spec, 1)
    assert capfd.readouterr() == ("", "")
    assert os.listdir() == []


@pytest.mark.parametrize("env_id", LIMITS)
def test_supports_gymnasiums_own(env_id):
    assert supports(env_id)


def test_supports_nothing_else(monkeypatch):
    assert not any(map(supports, ["CartPole-v1", "HalfCheetah-v4", "Nothing-v0", "some.module:HalfCheetah-v5"]))
    own = gymnasium.registry["HalfCheetah-v5"]
    for change in ({"kwargs": {"ctrl_cost_weight": 0.5}}, {"entry_point": "mine:Cheetah"}, {"entry_point": object}):
        monkeypatch.setitem(gymnasium.registry, "HalfCheetah-v5", dataclasses.replace(own, **change))
        assert not supports("HalfCheetah-v5")
