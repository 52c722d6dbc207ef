"""Gymnasium's MuJoCo tasks whose reward is to get ahead: swimmer, cheetah, hopper, walker, ant, humanoid."""

from types import SimpleNamespace

import numpy as np

from minitrpo.experience.mujoco.task import Task, between, clipped, never, sum_of_squares
from minitrpo.policies import Array

TORSO = 1  # the first body after the world
ROOT = 6  # degrees of freedom of a torso that nothing holds: no motor drives them


class Swimmer(Task):
    """Swim along x: reward = v - 1e-4 |a|^2; the observation leaves out x and y."""

    entry_point, file, frame_skip, noise = "swimmer_v5:SwimmerEnv", "swimmer.xml", 4, 0.1
    hidden = 2  # leading coordinates that the observation leaves out
    control_cost = 1e-4

    def observe(self, state: SimpleNamespace) -> Array:
        return np.concatenate([state.qpos[:, self.hidden :], state.qvel], axis=1)

    def reward_and_terminated(self, state: SimpleNamespace, actions: Array, velocity: Array) -> tuple[Array, Array]:
        return velocity - self.control_cost * sum_of_squares(actions), never(state)


class HalfCheetah(Swimmer):
    """Run along x: reward = v - 0.1 |a|^2; the observation leaves out x."""

    entry_point, file, frame_skip, noise = "half_cheetah_v5:HalfCheetahEnv", "half_cheetah.xml", 5, 0.1
    normal_velocities = True
    hidden = 1
    control_cost = 0.1


class Hopper(Task):
    """Hop along x without falling: reward = v + 1 if healthy - 1e-3 |a|^2; terminated when not healthy.

    Healthy: height above 0.7, lean within 0.2, all other coordinates and velocities within 100.
    """

    entry_point, file, frame_skip, noise = "hopper_v5:HopperEnv", "hopper.xml", 4, 0.005

    def observe(self, state: SimpleNamespace) -> Array:
        """Return all coordinates but x, and the velocities clipped to [-10, 10]."""
        return np.concatenate([state.qpos[:, 1:], clipped(state.qvel, 10)], axis=1)

    def reward_and_terminated(self, state: SimpleNamespace, actions: Array, velocity: Array) -> tuple[Array, Array]:
        healthy = self.healthy(state)
        return velocity + healthy - 1e-3 * sum_of_squares(actions), ~healthy

    def healthy(self, state: SimpleNamespace) -> Array:
        """Return which slots still stand (k,)."""
        height, lean = state.qpos[:, 1], state.qpos[:, 2]
        others = np.concatenate([state.qpos[:, 2:], state.qvel], axis=1)
        return (np.abs(others) < 100).all(axis=1) & (height > 0.7) & (np.abs(lean) < 0.2)


class Walker2d(Hopper):
    """Walk along x without falling: Hopper's reward; healthy: height in (0.8, 2), lean within 1."""

    entry_point, file, frame_skip, noise = "walker2d_v5:Walker2dEnv", "walker2d_v5.xml", 4, 0.005

    def healthy(self, state: SimpleNamespace) -> Array:
        return between(0.8, state.qpos[:, 1], 2) & (np.abs(state.qpos[:, 2]) < 1)


class Ant(Task):
    """Run along x on four legs: reward = v + 1 if healthy - (0.5 |a|^2 + 5e-4 |f|^2); terminated when not healthy.

    f: external forces and torques on all bodies, clipped to [-1, 1]. Healthy: height in [0.2, 1], a finite state.
    """

    entry_point, file, frame_skip, noise = "ant_v5:AntEnv", "ant.xml", 5, 0.1
    normal_velocities = True
    reads = ("xpos", "cfrc_ext")

    def position(self, state: SimpleNamespace) -> Array:
        """Return x of the torso, which lags behind `state.qpos`."""
        return state.xpos[:, TORSO, 0]

    def observe(self, state: SimpleNamespace) -> Array:
        """Return all coordinates but x and y, the velocities, and f of all bodies but the world."""
        return np.concatenate([state.qpos[:, 2:], state.qvel, self._forces(state)[:, 6:]], axis=1)

    def reward_and_terminated(self, state: SimpleNamespace, actions: Array, velocity: Array) -> tuple[Array, Array]:
        height = state.qpos[:, 2]
        finite = np.isfinite(state.qpos).all(axis=1) & np.isfinite(state.qvel).all(axis=1)
        healthy = finite & (height >= 0.2) & (height <= 1.0)
        costs = 0.5 * sum_of_squares(actions) + 5e-4 * sum_of_squares(self._forces(state))
        return velocity + healthy - costs, ~healthy

    def _forces(self, state: SimpleNamespace) -> Array:
        return clipped(state.cfrc_ext, 1).reshape(len(state.qpos), -1)


class Humanoid(Task):
    """Walk along x on two legs: reward = 1.25 v + 5 if healthy - (0.1 |a|^2 + min(5e-7 |f|^2, 10)).

    v: velocity of the centre of mass; f: external forces and torques on all bodies. Healthy: height in (1, 2);
    terminated when not healthy.
    """

    entry_point, file, frame_skip, noise = "humanoid_v5:HumanoidEnv", "humanoid.xml", 5, 0.01
    reads = ("ctrl", "xipos", "cinert", "cvel", "qfrc_actuator", "cfrc_ext")

    def position(self, state: SimpleNamespace) -> Array:
        """Return x of the centre of mass, which lags behind `state.qpos`."""
        mass = self.model.body_mass
        return np.einsum("b,kbj->kj", mass, state.xipos)[:, 0] / mass.sum()

    def observe(self, state: SimpleNamespace) -> Array:
        """Return coordinates but x and y, velocities, and of all bodies but the world inertia, velocity and force."""
        k = len(state.qpos)
        bodies = [field[:, 1:].reshape(k, -1) for field in (state.cinert, state.cvel, state.cfrc_ext)]
        inertia, velocity, force = bodies
        motors = state.qfrc_actuator[:, ROOT:]
        return np.concatenate([state.qpos[:, 2:], state.qvel, inertia, velocity, motors, force], axis=1)

    def reward_and_terminated(self, state: SimpleNamespace, actions: Array, velocity: Array) -> tuple[Array, Array]:
        healthy = between(1, state.qpos[:, 2], 2)
        force = sum_of_squares(state.cfrc_ext.reshape(len(state.qpos), -1))
        costs = 0.1 * sum_of_squares(state.ctrl) + np.minimum(5e-7 * force, 10)
        return 1.25 * velocity + 5.0 * healthy - costs, ~healthy
