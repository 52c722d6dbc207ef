"""Gymnasium's MuJoCo tasks, version 5: how each starts, what it shows, what it pays, when it is over.

The physics is MuJoCo's; a task is what is written around it, here for k slots at once and with the same bits that
Gymnasium computes for one. For the bits, sums run over the last axis of contiguous rows, the control cost is summed
in float32 as the actions are, and no formula is rearranged.

A task reads `state`, the slots of one tick: `state.qpos` (k, nq), `state.qvel` (k, nv) and the arrays it names in
`reads`. After a step `state.qpos` and `state.qvel` are new, while all else still describes the last evaluation of the
dynamics inside that step, as in MuJoCo itself.

Source: Gymnasium's documentation and `gymnasium/envs/mujoco/*_v5.py`; the constants are theirs.
"""

from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from minitrpo.policies import Array

TORSO = 1  # the first body after the world
ROOT = 6  # degrees of freedom of a torso that nothing holds: no motor drives them


class Task:
    """One task: a MuJoCo model, how many of its steps make one of ours, and the rules around it."""

    file: ClassVar[str]  # the model, in gymnasium/envs/mujoco/assets
    frame_skip: ClassVar[int]
    reads: ClassVar[tuple[str, ...]] = ()  # fields of MjData other than qpos and qvel
    noise: ClassVar[float]  # scale of the noise at reset
    normal_velocities: ClassVar[bool] = False  # whether the noise of velocities is normal, not uniform

    def __init__(self, model: Any) -> None:
        self.model = model  # mujoco.MjModel

    def start(self, random: np.random.Generator, qpos: Array, qvel: Array) -> None:
        """Add the noise of a reset to the model's own qpos (nq,) and qvel (nv,)."""
        qpos += random.uniform(-self.noise, self.noise, len(qpos))
        if self.normal_velocities:
            qvel += self.noise * random.standard_normal(len(qvel))
        else:
            qvel += random.uniform(-self.noise, self.noise, len(qvel))

    def position(self, state: SimpleNamespace) -> Array:
        """Return where the slots are, x (k,): its change over a step gives the velocity in a runner's reward."""
        return state.qpos[:, 0]

    def observe(self, state: SimpleNamespace) -> Array:
        """Return the observations (k, D)."""
        raise NotImplementedError

    def reward_and_terminated(self, state: SimpleNamespace, actions: Array, velocity: Array) -> tuple[Array, Array]:
        """Return rewards and terminated (k,) of a step: actions (k, A) in float32, mean x velocities (k,) in m/s."""
        raise NotImplementedError


def sum_of_squares(rows: Array) -> Array:
    """Return the sum of squares of each row (k,), in the precision of the rows."""
    return np.square(rows).sum(axis=1)


def clipped(values: Array, most: float) -> Array:
    """Return the values, clipped to [-most, most]; np.clip takes half as long again on a tick's few numbers."""
    return np.maximum(np.minimum(values, most), -most)


def never(state: SimpleNamespace) -> Array:
    """Return terminated (k,) of a task that only the time limit ends."""
    return np.zeros(len(state.qpos), bool)


def between(low: float, values: Array, high: float) -> Array:
    """Return low < values < high; False for NaN."""
    return (low < values) & (values < high)


# --- tasks whose reward is to get ahead


class Swimmer(Task):
    """Swim along x: reward = v - 1e-4 |a|^2; the observation leaves out x and y."""

    file, frame_skip, noise = "swimmer.xml", 4, 0.1
    hidden = 2  # leading coordinates that the observation leaves out
    control_cost = 1e-4

    def observe(self, state: SimpleNamespace) -> Array:
        return np.concatenate([state.qpos[:, self.hidden :], state.qvel], axis=1)

    def reward_and_terminated(self, state: SimpleNamespace, actions: Array, velocity: Array) -> tuple[Array, Array]:
        return velocity - self.control_cost * sum_of_squares(actions), never(state)


class HalfCheetah(Swimmer):
    """Run along x: reward = v - 0.1 |a|^2; the observation leaves out x."""

    file, frame_skip, noise = "half_cheetah.xml", 5, 0.1
    normal_velocities = True
    hidden = 1
    control_cost = 0.1


class Hopper(Task):
    """Hop along x without falling: reward = v + 1 if healthy - 1e-3 |a|^2; terminated when not healthy.

    Healthy: height above 0.7, lean within 0.2, all other coordinates and velocities within 100.
    """

    file, frame_skip, noise = "hopper.xml", 4, 0.005

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

    file, frame_skip, noise = "walker2d_v5.xml", 4, 0.005

    def healthy(self, state: SimpleNamespace) -> Array:
        return between(0.8, state.qpos[:, 1], 2) & (np.abs(state.qpos[:, 2]) < 1)


class Ant(Task):
    """Run along x on four legs: reward = v + 1 if healthy - (0.5 |a|^2 + 5e-4 |f|^2); terminated when not healthy.

    f: external forces and torques on all bodies, clipped to [-1, 1]. Healthy: height in [0.2, 1], a finite state.
    """

    file, frame_skip, noise = "ant.xml", 5, 0.1
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

    file, frame_skip, noise = "humanoid.xml", 5, 0.01
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


# --- tasks that stay in place


class Reacher(Task):
    """Bring the fingertip to the target: reward = -|fingertip - target| - |a|^2."""

    file, frame_skip, noise = "reacher.xml", 2, 0.1
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
