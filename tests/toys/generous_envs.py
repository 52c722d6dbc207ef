"""Environments whose numbers are finite, allowed, and too large for what is computed from them."""

import gymnasium
import numpy as np

SEEN = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float64)
ACTIONS = {"continuous": gymnasium.spaces.Box(-1, 1, (1,), np.float32), "discrete": gymnasium.spaces.Discrete(2)}
SCALES = {"rewards": (1.0, 9e98), "observations": (1e98, 1.0)}
LENGTH = 10  # steps of an episode


class Generous(gymnasium.Env):
    """Noise: observations and rewards of a size."""

    observation_space = SEEN

    def __init__(self, actions, large):
        self.action_space = ACTIONS[actions]
        self.seen, self.paid = SCALES[large]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.seen * self.np_random.standard_normal(3), {}

    def step(self, action):
        self.steps += 1
        noise = self.np_random.standard_normal(4)
        return self.seen * noise[:3], self.paid * noise[3], self.steps >= LENGTH, False, {}


for kind in ACTIONS:
    for size in SCALES:
        gymnasium.register(f"Generous-{kind}-{size}-v0", entry_point=Generous, kwargs={"actions": kind, "large": size})
