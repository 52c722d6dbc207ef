"""What lecture 12 says of steps that are cut: the fragments of a table, the value after a last step, exact values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import array_shapes, arrays

from minitrpo.advantages import next_values
from minitrpo.course.continuous import cuts
from minitrpo.course.last_step import exact_values, values_after


@given(arrays(bool, array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=8)))
def test_fragments_hold_every_step_once_and_stop_where_an_episode_ends_and_at_the_last_step(ended):
    found, steps = cuts(ended).tolist(), len(ended)
    assert [(i, t) for i, first, stop in found for t in range(first, stop)] == [*np.ndindex(ended.shape[::-1])]
    for simulator, first, stop in found:
        assert not ended[first : stop - 1, simulator].any()
        assert ended[stop - 1, simulator] or stop == steps


@pytest.mark.parametrize(
    ("reading", "expected"),
    [
        ("zero", [2.0, 0.0, 4.0, 0.0]),
        ("final", [2.0, 30.0, 4.0, 0.0]),
        ("next", [2.0, 50.0, 4.0, 0.0]),
        ("literal", [2.0, 30.0, 4.0, 40.0]),
    ],
)
def test_two_fragments_by_hand(reading, expected):
    """The first is cut by the time limit, the second terminates; `final` is the package's own."""
    values, final, first = np.array([1.0, 2.0, 3.0, 4.0]), np.array([30.0, 40.0]), np.array([50.0, 60.0])
    last, terminated = np.array([0, 1, 0, 1], bool), np.array([0, 0, 0, 1], bool)
    assert values_after(reading, values, final, first, last, terminated).tolist() == expected
    assert (next_values(values, final, last, terminated).tolist() == expected) == (reading == "final")


def test_exact_values_are_the_sum_they_stand_for():
    """The rewards of step k, P^k r, discounted."""
    p = 0.5 * (np.eye(5, k=1) + np.eye(5, k=-1))  # five places, a wall on the left
    p[0, 0] = 0.5
    expected = sum(0.9**k * np.linalg.matrix_power(p, k) @ np.ones(5) for k in range(400))
    np.testing.assert_allclose(exact_values(p, np.ones(5), 0.9), expected, rtol=1e-12)
