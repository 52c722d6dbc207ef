"""Environments whose episodes depend on more than the seed, or of which there is one."""

import gymnasium
import numpy as np
from gymnasium.envs.classic_control import CartPoleEnv, PendulumEnv


class RestlessEnv(PendulumEnv):
    def __init__(self, mode, **options):
        super().__init__(**options)
        self.mode, self.episodes = mode, 0

    def reset(self, *, seed=None, options=None):
        observation, info = super().reset(seed=seed, options=options)
        self.episodes += 1
        match self.mode:
            case "random":
                observation = observation + np.random.rand(3)  # noqa: NPY002
            case "memory":
                observation = observation + self.episodes
        return observation, info


class Shared:
    """A wrapped simulator of which there is one: every copy is the same."""

    env = None


def shared(**options):
    Shared.env = Shared.env or RestlessEnv("steady", **options)
    return Shared.env


class One(CartPoleEnv):
    open = 0  # one copy at a time

    def __init__(self, **options):
        if One.open:
            raise RuntimeError("the port is taken")
        One.open = 1
        super().__init__(**options)

    def close(self):
        One.open = 0
        super().close()


gymnasium.register("Restless-shared-v0", entry_point=shared, max_episode_steps=200)
for mode in ("random", "memory", "steady"):
    gymnasium.register(f"Restless-{mode}-v0", entry_point=RestlessEnv, kwargs={"mode": mode}, max_episode_steps=200)
gymnasium.register("Restless-One-v0", entry_point=One, max_episode_steps=20)
