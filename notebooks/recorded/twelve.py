"""What 12_simulators.py tries out on Batch PPO: a reading of the last step that is wrong, and Pendulums out of step."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.classic_control.pendulum import PendulumEnv

from minitrpo.algorithms.algorithm import Arrays
from minitrpo.algorithms.batch_ppo import BatchPPO

LIMIT = 200  # steps of an episode


class NextReading(BatchPPO):
    """As if the environment were reset before it is observed: after a cut, V of a first observation."""

    first: Any = None

    def learn(self, batch: Arrays, rng: np.random.Generator) -> dict[str, Any]:
        """Put first observations of episodes in the place of final ones, then learn as usual."""
        began = batch["observations"][batch["timesteps"] == 0]
        self.first = began if len(began) else self.first
        cut = batch["ended"] & ~batch["terminated"][batch["last"]]
        final = batch["final_observations"].copy()
        if cut.any():
            final[cut] = self.first[np.arange(cut.sum()) % len(self.first)]
        return super().learn(batch | {"final_observations": final}, rng)


class OutOfStep(PendulumEnv):
    """A Pendulum whose very first episode is cut after 1 to 200 steps, by its seed: simulators get out of step."""

    limit = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Begin an episode."""
        result = super().reset(seed=seed, options=options)
        self.limit = LIMIT if self.limit else int(self.np_random.integers(1, LIMIT + 1))
        self.taken = 0
        return result

    def step(self, action: Any) -> Any:
        """Take a step; the episode ends by its own limit."""
        observation, reward, terminated, _, info = super().step(action)
        self.taken += 1
        return observation, reward, terminated, self.taken >= self.limit, info


gymnasium.register("OutOfStep-v0", entry_point=f"{__name__}:OutOfStep")
