"""Wrong answers to the exercises of lecture 01, and right ones written in another style."""

import numpy as np


def total_return_everywhere(x, discount, last):
    """The whole episode's return at every step."""
    y, start = np.zeros(len(x)), 0
    for stop in np.flatnonzero(last) + 1:
        y[start:stop] = np.sum(x[start:stop] * discount ** np.arange(stop - start))
        start = stop
    return y


def leaks_over_borders(x, discount, last):
    """Never starts afresh."""
    y, total = np.zeros(len(x)), 0.0
    for t in reversed(range(len(x))):
        total = x[t] + discount * total
        y[t] = total
    return y


def forgets_the_last_reward(x, discount, last):
    """The sum is reset to 0 at a last step, instead of to its reward."""
    y, total = np.zeros(len(x)), 0.0
    for t in reversed(range(len(x))):
        total = 0.0 if last[t] else x[t] + discount * total
        y[t] = total
    return y


def discounts_from_the_start(x, discount, last):
    """Discounts by the time since the episode began, not since t."""
    y, start = np.zeros(len(x)), 0
    for stop in np.flatnonzero(last) + 1:
        weighted = x[start:stop] * discount ** np.arange(stop - start)
        y[start:stop] = np.cumsum(weighted[::-1])[::-1]
        start = stop
    return y


WRONG = {
    "discounted_sums": [
        total_return_everywhere,
        leaks_over_borders,
        forgets_the_last_reward,
        discounts_from_the_start,
    ]
}


def with_arrays(x, discount, last):
    """One small matrix of discounts per episode."""
    parts = np.split(x, np.flatnonzero(last) + 1)
    result = []
    for part in parts:
        k = np.arange(len(part))
        powers = np.where(k[None] >= k[:, None], float(discount) ** np.maximum(k[None] - k[:, None], 0), 0.0)
        result.append(powers @ part)
    return np.concatenate(result)


RIGHT = {"discounted_sums": with_arrays}
