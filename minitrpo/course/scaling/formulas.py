"""Lecture 15: closed forms of what many ranks cost: messages, the last of them, a queue, failures, a larger batch.

Sources: Thakur, Rabenseifner & Gropp 2005 (messages); Reiser & Lavenberg 1980 (queues); Young 1974, Daly 2006
(checkpoints); McCandlish et al. 2018 (batches).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

INFINITE = float("inf")


@dataclass(frozen=True)
class Network:
    """What a message takes: `latency` seconds, and `per_byte` seconds for each of its bytes."""

    latency: float
    per_byte: float

    def message(self, size: float) -> float:
        """Return the seconds of one message of `size` bytes."""
        return self.latency + self.per_byte * size


def rounds(ranks: int) -> int:
    """Return the rounds in which one rank reaches all others, if whoever has heard passes it on: log2 P, rounded up."""
    return (ranks - 1).bit_length()


def broadcast(net: Network, ranks: int, size: float) -> float:
    """Return the seconds in which `size` bytes reach all ranks: by a tree, or scattered and collected again."""
    tree = rounds(ranks) * net.message(size)
    scattered = 2 * rounds(ranks) * net.latency + 2 * net.per_byte * size * (ranks - 1) / ranks
    return min(tree, scattered)


def gather(net: Network, ranks: int, total: float, tree: bool = False) -> float:
    """Return the seconds in which `total` bytes, a share from every rank, reach the root.

    One message after another, as MPI's Gatherv, or by a tree; the root receives the same bytes either way.
    """
    messages = rounds(ranks) if tree else ranks - 1
    return messages * net.latency + net.per_byte * total * (ranks - 1) / ranks


def all_gather(net: Network, ranks: int, total: float) -> float:
    """Return the seconds in which every rank has all ranks' shares of `total` bytes (recursive doubling)."""
    return rounds(ranks) * net.latency + net.per_byte * total * (ranks - 1) / ranks


def tree_allreduce(net: Network, ranks: int, size: float) -> float:
    """Return the seconds of a sum of `size` bytes up a tree and down again."""
    return 2 * rounds(ranks) * net.message(size)


def ring_allreduce(net: Network, ranks: int, size: float) -> float:
    """Return the seconds of a sum of `size` bytes in a ring: few bytes, and a latency for every rank, twice."""
    return 2 * (ranks - 1) * net.latency + 2 * net.per_byte * size * (ranks - 1) / ranks


def halving_allreduce(net: Network, ranks: int, size: float) -> float:
    """Return the seconds of Rabenseifner's sum: the few bytes of a ring in the few rounds of a tree."""
    return 2 * rounds(ranks) * net.latency + 2 * net.per_byte * size * (ranks - 1) / ranks


def largest_exponential(count: int) -> float:
    """Return the expected largest of `count` exponential numbers of mean 1: 1 + 1/2 + ... + 1/count, exactly."""
    return float(np.sum(1.0 / np.arange(1, count + 1)))


def finite_source(customers: int, think: float, service: float) -> float:
    """Return how many of `customers` a server serves a second, if each comes back after `think` seconds, on average.

    Exact for exponential times (mean value analysis): a customer who comes finds the queue that one customer less would
    make. service: seconds of one, without waiting; customers: at least 1. think and service are not both 0.
    """
    # 1. without customers there is no queue
    queue, rate = 0.0, 0.0
    for count in range(1, customers + 1):
        # 2. with one more: seconds at the server are the own service, and that of the queue one finds
        here = service * (1 + queue)
        # 3. so many come round in so many seconds
        rate = count / (think + here)
        # 4. and so many of them are at the server (Little's law)
        queue = rate * here
    return rate


def young(checkpoint: float, between_failures: float) -> float:
    """Return after how many seconds of work a checkpoint is best written: sqrt(2 checkpoint M) (Young 1974)."""
    return math.sqrt(2 * checkpoint * between_failures)


def daly(checkpoint: float, between_failures: float) -> float:
    """Return the same to a higher order, for failures that come nearly as often as checkpoints (Daly 2006, eq. 37)."""
    x = checkpoint / (2 * between_failures)
    if x >= 1:
        return between_failures
    return young(checkpoint, between_failures) * (1 + math.sqrt(x) / 3 + x / 9) - checkpoint


def with_failures(work: float, interval: float, checkpoint: float, restart: float, between_failures: float) -> float:
    """Return the expected seconds of `work` seconds of work, with failures at random; exact (Daly 2006, eq. 20).

    interval: of work between two checkpoints. A failure loses what was done since the last one, and `restart` seconds,
    in which another may come. between_failures: of the whole job, a rank's divided by P.
    """
    m = between_failures
    segments = work / interval
    return m * math.exp(restart / m) * math.expm1((interval + checkpoint) / m) * segments


def updates_needed(batch: float, reference: float, updates: float, noise_scale: float) -> float:
    """Return the updates with which batches of `batch` steps reach what `updates` of `reference` steps reach.

    An update of B steps gets 1 / (1 + noise_scale / B) as far as one of infinitely many: beyond the noise scale larger
    batches gain little. noise_scale: in steps, 0 to infinity; an infinite one leaves nothing but the number of steps.
    """
    # 1. nothing but noise: the same number of steps
    if math.isinf(noise_scale):
        return updates * reference / batch
    # 2. else as many times the updates as an update gets less far
    return updates * (1 + noise_scale / batch) / (1 + noise_scale / reference)


def noise_scale(gradients: ArrayLike, rows: float) -> float:
    """Return the gradient noise scale in steps, tr(Sigma) / |G|^2, from gradients of blocks of `rows` steps.

    gradients: (U, K, p), of K blocks in each of U updates, K at least 2. What stands above and below the fraction line
    is unbiased, and added over the updates first; infinite where the signal drowns.
    """
    g = np.asarray(gradients, dtype=float)
    spread = np.sum(np.var(g, axis=1, ddof=1), axis=1)  # of a block's gradient: tr(Sigma) / rows, (U,)
    signal = float(np.sum(np.sum(np.mean(g, axis=1) ** 2, axis=1) - spread / g.shape[1]))
    return rows * float(spread.sum()) / signal if signal > 0 else INFINITE
