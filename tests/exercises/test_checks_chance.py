"""Checks of what is left to chance refuse a right answer in less than one case in a thousand."""

import numpy as np
import pytest
from scipy.special import betainc

from minitrpo.course.checks import speedup


@pytest.fixture
def asked(monkeypatch):
    """Return (measurements, confidence, resamples) of every case of `interval` in which chance plays a part."""
    found = []

    def ask(kind, samples, confidence=0.95, resamples=2000, **options):
        found.append((samples, confidence, resamples))

    monkeypatch.setattr(speedup, "among", ask)
    list(speedup._interval())
    return found


def refused(samples, wanted, resamples, rank):
    """Return the probability that the median of this rank, of so many sorted medians, is refused: exact.

    The rank-th of n sorted uniform numbers is beta-distributed, and a median is a function of such a number.
    """
    medians, probability = speedup.medians_of_draws(samples)
    medians, where = np.unique(np.round(medians, 12), return_inverse=True)
    up_to = np.cumsum(np.bincount(where.ravel(), probability.ravel()))
    accepted = lambda i: speedup.level(samples, medians[i], wanted, resamples) == wanted  # noqa: E731
    middle, ends = int(np.searchsorted(up_to, wanted)), []
    for outside in (-1, len(medians)):  # the accepted are neighbours: halve what lies between the last and the next
        inside = middle
        while abs(outside - inside) > 1:
            i = (inside + outside) // 2
            inside, outside = (i, outside) if accepted(i) else (inside, i)
        ends.append(inside)
    low, high = up_to[ends[0] - 1] if ends[0] else 0.0, min(1.0, up_to[ends[1]])
    return 1 - (betainc(rank, resamples + 1 - rank, high) - betainc(rank, resamples + 1 - rank, low))


def test_a_right_bootstrap_is_refused_less_than_once_in_a_thousand(asked):
    total = 0.0
    for samples, confidence, resamples in asked:
        size = max(np.abs(samples))
        for wanted in ((1 - confidence) / 2, (1 + confidence) / 2):
            place = wanted * (resamples - 1) + 1  # ways to take a quantile differ by no more than a rank
            ranks = {int(np.clip(r, 1, resamples)) for r in (np.floor(place) - 1, np.floor(place), np.ceil(place) + 1)}
            total += max(refused(np.asarray(samples) / size, wanted, resamples, rank) for rank in ranks)
    assert len(asked) > 15
    assert total < 1e-3
