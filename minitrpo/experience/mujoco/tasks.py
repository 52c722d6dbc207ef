"""All of Gymnasium's MuJoCo tasks that can be stepped together, by id; those that stay in place are defined here."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from minitrpo.experience.mujoco.runners import Ant, HalfCheetah, Hopper, Humanoid, Swimmer, Walker2d
from minitrpo.experience.mujoco.task import Task, clipped, never, sum_of_squares
from minitrpo.policies import Array


class Reacher(Task):
    """Bring the fingertip to the target: reward = -|fingertip - target| - |a|^2."""

    entry_point, file, frame_skip, noise = "reacher_v5:ReacherEnv", "reacher.xml", 2, 0.1
    reads = ("xpos",)

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.fingertip, self.target = model.body("fingertip").id, model.body("target").id

    def start(self, random: np.random.Generator, qpos: Array, qvel: Array) -> None:
        """Add noise to the arm; draw the target from a disc of radius 0.2 by rejection, at rest."""
        qpos += random.uniform(-self.noise, self.noise, len(qpos))
        target = random.uniform(-0.2, 0.2, 2)
        while np.linalg.norm(target) >= 0.2:
            target = random.uniform(-0.2, 0.2, 2)
        qpos[-2:] = target
        qvel += random.uniform(-0.005, 0.005, len(qvel))
        qvel[-2:] = 0

    def observe(self, state: SimpleNamespace) -> Array:
        """Return cos and sin of the two joints, the target, the joints' velocities, fingertip - target in the plane."""
        joints, target = state.qpos[:, :2], state.qpos[:, 2:]
        gap = self._gap(state)[:, :2]
        return np.concatenate([np.cos(joints), np.sin(joints), target, state.qvel[:, :2], gap], axis=1)

    def reward_and_terminated(self, state: SimpleNamespace, actions: Array, velocity: Array) -> tuple[Array, Array]:
        gap = self._gap(state)
        distance = np.sqrt(np.vecdot(gap, gap))  # vecdot is BLAS's dot, as in np.linalg.norm; a plain sum is not
        return -distance - sum_of_squares(actions), never(state)

    def _gap(self, state: SimpleNamespace) -> Array:
        return state.xpos[:, self.fingertip] - state.xpos[:, self.target]


class InvertedPendulum(Task):
    """Balance a pole on a cart: reward = 1 until it leans by more than 0.2, which terminates."""

    entry_point = "inverted_pendulum_v5:InvertedPendulumEnv"
    file, frame_skip, noise = "inverted_pendulum.xml", 2, 0.01

    def observe(self, state: SimpleNamespace) -> Array:
        return np.concatenate([state.qpos, state.qvel], axis=1)

    def reward_and_terminated(self, state: SimpleNamespace, actions: Array, velocity: Array) -> tuple[Array, Array]:
        upright = np.abs(state.qpos[:, 1]) <= 0.2
        return upright.astype(np.float64), ~upright


class InvertedDoublePendulum(Task):
    """Balance two poles on a cart: reward = 10 - 0.01 x^2 - (y - 2)^2 - (1e-3 v1^2 + 5e-3 v2^2).

    (x, y): the tip, whose y <= 1 terminates and costs the 10; v1, v2: angular velocities of the poles.
    """

    entry_point = "inverted_double_pendulum_v5:InvertedDoublePendulumEnv"
    file, frame_skip, noise = "inverted_double_pendulum.xml", 5, 0.1
    normal_velocities = True
    reads = ("site_xpos", "qfrc_constraint")

    def observe(self, state: SimpleNamespace) -> Array:
        """Return the cart's x, sin and cos of the angles, the velocities and the cart's constraint force, clipped."""
        cart, angles = state.qpos[:, :1], state.qpos[:, 1:]
        moves = clipped(state.qvel, 10), clipped(state.qfrc_constraint[:, :1], 10)
        return np.concatenate([cart, np.sin(angles), np.cos(angles), *moves], axis=1)

    def reward_and_terminated(self, state: SimpleNamespace, actions: Array, velocity: Array) -> tuple[Array, Array]:
        x, y = state.site_xpos[:, 0, 0], state.site_xpos[:, 0, 2]
        fallen = y <= 1
        distance = 0.01 * squares(x) + squares(y - 2)
        speed = 1e-3 * squares(state.qvel[:, 1]) + 5e-3 * squares(state.qvel[:, 2])
        return 10.0 * ~fallen - distance - speed, fallen


def squares(values: Array) -> Array:
    """Return v ** 2 of each number (k,) by the C library's pow, one by one.

    Gymnasium squares scalars here; pow rounds about one in a thousand otherwise than v * v, which is what numpy does
    for arrays.
    """
    return np.array([value**2 for value in values])


TASKS: dict[str, type[Task]] = {
    "Reacher-v5": Reacher,
    "Swimmer-v5": Swimmer,
    "HalfCheetah-v5": HalfCheetah,
    "Hopper-v5": Hopper,
    "Walker2d-v5": Walker2d,
    "Ant-v5": Ant,
    "InvertedPendulum-v5": InvertedPendulum,
    "InvertedDoublePendulum-v5": InvertedDoublePendulum,
    "Humanoid-v5": Humanoid,
}
