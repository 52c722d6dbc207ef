"""Two tasks on which a policy survives: a pole on a cart that a force pushes, and a mass that is to stay near a point.

Importing this module registers them under the names balancing/...: they end by themselves when the pole or the mass is
lost, and every step until then is worth 1. Whoever registers them again chooses the limit of an episode.
"""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Step = tuple[Vector, float, bool, bool, dict[str, Any]]


class PoleWithForce(gymnasium.Env[Vector, Vector]):
    """The pole on a cart of CartPole-v1, pushed by any force of -10 to 10 N instead of one of these two.

    Source: Barto, Sutton & Anderson 1983, with the constants and Euler's method of Gymnasium's CartPole-v1.
    """

    gravity, mass_of_pole, mass, half_length, force, dt = 9.8, 0.1, 1.1, 0.5, 10.0, 0.02
    limits = np.array([2.4, np.radians(12)])  # of the position, m, and of the angle

    def __init__(self) -> None:
        """Begin without a state; `reset` draws one."""
        self.observation_space = Box(-np.inf, np.inf, (4,), np.float64)
        self.action_space = Box(-1.0, 1.0, (1,), np.float32)  # type: ignore[assignment]
        self._state = np.zeros(4)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Vector, dict[str, Any]]:
        """Draw position (m), velocity, angle (rad) and its velocity from -0.05 to 0.05."""
        super().reset(seed=seed)
        self._state = self.np_random.uniform(-0.05, 0.05, 4)
        return self._state.copy(), {}

    def step(self, action: Vector) -> Step:
        """Push for 0.02 s with a fraction of the force; the task is over outside of the limits."""
        push = self.force * float(np.clip(action[0], -1.0, 1.0))
        velocity, angle, turn = self._state[1:]
        sine, cosine = np.sin(angle), np.cos(angle)
        moment = self.mass_of_pole * self.half_length
        pushed = (push + moment * turn**2 * sine) / self.mass
        inertia = self.half_length * (4 / 3 - self.mass_of_pole * cosine**2 / self.mass)
        turn_rate = (self.gravity * sine - cosine * pushed) / inertia
        rate = pushed - moment * turn_rate * cosine / self.mass
        self._state = self._state + self.dt * np.array([velocity, rate, turn, turn_rate])
        over = bool(np.any(np.abs(self._state[::2]) > self.limits))
        return self._state.copy(), 1.0, over, False, {}


class DoubleIntegrator(gymnasium.Env[Vector, Vector]):
    """A mass of 1 kg on a line, pushed by chance and by the policy; it is lost beyond 1 m."""

    dt, force, gusts = 0.05, 1.0, 0.5  # seconds, N, the gusts' standard deviation in N

    def __init__(self) -> None:
        """Begin without a state; `reset` draws one."""
        self.observation_space = Box(-np.inf, np.inf, (2,), np.float64)
        self.action_space = Box(-1.0, 1.0, (1,), np.float32)  # type: ignore[assignment]
        self._state = np.zeros(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Vector, dict[str, Any]]:
        """Draw position (m) and velocity (m/s) from -0.3 to 0.3."""
        super().reset(seed=seed)
        self._state = self.np_random.uniform(-0.3, 0.3, 2)
        return self._state.copy(), {}

    def step(self, action: Vector) -> Step:
        """Push for 0.05 s."""
        place, velocity = self._state
        push = self.force * float(np.clip(action[0], -1.0, 1.0)) + self.gusts * self.np_random.standard_normal()
        velocity += self.dt * push
        self._state = np.array([place + self.dt * velocity, velocity])
        return self._state.copy(), 1.0, bool(abs(self._state[0]) > 1.0), False, {}


for _kind in (PoleWithForce, DoubleIntegrator):
    if f"balancing/{_kind.__name__}-v0" not in gymnasium.registry:
        gymnasium.register(f"balancing/{_kind.__name__}-v0", entry_point=f"{__name__}:{_kind.__name__}")
