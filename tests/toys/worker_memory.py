"""An asynchronous algorithm of a user's whose workers have a memory, and whose policy is not theta."""

from dataclasses import dataclass

import numpy as np

from minitrpo.algorithms import AsynchronousAlgorithm, AsynchronousSettings, Purpose, option


@dataclass(frozen=True)
class Settings(AsynchronousSettings):
    full: int = option(20, "steps before the first gradient")


class Remembers(AsynchronousAlgorithm):
    """Pushes sums over a memory of its own; refuses every fifth; acts on something else than theta."""

    Settings, columns, pulled, transports = Settings, ("seen",), ("theta", "other"), ("events", "server")

    def __init__(self, settings, context):
        self.s, self.context, self.policy = settings, context, context.policy
        self.rewards = np.zeros(0)

    def state(self):
        theta = self.policy.initialise(self.context.generator(Purpose.POLICY))
        return {"theta": theta, "other": np.zeros(2), "calls": np.zeros(1, np.int64)}

    def acting(self, shared, now):
        return shared["theta"] + shared["other"][0]

    def gradient(self, shared, fragment, now, rng):
        self.rewards = np.append(self.rewards, fragment.rewards * rng.random())
        said = {"seen": float(len(self.rewards))}
        if len(self.rewards) < self.s.full:
            return {}, {"seen": float("nan")}
        return {"sum": self.rewards[-50:].sum(keepdims=True)}, said

    def apply(self, shared, gradient, now):
        shared["calls"] += 1
        if shared["calls"][0] % 5 == 0:
            return False
        shared["theta"] += 1e-6 * gradient["sum"] + 1e-9 * now.staleness + 1e-9 * self.context.workers
        shared["other"][0] += 1e-6
        return None

    def worker_state(self):
        return {"rewards": self.rewards}

    def restore_worker(self, arrays):
        self.rewards = arrays["rewards"]
