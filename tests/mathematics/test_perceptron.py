"""The perceptron: layout and initial values, and its hand-written derivatives against autograd's of the formula."""

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad, make_jvp, make_vjp
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.perceptron import (
    Linearisation,
    count_parameters,
    initialise_mlp,
    layer_sizes,
    mlp,
    orthogonal,
    perceptron,
    unflatten,
)

SHAPES = st.tuples(st.integers(1, 6), st.lists(st.integers(1, 5), max_size=3), st.integers(1, 3), st.integers(1, 8))
NETWORKS = (perceptron, mlp)


def rng_of(*key):
    return np.random.default_rng(key)


def case(shape, seed, dtype=np.float64):
    """Return sizes, theta, inputs, a tangent v and a cotangent u of a random network."""
    d, hidden, k, n = shape
    rng, sizes = rng_of(seed), layer_sizes(d, tuple(hidden), k)
    p = count_parameters(sizes)
    made = (0.7 * rng.standard_normal(p), *(rng.standard_normal(s) for s in ((n, d), p, (n, k))))
    return sizes, *(array.astype(dtype) for array in made)


def test_unflatten_cuts_weights_then_biases_layer_by_layer():
    sizes = layer_sizes(3, (4, 2), 1)
    assert sizes == [(3, 4), (4, 2), (2, 1)]
    theta = np.arange(float(count_parameters(sizes)))
    layers = unflatten(theta, sizes)
    assert np.array_equal(np.concatenate([part.ravel() for layer in layers for part in layer]), theta)
    assert [(w.shape, b.shape) for w, b in layers] == [((3, 4), (4,)), ((4, 2), (2,)), ((2, 1), (1,))]
    assert layers[0][0][1, 0] == 4  # row-major: the weights of one input lie together


def test_mlp_by_hand():
    theta, x = np.array([1.0, -2.0, 0.5, 0.0, 3.0, 4.0, -1.0]), 0.7
    by_hand = 3 * np.tanh(x + 0.5) + 4 * np.tanh(-2 * x) - 1
    for network in NETWORKS:
        assert network(theta, layer_sizes(1, (2,), 1), np.array([[x]]))[0, 0] == pytest.approx(by_hand, abs=1e-14)


@pytest.mark.parametrize(("rows", "columns"), [(7, 3), (3, 7), (5, 5), (1, 4), (4, 1)])
def test_orthogonal_in_the_right_orientation_and_without_a_preferred_sign(rows, columns):
    """Without the correction by the diagonal of R the first entry of each column leans to one side."""
    w = orthogonal(rng_of(6), rows, columns, gain=1.7)
    assert w.shape == (rows, columns)
    small = w.T @ w if rows >= columns else w @ w.T
    np.testing.assert_allclose(small, 1.7**2 * np.eye(min(rows, columns)), atol=1e-12)
    firsts = np.array([orthogonal(rng_of(7, i), rows, columns, 1.0)[0, 0] for i in range(400)])
    assert abs(firsts.mean()) < 4 * firsts.std() / 20


def test_initialise_mlp_gains_and_biases():
    sizes = layer_sizes(5, (8, 8), 3)
    layers = unflatten(initialise_mlp(rng_of(8), sizes, last_gain=0.01), sizes)
    gains = [np.linalg.svd(weights)[1] for weights, _ in layers]
    for gain, expected in zip(gains, [np.sqrt(2), np.sqrt(2), 0.01], strict=True):
        np.testing.assert_allclose(gain, expected, rtol=1e-12)
    assert all(np.all(biases == 0) for _, biases in layers)


@given(SHAPES, st.integers(0, 10**6))
@settings(max_examples=30)
def test_values_and_products_are_autograds_of_the_formula(shape, seed):
    sizes, theta, inputs, v, u = arrays = case(shape, seed)
    before = [array.copy() for array in arrays[1:]]
    np.testing.assert_allclose(perceptron(theta, sizes, inputs), mlp(theta, sizes, inputs), rtol=1e-13, atol=1e-13)
    backward = make_vjp(lambda theta: mlp(theta, sizes, inputs))(theta)[0](u)
    forward = make_jvp(lambda theta: mlp(theta, sizes, inputs))(theta)(v)[1]
    at = Linearisation(theta, sizes, inputs)
    np.testing.assert_allclose(at.outputs, mlp(theta, sizes, inputs), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(at.transposed_product(u), backward, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(at.product(v), forward, rtol=1e-10, atol=1e-12)
    slopes = grad(lambda x: anp.sum(mlp(theta, sizes, x) * u))(inputs)
    np.testing.assert_allclose(at.input_product(u), slopes, rtol=1e-10, atol=1e-12)
    through = make_vjp(lambda theta: perceptron(theta, sizes, inputs))(theta)[0](u)
    np.testing.assert_allclose(through, backward, rtol=1e-10, atol=1e-12)
    assert all(np.array_equal(a, b) for a, b in zip(before, arrays[1:], strict=True))


def test_single_precision_stays_single():
    sizes, theta, inputs, v, u = case((3, [4], 2, 6), 5, np.float32)
    at = Linearisation(theta, sizes, inputs)
    assert {a.dtype for a in (at.outputs, at.product(v), at.transposed_product(u))} == {np.dtype(np.float32)}
