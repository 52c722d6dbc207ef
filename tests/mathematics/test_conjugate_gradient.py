"""Lecture 03: conjugate gradient against numpy.linalg.solve, scipy's own, and the theory."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.conjugate_gradient import conjugate_gradient, energy

QUICK = settings(max_examples=30)
SIZES = st.integers(2, 20)
CONDITIONS = st.sampled_from([1.0, 10.0, 1e3])
SEEDS = st.integers(0, 2**32 - 1)


def spd(n, condition, seed):
    """Return a symmetric positive definite matrix of the given condition, and a right-hand side."""
    rng = np.random.default_rng(seed)
    q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return (q * np.geomspace(1.0, condition, n)) @ q.T, rng.standard_normal(n)


def counted(a):
    """Return v -> A v and the list of the vectors it was given."""
    asked = []

    def product(v):
        asked.append(v.copy())
        return a @ v

    return product, asked


@given(SIZES, CONDITIONS, SEEDS)
@QUICK
def test_it_solves_like_numpy_and_n_steps_are_enough(n, condition, seed):
    a, b = spd(n, condition, seed)
    x, _ = conjugate_gradient(lambda v: a @ v, b, iterations=10 * n, tolerance=1e-24)
    np.testing.assert_allclose(x, np.linalg.solve(a, b), atol=1e-9 * np.linalg.norm(b))
    assert energy(lambda v: a @ v, b, x) == pytest.approx(-0.5 * b @ np.linalg.solve(a, b), rel=1e-7)
    a, b = spd(n, 10.0, seed)
    x, _ = conjugate_gradient(lambda v: a @ v, b, iterations=n, tolerance=0.0)
    np.testing.assert_allclose(x, np.linalg.solve(a, b), atol=1e-6 * np.linalg.norm(b))


@given(SIZES, CONDITIONS, SEEDS, st.integers(0, 6))
@QUICK
def test_each_iterate_is_scipys_with_its_residual_and_along_conjugate_directions(n, condition, seed, iterations):
    """The residual and x'A x, which the step needs, come free."""
    a, b = spd(n, condition, seed)
    product, asked = counted(a)
    x, residual = conjugate_gradient(product, b, iterations, tolerance=1e-16)
    theirs, _ = scipy.sparse.linalg.cg(a, b, rtol=1e-8, atol=0.0, maxiter=max(iterations, 1))
    size = np.linalg.norm(b)
    np.testing.assert_allclose(x, theirs if iterations else 0.0, atol=1e-7 * (1 + np.linalg.norm(theirs)))
    np.testing.assert_allclose(residual, b - a @ x, atol=1e-9 * size)
    assert x @ (b - residual) == pytest.approx(x @ a @ x, rel=1e-7, abs=1e-9 * size**2)
    if condition < 100:
        directions = np.array([d / np.sqrt(d @ a @ d) for d in asked]).reshape(-1, n)
        np.testing.assert_allclose(directions @ a @ directions.T, np.eye(len(asked)), atol=1e-6)


@given(SIZES, CONDITIONS, SEEDS)
@QUICK
def test_every_step_lowers_the_energy_norm_of_the_error_as_the_textbook_says(n, condition, seed):
    """|e_k|_A <= 2 ((sqrt c - 1) / (sqrt c + 1))^k |e_0|_A with c the condition number."""
    a, b = spd(n, condition, seed)
    solution, rate = np.linalg.solve(a, b), (np.sqrt(condition) - 1) / (np.sqrt(condition) + 1)
    found = [conjugate_gradient(lambda v: a @ v, b, k, tolerance=0.0)[0] for k in range(min(n, 8) + 1)]
    errors = [np.sqrt((x - solution) @ a @ (x - solution)) for x in found]
    assert all(after <= before + 1e-8 * errors[0] for before, after in pairwise(errors))
    assert errors[1] < errors[0]
    assert all(e <= (2 * rate**k + 1e-7) * errors[0] for k, e in enumerate(errors))


@given(SIZES, SEEDS, st.sampled_from([1e-2, 1e-6, 1e-10]))
@QUICK
def test_it_stops_as_soon_as_the_tolerance_is_met(n, seed, tolerance):
    """tolerance is relative to b and of squares: it does not matter how long b is."""
    a, b = spd(n, 100.0, seed)
    product, asked = counted(a)
    _, residual = conjugate_gradient(product, b, 1000, tolerance)
    assert residual @ residual <= tolerance * (b @ b)
    _, before = conjugate_gradient(lambda v: a @ v, b, len(asked) - 1, tolerance)
    assert before @ before > tolerance * (b @ b)
    product, scaled = counted(a)
    conjugate_gradient(product, 2.0**40 * b, 1000, tolerance)
    assert len(scaled) == len(asked)


@pytest.mark.parametrize(
    ("eigenvalues", "products"), [((0, 0), 1), ((-1, -2), 1), ((1, -3), 1), ((2, 0), 2), ((5, -1), 2)]
)
def test_without_positive_curvature_it_stops_where_it_stands(eigenvalues, products):
    """No NaN and no step uphill: x is that of the directions before, and still b - A x = residual."""
    a, b = np.diag(np.array(eigenvalues, float)), np.array([1.0, 1.0])
    product, asked = counted(a)
    x, residual = conjugate_gradient(product, b, iterations=10)
    assert len(asked) == products
    assert (products == 1) == np.array_equal(x, np.zeros(2))
    np.testing.assert_allclose(residual, b - a @ x, atol=1e-12)
    assert energy(lambda v: a @ v, b, x) <= 0


def test_nothing_is_modified_or_shared_even_if_the_product_is_its_argument():
    a, b = spd(6, 10.0, 0)
    before = b.copy()
    x, residual = conjugate_gradient(lambda v: a @ v, b)
    none, all_of_it = conjugate_gradient(lambda v: a @ v, b, iterations=0)
    assert np.array_equal(none, np.zeros(6))
    assert np.array_equal(all_of_it, b)
    assert np.array_equal(conjugate_gradient(lambda v: v, b)[0], b)
    assert np.array_equal(b, before)
    assert not any(np.shares_memory(u, v) for u, v in ((x, b), (residual, b), (all_of_it, b), (x, residual)))
