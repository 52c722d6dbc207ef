"""Lecture 10: a parameter server that waits for all workers: a round's gradients are averaged and applied as one."""

import numpy as np

from minitrpo.block_sums import ordered_sum
from minitrpo.parallel.parameter_server import LEFT, Arrays, Arrival, ParameterServer

WEIGHT = "weight"  # of a gradient in a mean, 1 by default


class SynchronousServer(ParameterServer):
    """Holds each gradient until those of all workers are there; its worker waits."""

    def __init__(self, *arguments: object, **more: object) -> None:
        super().__init__(*arguments, **more)  # type: ignore[arg-type]
        self._held: dict[int, tuple[Arrays, int]] = {}  # worker: its gradient of this round, and the version of it

    def may_pull(self, worker: int) -> bool:
        """Return whether a worker may go on: its gradient is not held."""
        return worker not in self._held and super().may_pull(worker)

    def leave(self, worker: int) -> None:
        """Stop waiting for a worker."""
        super().leave(worker)
        self._end_round()

    def _receive(self, worker: int, gradient: Arrays, version: int) -> None:
        self._held[worker] = (gradient, version)
        self._end_round()

    def _end_round(self) -> None:
        """Apply the held gradients after all remaining workers have pushed."""
        if not self._held or len(self._held) < int((self.tally.clocks < LEFT).sum()):
            return
        workers, version, now = sorted(self._held), next(iter(self._held.values()))[1], self.tally.version
        gradient = weighted_mean([self._held[worker][0] for worker in workers])
        self._held = {}
        applied = self._apply(self.shared, gradient, Arrival(workers[0], now, now - version)) is not False
        for worker in workers:
            self.tally.record(worker, now - version, applied)


def weighted_mean(gradients: list[Arrays]) -> Arrays:
    """Return the mean of several gradients, added in this order, each counted by its WEIGHT."""
    weights = [gradient.get(WEIGHT, np.ones(1)) for gradient in gradients]
    mean = {}
    for name in gradients[0].keys() - {WEIGHT}:
        weighted = [w * gradient[name] for w, gradient in zip(weights, gradients, strict=True)]
        mean[name] = ordered_sum(np.array(weighted)) / ordered_sum(np.array(weights))
    return mean
