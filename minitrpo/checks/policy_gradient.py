"""Checks of lecture 01: the policy gradient."""

import numpy as np

from minitrpo.checks.register import Candidate, close, exercise
from minitrpo.policies import Array


@exercise(
    "discounted_sums",
    "minitrpo.returns:discounted_sums",
    "Work backwards: y_t needs y_{t+1}.",
    "At a step where `last` is true there is no y_{t+1} of the same episode: y_t = x_t.",
)
def discounted_sums(candidate: Candidate) -> None:
    """Check y_t = x_t + discount * y_{t+1} against a double loop, over borders of episodes."""
    x, last = np.array([1.0, 2.0, 4.0]), np.array([False, False, True])
    close(candidate(x, 0.5, last), [3.0, 4.0, 4.0], "For x = (1, 2, 4) and discount 0.5, y = (3, 4, 4)")
    rng = np.random.default_rng(0)
    for lengths, discount in (((1,), 0.9), ((4, 1, 7), 0.99), ((2, 2, 30), 0.5), ((5, 5), 1.0), ((3, 4), 0.0)):
        x = rng.standard_normal(sum(lengths))
        last = np.zeros(len(x), bool)
        last[np.cumsum(lengths) - 1] = True
        symptom = f"With episodes of {lengths} steps and discount {discount}: does anything leak over a border?"
        close(candidate(x, discount, last), slowly(x, discount, last), symptom)


def slowly(x: Array, discount: float, last: Array) -> Array:
    """Return the sums by their definition."""
    y = np.zeros(len(x))
    for t in range(len(x)):
        for k in range(t, len(x)):
            y[t] += discount ** (k - t) * x[k]
            if last[k]:
                break
    return y
