"""What training.py tries out beside the package: A3C that loses updates on purpose, and Pendulums out of step."""

from dataclasses import dataclass
from typing import Any

import gymnasium
from gymnasium.envs.classic_control.pendulum import PendulumEnv

from minitrpo.algorithms import Purpose, option
from minitrpo.algorithms.actor_critic import A3C, A3CSettings
from minitrpo.algorithms.algorithm import Arrays
from minitrpo.algorithms.asynchronous_algorithm import Moment
from minitrpo.experience.randomness import generator

LIMIT = 200  # steps of an episode


@dataclass(frozen=True)
class Settings(A3CSettings):
    """What it can be told beside what A3C can."""

    lost_part: float = option(0.0, "the fraction of updates that is lost", least=0, most=1)


class Losing(A3C):
    """An update that is lost leaves parameters and optimiser as they were; its worker does not know."""

    Settings = Settings

    def apply(self, shared: Arrays, gradient: Arrays, now: Moment) -> None:
        """Step, unless this update is one of those that are lost."""
        if generator(self.context.seed, now.version, 0, Purpose.UPDATE).random() >= self.settings.lost_part:
            super().apply(shared, gradient, now)


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
