"""Environments with children: every kind of them in one; and a worker that outlives the rank, in two others."""

import multiprocessing
import os
import signal
import subprocess
import time

import gymnasium
import numpy as np
from hostile_envs import Walk


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


class Pooled(Walk):
    """Its worker is forked, or has a session of its own; its 60th step kills the process, if it is to."""

    def __init__(self, end, away):
        self.end, self.steps = end, 0
        if away:
            self.worker = subprocess.Popen(["sleep", "999"], start_new_session=True)
        else:
            self.worker = multiprocessing.get_context("fork").Process(target=time.sleep, args=(999,))
            self.worker.start()
        with open(os.environ["POOLED"], "a") as file:
            file.write(f"{self.worker.pid}\n")

    def step(self, action):
        self.steps += 1
        if self.end == "kill" and self.steps == 60:
            time.sleep(1.5)  # the watchdog has to see the worker first
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(action)


gymnasium.register("Parent-v0", entry_point="children_envs:Parent")
for end, away in (("fine", False), ("kill", True)):
    gymnasium.register(f"Pooled-{end}{'-away' * away}-v0", Pooled, kwargs={"end": end, "away": away})
