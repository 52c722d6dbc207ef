"""An environment with every kind of child: a process, a pool, and environments in processes of their own."""

import multiprocessing
import signal
import time

import gymnasium
import numpy as np


def wait():
    time.sleep(1000)


class Parent(gymnasium.Env):
    """Each copy has a daemon that never ends by itself, two workers in a pool, and two in an AsyncVectorEnv."""

    observation_space = gymnasium.spaces.Box(-1, 1, (3,))
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, **_):
        self.daemon = multiprocessing.Process(target=wait, daemon=True)
        self.daemon.start()
        self.pool = multiprocessing.Pool(2)
        self.inner = gymnasium.vector.AsyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 2)
        self.inner.reset(seed=0)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        short = multiprocessing.Process(target=wait)
        short.start()
        short.terminate()  # as a program does that wants its child gone
        short.join(60)
        assert short.exitcode == -signal.SIGTERM, f"SIGTERM has not ended a child: {short.exitcode}"
        return np.zeros(3, np.float32), {}

    def step(self, action):
        self.t += 1
        seen = np.array(self.pool.map(np.cos, [self.t, 2.0 * self.t, 3.0 * self.t]), np.float32)
        return seen, 1.0, self.t == 20, False, {}


gymnasium.register("Parent-v0", entry_point="children_envs:Parent")
