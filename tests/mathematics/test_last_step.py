"""The readings of the value at the last step, on chains with a known answer: one is right, three are not."""

from bisect import bisect

import numpy as np
import pytest

from minitrpo.course.last_step import READINGS, exact_values, learned_values, temporal_difference, values_after
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


def walked(chain, seed, n, cut):
    """Return n steps of a chain with a memoryless time limit, as `temporal_difference` takes them."""
    p, r, start, end = chain
    first, stay, fall = (np.cumsum(x, axis=-1).tolist() for x in (start, p, end))
    rows, finals, firsts = [], [], []
    draws = np.random.default_rng(seed).random((n + 1, 4)).tolist()
    state = bisect(first, draws[n][0])
    for i, (moves, lands, limit, begins) in enumerate(draws[:n]):
        falls = moves >= stay[state][-1]
        nxt = min(bisect(fall[state], lands) if falls else bisect(stay[state], moves), len(r) - 1)
        last = falls or limit < cut or i == n - 1
        rows.append((state, r[state], last, falls))
        if last:
            finals.append(nxt)
            nxt = min(bisect(first, begins), len(r) - 1)
            firsts.append(nxt)
        state = nxt
    states, rewards, last, terminated = (np.array(column) for column in zip(*rows, strict=True))
    own = {"states": states, "rewards": rewards, "last": last, "terminated": terminated}
    return own | {"final_states": np.array(finals), "first_states": np.array(firsts)}


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
def test_learning_from_steps_converges_to_what_the_linear_system_says(reading):
    """A random chain, sampled: what TD learns lies within sampling error of the solved system, for every reading."""
    rng = np.random.default_rng(READINGS.index(reading))
    p = rng.random((3, 3)) + 0.1
    p *= rng.uniform(0.5, 0.9, (3, 1)) / p.sum(axis=1, keepdims=True)
    chain = (p, rng.standard_normal(3), np.array([0.6, 0.3, 0.1]), np.tile([0.2, 0.3, 0.5], (3, 1)))
    learned = temporal_difference(reading, walked(chain, 1, 20_000, 0.3), 3, 0.7)
    expected = learned_values(reading, *chain[:2], 0.7, 0.3, *chain[2:])
    np.testing.assert_allclose(learned, expected, atol=0.12)


def test_td_is_exact_on_the_samples_own_frequencies():
    """No sampling error here: P, as counted in the steps, gives the fixed point to rounding."""
    chain = ledge(3)
    steps = walked(chain, 0, 400, 0.2)
    inside = ~steps["terminated"]
    after = np.append(steps["states"][1:], 0)
    after[steps["last"]] = steps["final_states"]
    counted = np.zeros((3, 3))
    np.add.at(counted, (steps["states"][inside], after[inside]), 1)
    counted /= np.bincount(steps["states"], minlength=3)[:, None]
    found = temporal_difference("final", steps, 3, GAMMA)
    np.testing.assert_allclose(found, exact_values(counted, chain[1], GAMMA), rtol=1e-10)
