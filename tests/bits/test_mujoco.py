"""Batched MuJoCo against Gymnasium stepping each environment alone: not one bit may differ."""

import dataclasses
from collections import Counter

import gymnasium
import numpy as np
import pytest

from minitrpo.errors import EnvironmentFailed
from minitrpo.experience.batched_mujoco import MujocoVectorEnv, supports
from minitrpo.experience.environments import describe, make

WIDTH = 4
# Short enough for random actions to meet the time limit as well as terminations
LIMITS = {"Reacher-v5": 50, "Swimmer-v5": 90, "HalfCheetah-v5": 90, "Hopper-v5": 20, "Walker2d-v5": 20, "Ant-v5": 60,
          "InvertedPendulum-v5": 9, "InvertedDoublePendulum-v5": 6, "Humanoid-v5": 20}  # fmt: skip
FREE_ACTIONS = {"InvertedPendulum-v5", "InvertedDoublePendulum-v5"}  # the reward does not depend on the action
NEVER_TERMINATES = {"Reacher-v5", "Swimmer-v5", "HalfCheetah-v5"}
WILD = ("Reacher-v5", "Hopper-v5", "Humanoid-v5")  # by make test; all of them by .ci/run
SCALES = (0.0, 0.3, 1.0, 4.0)  # of the actions, which the bounds clip at 1


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo logs its warnings into the current folder


class OneByOne:
    """Gymnasium environments, one per slot, by `gymnasium.make` alone."""

    def __init__(self, spec, width):
        self.spec = spec
        self.envs = [make(spec.id, max_episode_steps=spec.max_episode_steps) for _ in range(width)]

    def reset(self, slot, seed):
        return self.envs[slot].reset(seed=seed)[0]

    def step(self, slots, actions):
        low, high = self.spec.low, self.spec.high
        sent = np.clip((low + high) / 2 + (high - low) / 2 * actions, low, high).astype(np.float32)
        results = [self.envs[slot].step(action)[:4] for slot, action in zip(slots.tolist(), sent, strict=True)]
        return tuple(np.array(column) for column in zip(*results, strict=True))


def spec_of(env_id):
    return dataclasses.replace(describe(env_id), max_episode_steps=LIMITS[env_id])


def some_slots(rng, width):
    slots = np.flatnonzero(rng.random(width) < 0.7)
    return slots if len(slots) and rng.random() < 0.7 else np.arange(width)


def assert_same(ours, theirs):
    for name, a, b in zip(("observations", "rewards", "terminated", "truncated"), ours, theirs, strict=True):
        assert np.array_equal(a, b), f"{name} differ by {np.max(np.abs(a.astype(float) - b.astype(float)))}"


@pytest.mark.parametrize("env_id", LIMITS)
def test_bits_equal_gymnasium(env_id):
    spec, rng = spec_of(env_id), np.random.default_rng(1)
    ours, theirs = MujocoVectorEnv(spec, WIDTH), OneByOne(spec, WIDTH)
    seen, scales, ended = Counter(), np.zeros(WIDTH), range(WIDTH)
    for _ in range(300):
        for slot in ended:
            seed, scales[slot] = int(rng.integers(2**31)), rng.choice(SCALES)
            assert np.array_equal(ours.reset(slot, seed), theirs.reset(slot, seed))
        slots = some_slots(rng, WIDTH)
        actions = scales[slots, None] * rng.standard_normal((len(slots), spec.action_size))
        result = ours.step(slots, actions)
        assert_same(result, theirs.step(slots, actions))
        seen.update(terminated=int(result[2].sum()), truncated=int(result[3].sum()))
        ended = slots[result[2] | result[3]].tolist()
    assert seen["truncated"] > 3
    assert seen["terminated"] > 3 or env_id in NEVER_TERMINATES


def put_into_wild_states(ours, theirs, rng):
    for slot, env in enumerate(theirs.envs):
        ours.reset(slot, slot)
        theirs.reset(slot, slot)
        env = env.unwrapped
        qpos = env.init_qpos + 10 ** rng.uniform(-3, -0.3) * rng.standard_normal(env.model.nq)
        qvel = 10 ** rng.uniform(-1, 2) * rng.standard_normal(env.model.nv)
        env.set_state(qpos, qvel)
        ours.batch.qpos[slot], ours.batch.qvel[slot] = qpos, qvel
    ours.batch.forward()


@pytest.mark.parametrize("env_id", [e if e in WILD else pytest.param(e, marks=pytest.mark.slow) for e in LIMITS])
def test_bits_equal_gymnasium_from_wild_states(env_id):
    spec, rng, width = spec_of(env_id), np.random.default_rng(3), 24
    ours, theirs, slots = MujocoVectorEnv(spec, width), OneByOne(spec, width), np.arange(width)
    for _ in range(10):
        put_into_wild_states(ours, theirs, rng)
        for _ in range(4):
            actions = 2 * rng.standard_normal((width, spec.action_size))
            assert_same(ours.step(slots, actions), theirs.step(slots, actions))


@pytest.mark.parametrize("env_id", LIMITS)
def test_an_action_that_is_no_number_names_the_slot_unless_mujoco_ignores_it_as_in_gymnasium(env_id):
    spec = spec_of(env_id)
    ours, theirs, slots = MujocoVectorEnv(spec, WIDTH), OneByOne(spec, WIDTH), np.array([0, 2])
    for slot in range(WIDTH):
        assert np.array_equal(ours.reset(slot, slot), theirs.reset(slot, slot))
    actions = np.zeros((2, spec.action_size))
    actions[1, 0] = np.nan
    if env_id in FREE_ACTIONS:
        assert_same(ours.step(slots, actions), theirs.step(slots, actions))
    else:
        with pytest.raises(EnvironmentFailed, match="finite") as failure:
            ours.step(slots, actions)
        assert failure.value.slot == 2


def test_supports_gymnasiums_own_and_nothing_else(monkeypatch):
    assert all(map(supports, LIMITS))
    assert not any(map(supports, ["CartPole-v1", "HalfCheetah-v4", "Nothing-v0", "some.module:HalfCheetah-v5"]))
    own = gymnasium.registry["HalfCheetah-v5"]
    for change in ({"kwargs": {"ctrl_cost_weight": 0.5}}, {"entry_point": "mine:Cheetah"}, {"entry_point": object}):
        monkeypatch.setitem(gymnasium.registry, "HalfCheetah-v5", dataclasses.replace(own, **change))
        assert not supports("HalfCheetah-v5")
