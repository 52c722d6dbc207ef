"""Lecture 04: the step scale, and a backtracking search that restores whatever it does not accept."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.line_search import backtracking, step_scale

QUICK = settings(max_examples=50, deadline=None)
THETA, STEP = np.array([0.0, -2.0]), np.array([4.0, 0.0])
NAN, INF = float("nan"), float("inf")


def fraction_of(theta):
    return (theta[0] - THETA[0]) / STEP[0]


def search(gain, kl=lambda f: 0.0, expected=1.0, max_kl=0.01, **options):
    """Search along STEP where gain and kl are functions of the fraction; return the result and the fractions tried."""
    tried = []

    def evaluate(theta):
        tried.append(fraction_of(theta))
        return gain(tried[-1]), kl(tried[-1])

    return backtracking(evaluate, THETA, STEP, expected, max_kl, **options), tried


# --- the scale


@given(st.integers(1, 8), st.floats(1e-5, 1.0), st.integers(0, 2**32 - 1))
@QUICK
def test_step_scale_spends_the_whole_quadratic_kl(n, max_kl, seed):
    rng = np.random.default_rng(seed)
    root, x = rng.standard_normal((n, n)), rng.standard_normal(n)
    a = root @ root.T + 0.1 * np.eye(n)
    step = step_scale(max_kl, float(x @ a @ x)) * x
    assert 0.5 * step @ a @ step == pytest.approx(max_kl, rel=1e-9)


@pytest.mark.parametrize("curvature", [0.0, -1.0, NAN, -INF])
def test_step_scale_is_0_without_curvature(curvature):
    assert step_scale(0.01, curvature) == 0.0


# --- acceptance


def test_the_full_step_comes_first():
    result, tried = search(lambda f: f)
    assert tried == [1.0]
    assert (result.accepted, result.reason, result.trials) == (True, "accepted", 1)
    assert np.array_equal(result.theta, THETA + STEP)


@given(st.integers(1, 12), st.floats(0.1, 0.9))
@QUICK
def test_the_first_good_fraction_is_taken(k, shrink):
    """KL becomes small enough at trial k exactly: fractions are powers of `shrink`, and no other is evaluated."""
    limit = shrink ** (k - 1)
    result, tried = search(lambda f: 2.0 * f, lambda f: 0.0 if f <= limit * (1 + 1e-9) else 1.0, shrink=shrink)
    np.testing.assert_allclose(tried, shrink ** np.arange(k), rtol=1e-9)
    assert result.accepted
    assert result.trials == k
    np.testing.assert_allclose(result.theta, THETA + limit * STEP, rtol=1e-12)
    assert result.gain == pytest.approx(2.0 * limit)


def test_gain_and_kl_are_those_of_the_accepted_trial():
    result, tried = search(lambda f: 0.5 * f, lambda f: 0.02 * f**2, max_kl=0.01)
    assert tried == pytest.approx([1.0, 0.7])
    assert result.gain == 0.5 * tried[-1]
    assert result.kl == 0.02 * tried[-1] ** 2
    assert result.gain_ratio == pytest.approx(0.5)  # half of what the gradient promised, of the shortened step


@pytest.mark.parametrize(("kl", "accepted"), [(0.01, True), (np.nextafter(0.01, 1), False), (-1e-17, True)])
def test_the_limit_itself_is_allowed(kl, accepted):
    assert search(lambda f: 1.0, lambda f: kl, max_trials=1)[0].accepted is accepted


@pytest.mark.parametrize(("gain", "accepted"), [(5e-324, True), (0.0, False), (-1.0, False)])
def test_any_gain_will_do_but_none_will_not(gain, accepted):
    assert search(lambda f: gain, max_trials=1)[0].accepted is accepted


def test_theta_of_an_accepted_step_is_new():
    before = THETA.copy()
    result, _ = search(lambda f: 1.0)
    assert not np.shares_memory(result.theta, THETA)
    assert np.array_equal(THETA, before)


# --- failure: the old theta itself, and why


@pytest.mark.parametrize(
    ("gain", "kl", "reason"),
    [
        (NAN, 0.0, "not finite"),
        (INF, 0.0, "not finite"),
        (-INF, 0.0, "not finite"),
        (1.0, NAN, "not finite"),
        (1.0, INF, "not finite"),
        (0.0, 0.0, "no improvement"),
        (-1.0, 0.0, "no improvement"),
        (1.0, 1.0, "KL too large"),
        (-1.0, 1.0, "KL too large"),
    ],
)
@pytest.mark.parametrize("max_trials", [1, 5])
def test_a_failed_search_restores(gain, kl, reason, max_trials):
    before = THETA.copy()
    result, tried = search(lambda f: gain, lambda f: kl, max_trials=max_trials)
    assert result.theta is THETA
    assert np.array_equal(THETA, before)
    assert (result.accepted, result.reason, result.trials) == (False, reason, max_trials)
    assert (result.gain, result.kl) == (0.0, 0.0)
    assert np.isfinite(result.gain_ratio)
    assert len(tried) == max_trials


def test_the_reason_is_that_of_the_last_trial():
    kls = {1.0: NAN, 0.5: 1.0, 0.25: 0.0}
    result, tried = search(lambda f: -1.0, kls.__getitem__, shrink=0.5, max_trials=3)
    assert tried == list(kls)
    assert result.reason == "no improvement"


def test_what_is_not_finite_may_become_finite():
    result, _ = search(lambda f: NAN if f > 0.9 else f, lambda f: INF if f > 0.6 else 0.0)
    assert result.accepted
    assert result.trials == 3


def test_a_zero_step_is_not_tried():
    result = backtracking(lambda theta: pytest.fail("evaluated"), THETA, np.zeros(2), 0.0, 0.01)
    assert result.theta is THETA
    assert (result.accepted, result.reason, result.trials) == (False, "zero step", 0)


@pytest.mark.parametrize("step", [[NAN, 0.0], [INF, 1.0]])
def test_a_step_that_is_not_finite_is_refused_whatever_the_gain(step):
    result = backtracking(lambda theta: (1.0, 0.0), THETA, np.array(step), 1.0, 0.01)
    assert result.theta is THETA
    assert result.reason == "not finite"


def test_overflow_inside_a_trial_is_not_a_warning():
    """exp of a large log ratio overflows in a trial that is refused anyway; pytest turns the warning into an error."""
    result = backtracking(lambda t: (float(np.exp(t[0] * 1e4)), 0.0), THETA, STEP, 1.0, 0.01, max_trials=2)
    assert result.reason == "not finite"


def test_expected_gain_of_0_is_no_division_by_0():
    assert search(lambda f: 1.0, expected=0.0)[0].gain_ratio == 0.0


@given(
    outcomes=st.lists(st.tuples(st.floats(allow_nan=True), st.floats(allow_nan=True)), min_size=1, max_size=6),
    max_kl=st.floats(1e-4, 1.0),
)
@QUICK
def test_whatever_happens_the_promise_holds(outcomes, max_kl):
    """Either a finite step with a gain within the KL limit, or the old theta, untouched."""
    results = iter(outcomes)
    result = backtracking(lambda theta: next(results), THETA, STEP, 1.0, max_kl, max_trials=len(outcomes))
    good = [np.isfinite(g) and np.isfinite(kl) and g > 0 and kl <= max_kl for g, kl in outcomes]
    assert result.accepted is any(good)
    if any(good):
        k = good.index(True)
        assert (result.gain, result.kl, result.trials) == (*outcomes[k], k + 1)
    else:
        assert result.theta is THETA
        assert result.trials == len(outcomes)
