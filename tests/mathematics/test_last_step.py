"""The readings of the value at the last step, on chains with a known answer: one is right, three are not."""

import numpy as np
import pytest

from minitrpo.course.last_step import READINGS, exact_values, learned_values, values_after
from minitrpo.returns import next_values

GAMMA = 0.9


def ledge(states=5):
    """A walk on a ledge: a step left or right, reward 1 for each; it falls off the right end, which it is then seen at.

    Returns P, r, the distribution of first states (the left end), and the states in which a fall is seen.
    """
    p = np.zeros((states, states))
    for s in range(states):
        p[s, max(s - 1, 0)] += 0.5
        if s + 1 < states:
            p[s, s + 1] += 0.5
    end = np.zeros((states, states))
    end[:, -1] = 1.0
    return p, np.ones(states), np.eye(states)[0], end


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
    """The first is cut by the time limit, the second terminates; `final` is the house's own."""
    values, final, first = np.array([1.0, 2.0, 3.0, 4.0]), np.array([30.0, 40.0]), np.array([50.0, 60.0])
    last, terminated = np.array([0, 1, 0, 1], bool), np.array([0, 0, 0, 1], bool)
    assert values_after(reading, values, final, first, last, terminated).tolist() == expected
    assert (next_values(values, final, last, terminated).tolist() == expected) == (reading == "final")


def test_one_reading_finds_the_exact_values_and_three_do_not():
    """The exact values against the sum they stand for: the rewards of step k, P^k r, discounted."""
    p, r, start, end = ledge()
    true = exact_values(p, r, GAMMA)
    np.testing.assert_allclose(true, sum(GAMMA**k * np.linalg.matrix_power(p, k) @ r for k in range(400)), rtol=1e-12)
    found = {reading: learned_values(reading, p, r, GAMMA, 0.1, start, end) for reading in READINGS}
    np.testing.assert_allclose(found["final"], true, rtol=1e-12)
    assert np.all(found["zero"] < true - 0.3)  # the time limit looks like death
    assert np.all(found["next"] > true + 0.01)  # the future after a cut is that of the safe start
    np.testing.assert_allclose(found["literal"], 1 / (1 - GAMMA), rtol=1e-12)  # a fall costs nothing: no signal at all
    for reading in READINGS:  # without a time limit only the literal one is wrong
        found = learned_values(reading, p, r, GAMMA, 0.0, start, end)
        assert np.allclose(found, true) == (reading != "literal")


@pytest.mark.parametrize("reading", READINGS)
def test_what_td_converges_to_is_the_fixed_point_of_the_expected_step(reading):
    """By all the ways that a step can end, weighted: it falls, it is cut, or it goes on."""
    rng, cut = np.random.default_rng(1), 0.3
    p = rng.random((3, 3)) + 0.1
    p *= rng.uniform(0.5, 0.9, (3, 1)) / p.sum(axis=1, keepdims=True)
    r, start, end = rng.standard_normal(3), np.array([0.6, 0.3, 0.1]), np.tile([0.2, 0.3, 0.5], (3, 1))
    v = learned_values(reading, p, r, 0.7, cut, start, end)
    yes, no = np.ones(3, bool), np.zeros(3, bool)
    goes_on, falls = p.sum(axis=1), 1 - p.sum(axis=1)
    over = values_after(reading, v, end @ v, np.full(3, start @ v), yes, yes)
    limit = values_after(reading, v, p @ v / goes_on, np.full(3, start @ v), yes, no)
    expected = falls * over + goes_on * cut * limit + (1 - cut) * (p @ v)
    np.testing.assert_allclose(v, r + 0.7 * expected, atol=1e-12)
