"""How sure a mean of a few is."""

import numpy as np
from scipy.special import stdtrit

from minitrpo.policies import Array


def half_interval(values: Array, level: float = 0.95) -> Array:
    """Return half of Student's interval of the mean of N rows, of `values` (N, K): (K,); NaN if N is 1."""
    n = len(values)
    if n < 2:
        return np.full(values.shape[1:], np.nan)
    return np.asarray(stdtrit(n - 1, (1 + level) / 2) * np.std(values, axis=0, ddof=1) / np.sqrt(n))
