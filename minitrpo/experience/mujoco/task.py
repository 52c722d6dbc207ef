"""What a MuJoCo task of Gymnasium, version 5, is: how it starts, what it shows, what it pays, when it is over.

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


class Task:
    """One task: a MuJoCo model, how many of its steps make one of ours, and the rules around it."""

    entry_point: ClassVar[str]  # what Gymnasium registers, inside gymnasium.envs.mujoco
    file: ClassVar[str]  # the model, in gymnasium/envs/mujoco/assets
    frame_skip: ClassVar[int]
    reads: ClassVar[tuple[str, ...]] = ()  # fields of MjData beside qpos and qvel
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
        """Return where the slots are, x (k,): its change over a step makes the velocity that a runner is paid for."""
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
