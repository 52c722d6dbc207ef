"""What an asynchronous run takes over from a checkpoint, with as many workers as before and with another number."""

import numpy as np
import pytest

from minitrpo.contract import OWN
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.parallel.parameter_server import TALLY
from minitrpo.training.monitor import restored
from minitrpo.training.workers import ITERATION, OVER, REPORT, SEEN, merged

COUNTS = ("clocks", "applied", "refused", "histogram")


def arrays(workers, rng):
    """Return what workers share, with counts and moments of their own."""
    seen = np.stack(
        [ObservationFilter.identity(3).merged(rng.normal(size=(20, 3))).to_vector() for _ in range(workers)]
    )
    whole = {
        "theta": rng.normal(size=5),
        REPORT: rng.integers(1, 9, (workers, 6)).astype(float),
        SEEN: seen,
        ITERATION: np.array([7]),
        OVER: np.array([0]),
        TALLY + "increments": np.array([11]),
    }
    whole |= {TALLY + name: rng.integers(1, 9, (workers, 4) if name == "histogram" else (workers,)) for name in COUNTS}
    return whole


def saved(shared):
    """Return the arrays as a checkpoint has them."""
    return {OWN + name if name.startswith(TALLY) else name: array.copy() for name, array in shared.items()}


def empty(shared, workers):
    """Return the same arrays for so many workers before the first gradient."""
    first = ObservationFilter.identity(3).to_vector()
    alone = ("theta", ITERATION, OVER, TALLY + "increments")
    new = {name: np.zeros((workers, *array.shape[1:]), array.dtype) for name, array in shared.items()}
    new |= {name: np.zeros_like(shared[name]) for name in alone}
    return new | {SEEN: np.tile(first, (workers, 1))}


def test_as_many_workers_go_on_with_their_own_counts():
    shared = arrays(3, np.random.default_rng(0))
    new = empty(shared, 3)
    restored(new, saved(shared), exactly=True)
    for name, array in shared.items():
        np.testing.assert_array_equal(new[name], array, err_msg=name)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_another_number_of_workers_loses_nothing(workers):
    shared = arrays(3, np.random.default_rng(1))
    new = empty(shared, workers)
    restored(new, saved(shared), exactly=False)
    for name in ("theta", ITERATION, TALLY + "increments"):
        np.testing.assert_array_equal(new[name], shared[name], err_msg=name)
    for name in (REPORT, *(TALLY + count for count in COUNTS[1:])):
        np.testing.assert_array_equal(new[name][0], shared[name].sum(axis=0), err_msg=name)
        assert not new[name][1:].any(), name
    assert not new[TALLY + "clocks"].any(), "the clocks begin together"
    before, after = merged(shared[SEEN]), merged(new[SEEN])
    assert after.count == before.count == 60
    np.testing.assert_allclose([after.mean, after.squares], [before.mean, before.squares])
    assert not ObservationFilter.from_vector(new[SEEN][-1]).count or workers == 1
