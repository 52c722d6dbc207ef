"""Batched MuJoCo: Gymnasium's own tasks, all slots stepped by one call into C, with the bits of stepping each alone.

What Gymnasium does in Python around every step of every copy is done once a tick, for all slots, in numpy.
Source: `mujoco.batch` (MuJoCo 4); the tasks are in `mujoco_tasks`.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import mujoco
import numpy as np
from gymnasium.utils import seeding
from mujoco.batch import Batch, SimulationError

from minitrpo.errors import EnvironmentFailed
from minitrpo.experience.environments import EnvironmentSpec, without_mujoco_warnings
from minitrpo.experience.mujoco_tasks import TASKS
from minitrpo.experience.vector_env import VectorEnv, check_finite
from minitrpo.policies import Array
from minitrpo.supervision.watchdog import status

ASSETS = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
ALL = slice(None)


def supports(env_id: str) -> bool:
    """Return whether the id is one of the tasks and still means Gymnasium's own class with its default settings."""
    registered = gymnasium.registry.get(env_id)
    if env_id not in TASKS or registered is None:
        return False
    own = str(registered.entry_point).startswith("gymnasium.envs.mujoco.")
    return own and not registered.kwargs and not registered.additional_wrappers


class MujocoVectorEnv(VectorEnv):
    """Copies of one of Gymnasium's MuJoCo tasks, one per slot, stepped together by one thread."""

    def __init__(self, spec: EnvironmentSpec, num_envs: int) -> None:
        super().__init__(spec, num_envs)
        task = TASKS[spec.id]
        with without_mujoco_warnings():
            self.model = mujoco.MjModel.from_xml_path(str(ASSETS / task.file))
        self.task = task(self.model)
        # MuJoCo computes external forces only when asked after a step, which takes the slot's whole MjData
        self._forces = "cfrc_ext" in task.reads
        self.batch = Batch(self.model, num_envs, nthread=1, persistent=self._forces)
        self._fields = {name: self.batch.bind(name) for name in ("qpos", "qvel", *task.reads) if name != "cfrc_ext"}
        if self._forces:
            self._fields["cfrc_ext"] = np.zeros((num_envs, self.model.nbody, 6))
            self._data = mujoco.MjData(self.model)
        self._ctrl = self.batch.bind("ctrl")
        self._all = SimpleNamespace(**self._fields)
        self._seconds = self.model.opt.timestep * task.frame_skip  # of one step
        self._limit = np.inf if spec.max_episode_steps is None else spec.max_episode_steps
        self._steps = np.zeros(num_envs, np.int64)  # of the episode in each slot

    def reset(self, slot: int, seed: int) -> Array:
        """Begin an episode in a slot and return its first observation (D,)."""
        one = np.array([slot], np.int32)
        status.begin("reset", slot)
        self.batch.reset(one, stage=mujoco.mjtStage.mjSTAGE_NONE.value)
        self.task.start(seeding.np_random(seed)[0], self._fields["qpos"][slot], self._fields["qvel"][slot])
        try:
            self.batch.forward(one)
        except SimulationError as error:
            raise named(error) from error
        self._steps[slot] = 0
        status.end()
        if self._forces:
            self._fields["cfrc_ext"][slot] = 0
        return self.task.observe(self._now(one))[0]

    def step(self, slots: Array, actions: Array) -> tuple[Array, Array, Array, Array]:
        """Step k ascending slots with the policy's actions; return observations (k, D), rewards, terminated, truncated.

        Raises EnvironmentFailed for the first slot where MuJoCo fails or something is not finite.
        """
        ids, rows = (None, ALL) if len(slots) == self.num_envs else (slots, slots)
        actions = self.spec.stretched(actions)
        self._ctrl[rows] = actions
        before = self.task.position(self._all)[rows].copy()
        status.begin("step")  # all slots at once, in C
        try:
            self.batch.step(ids, nstep=self.task.frame_skip)
        except SimulationError as error:
            raise named(error) from error
        for slot in slots.tolist() if self._forces else ():
            self.batch.get_data(slot, self._data)
            mujoco.mj_rnePostConstraint(self.model, self._data)
            self._fields["cfrc_ext"][slot] = self._data.cfrc_ext
        state = self._now(rows)
        velocities = (self.task.position(state) - before) / self._seconds
        observations = self.task.observe(state)
        rewards, terminated = self.task.reward_and_terminated(state, actions, velocities)
        check_finite(slots, observations, rewards)
        status.end()
        self._steps[rows] += 1
        return observations, rewards, terminated, self._steps[rows] >= self._limit

    def _now(self, rows: Any) -> SimpleNamespace:
        """Return what the task reads of these slots; for all slots the arrays are views that the next step changes."""
        if rows is ALL:
            return self._all
        return SimpleNamespace(**{name: field.take(rows, axis=0) for name, field in self._fields.items()})


def named(error: SimulationError) -> EnvironmentFailed:
    """Return the failure of the first slot that MuJoCo complains of."""
    return EnvironmentFailed(int(error.ids[0]), f"MuJoCo failed: {error}")
