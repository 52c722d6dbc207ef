"""Environments that start a worker, which outlives the rank: one that is forked, and one with a session of its own."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import gymnasium
import numpy as np

from minitrpo.parallel.launcher import launched_rank, launched_size


class Pooled(gymnasium.Env):
    """Its steps cost nothing; on the last rank the 60th kills the process, or hangs, if it is to."""

    observation_space = gymnasium.spaces.Box(-1, 1, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, end="", away=False):
        self.end, self.t = end, 0
        if away:
            mark = [sys.executable, "-c", "import time; time.sleep(150)"]
            self.worker = subprocess.Popen(mark, start_new_session=True)
        else:
            self.worker = multiprocessing.get_context("fork").Process(target=time.sleep, args=(150,))
            self.worker.start()
        with open(os.environ["POOLED"], "a") as file:
            file.write(f"{self.worker.pid}\n")

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.t += 1
        if self.t == 60 and launched_rank() == launched_size() - 1:
            time.sleep(1.5)  # the watchdog looks once a second
            if self.end == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(1000 if self.end == "hang" else 0)
        return np.zeros(1, np.float32), 1.0, False, self.t % 20 == 0, {}


for end in ("fine", "kill", "hang"):
    for away in (False, True):
        gymnasium.register(f"Pooled-{end}{'-away' * away}-v0", Pooled, kwargs={"end": end, "away": away})
