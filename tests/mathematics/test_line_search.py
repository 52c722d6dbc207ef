"""Lecture 04: the step scale, and a backtracking search that restores whatever it does not accept."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.line_search import backtracking, step_scale

THETA, STEP = np.array([0.0, -2.0]), np.array([4.0, 0.0])
EDGES = [0.0, 5e-324, -1.0, 0.01, np.nextafter(0.01, 1), 1.0, np.nan, np.inf, -np.inf]
NUMBERS = st.one_of(st.floats(-1e300, 1e300), st.sampled_from(EDGES))


@given(st.integers(1, 8), st.floats(1e-5, 1.0), st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_step_scale_spends_the_whole_quadratic_kl(n, max_kl, seed):
    rng = np.random.default_rng(seed)
    root, x = rng.standard_normal((n, n)), rng.standard_normal(n)
    a = root @ root.T + 0.1 * np.eye(n)
    step = step_scale(max_kl, float(x @ a @ x)) * x
    assert 0.5 * step @ a @ step == pytest.approx(max_kl, rel=1e-9)


@given(
    outcomes=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=6),
    max_kl=st.one_of(st.just(0.01), st.floats(1e-4, 1.0)),
    shrink=st.floats(0.1, 0.9),
    expected=st.sampled_from([1.0, 0.25, 0.0]),
)
@settings(max_examples=100)
def test_the_first_trial_that_is_finite_gains_and_keeps_the_kl_is_taken_or_the_old_theta_itself(
    outcomes, max_kl, shrink, expected
):
    """Fractions are powers of `shrink`; a search that fails restores and says why its last trial was refused."""
    before, tried, results = THETA.copy(), [], iter(outcomes)

    def evaluate(theta):
        tried.append((theta[0] - THETA[0]) / STEP[0])
        return next(results)

    result = backtracking(evaluate, THETA, STEP, expected, max_kl, shrink, max_trials=len(outcomes))
    good = [np.isfinite(g) and np.isfinite(kl) and g > 0 and kl <= max_kl for g, kl in outcomes]
    trials = good.index(True) + 1 if any(good) else len(outcomes)
    gain, kl = outcomes[trials - 1]
    assert np.array_equal(THETA, before)
    assert result.accepted is any(good)
    assert result.trials == len(tried) == trials
    np.testing.assert_allclose(tried, shrink ** np.arange(trials), rtol=1e-9)
    finite = np.isfinite(gain) and np.isfinite(kl)
    assert result.gain_ratio == pytest.approx(gain / (tried[-1] * expected) if finite and expected else 0.0)
    if any(good):
        np.testing.assert_allclose(result.theta, THETA + tried[-1] * STEP, rtol=1e-12)
        assert not np.shares_memory(result.theta, THETA)
        assert (result.reason, result.gain, result.kl) == ("accepted", gain, kl)
    else:
        assert result.theta is THETA
        assert result.reason == ("not finite" if not finite else "KL too large" if kl > max_kl else "no improvement")
        assert (result.gain, result.kl) == (0.0, 0.0)


def test_the_paper_s_search_shrinks_by_7_tenths_and_gives_up_after_12_trials():
    tried = []
    result = backtracking(lambda theta: (tried.append(theta[0]) or -1.0, 0.0), THETA, STEP, 1.0, 0.01)
    np.testing.assert_allclose(tried, 4.0 * 0.7 ** np.arange(12))
    assert result.trials == 12


def test_a_step_of_zeros_is_not_tried_and_one_that_is_not_finite_is_refused_whatever_the_gain():
    result = backtracking(lambda theta: pytest.fail("evaluated"), THETA, np.zeros(2), 0.0, 0.01)
    assert result.theta is THETA
    assert (result.accepted, result.reason, result.trials) == (False, "zero step", 0)
    for step in ([np.nan, 0.0], [np.inf, 1.0]):
        result = backtracking(lambda theta: (1.0, 0.0), THETA, np.array(step), 1.0, 0.01)
        assert result.theta is THETA
        assert result.reason == "not finite"


def test_overflow_inside_a_trial_is_not_a_warning():
    """exp of a large log ratio overflows in a trial that is refused anyway; pytest turns the warning into an error."""
    result = backtracking(lambda t: (float(np.exp(t[0] * 1e4)), 0.0), THETA, STEP, 1.0, 0.01, max_trials=2)
    assert result.reason == "not finite"
