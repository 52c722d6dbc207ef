"""Environments that start a worker, which outlives the rank: one that is forked, and one with a session of its own."""

import multiprocessing
import os
import signal
import subprocess
import time

import gymnasium
from hostile_envs import Walk


class Pooled(Walk):
    """Its 60th step kills the process, if it is to."""

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


for end, away in (("fine", False), ("kill", True)):
    gymnasium.register(f"Pooled-{end}{'-away' * away}-v0", Pooled, kwargs={"end": end, "away": away})
