"""A problem whose best return is known: --env minitrpo.experience.linear_quadratic:LinearQuadratic-v0.

A puck on a table that a wind turns: x = (position, velocity) in the plane, u a force, and

    x' = A x + B u        reward = -(x'Q x + u'R u)        50 steps from a state drawn by the reset seed

Without noise the best possible return from x_0 is -x_0'V_0 x_0, with V_t from Riccati's recursion backwards in t.
"""

from typing import Any

import gymnasium
import numpy as np

from minitrpo.policies import Array

STEPS = 50
DT = 0.1  # seconds
DRAG, WIND = 0.3, 0.5  # of the velocity, per second: slowed down, and turned
A = np.eye(4) + DT * np.array([[0, 0, 1, 0], [0, 0, 0, 1], [0, 0, -DRAG, WIND], [0, 0, -WIND, -DRAG]])
B = DT * np.array([[0.0, 0.0], [0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
Q = np.diag([1.0, 1.0, 0.1, 0.1])
R = 0.1 * np.eye(2)


class LinearQuadratic(gymnasium.Env[Array, Array]):
    """The puck; forces are not bounded."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (4,), np.float64)
    action_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float64)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin at a random place with a random velocity."""
        super().reset(seed=seed)
        self.x = self.np_random.uniform(-1.0, 1.0, 4)
        return self.x.copy(), {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Take one step; the time limit ends the episode, nothing else does."""
        reward = -float(self.x @ Q @ self.x + action @ R @ action)
        self.x = A @ self.x + B @ action
        return self.x.copy(), reward, False, False, {}


def riccati(steps: int = STEPS) -> tuple[Array, Array]:
    """Return gains K (steps, 2, 4) and costs to go V (steps + 1, 4, 4) of the best controls u_t = -K_t x_t."""
    K, V = np.empty((steps, 2, 4)), np.zeros((steps + 1, 4, 4))
    for t in reversed(range(steps)):
        K[t] = np.linalg.solve(R + B.T @ V[t + 1] @ B, B.T @ V[t + 1] @ A)
        V[t] = Q + A.T @ V[t + 1] @ (A - B @ K[t])
    return K, V


def best_return(x0: Array) -> float:
    """Return the best possible return from the first state x0 (4,)."""
    return -float(x0 @ riccati()[1][0] @ x0)


gymnasium.register("LinearQuadratic-v0", entry_point=f"{__name__}:LinearQuadratic", max_episode_steps=STEPS)
