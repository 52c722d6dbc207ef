"""The perceptron: layout and initial values, and its hand-written derivatives against autograd's and differences."""

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad, hessian, make_jvp, make_vjp
from autograd.differential_operators import make_ggnvp
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.perceptron import (
    Linearisation,
    activations,
    count_parameters,
    cut,
    initialise_mlp,
    layer_sizes,
    mlp,
    orthogonal,
    perceptron,
    unflatten,
)

SHAPES = st.tuples(st.integers(1, 6), st.lists(st.integers(1, 5), max_size=3), st.integers(1, 3), st.integers(1, 8))
QUICK = settings(max_examples=30, deadline=None)


def rng_of(*key):
    return np.random.default_rng(key)


def case(shape, seed, dtype=np.float64):
    """Return sizes, theta, inputs, a tangent v and a cotangent u of a random network."""
    d, hidden, k, n = shape
    rng, sizes = rng_of(seed), layer_sizes(d, tuple(hidden), k)
    p = count_parameters(sizes)
    made = (0.7 * rng.standard_normal(p), *(rng.standard_normal(s) for s in ((n, d), p, (n, k))))
    return sizes, *(array.astype(dtype) for array in made)


# --- layout and initial values


def test_unflatten_cuts_weights_then_biases_layer_by_layer():
    sizes = layer_sizes(3, (4, 2), 1)
    assert sizes == [(3, 4), (4, 2), (2, 1)]
    theta = np.arange(float(count_parameters(sizes)))
    layers = unflatten(theta, sizes)
    assert np.array_equal(np.concatenate([part.ravel() for layer in layers for part in layer]), theta)
    assert [(w.shape, b.shape) for w, b in layers] == [((3, 4), (4,)), ((4, 2), (2,)), ((2, 1), (1,))]
    assert layers[0][0][1, 0] == 4  # row-major: the weights of one input lie together


def test_mlp_by_hand():
    theta = np.array([1.0, -2.0, 0.5, 0.0, 3.0, 4.0, -1.0])
    x = 0.7
    by_hand = 3 * np.tanh(x + 0.5) + 4 * np.tanh(-2 * x) - 1
    for network in (mlp, perceptron):
        assert network(theta, layer_sizes(1, (2,), 1), np.array([[x]]))[0, 0] == pytest.approx(by_hand, abs=1e-14)


@pytest.mark.parametrize(("rows", "columns"), [(7, 3), (3, 7), (5, 5), (1, 4), (4, 1)])
def test_orthogonal_in_the_right_orientation(rows, columns):
    w = orthogonal(rng_of(6), rows, columns, gain=1.7)
    assert w.shape == (rows, columns)
    small = w.T @ w if rows >= columns else w @ w.T
    np.testing.assert_allclose(small, 1.7**2 * np.eye(min(rows, columns)), atol=1e-12)


def test_orthogonal_has_no_preferred_sign():
    """Without the correction by the diagonal of R the first entry of each column leans to one side."""
    firsts = np.array([orthogonal(rng_of(7, i), 3, 3, 1.0)[0, 0] for i in range(400)])
    assert abs(firsts.mean()) < 4 * firsts.std() / 20


def test_initialise_mlp_gains_and_biases():
    sizes = layer_sizes(5, (8, 8), 3)
    layers = unflatten(initialise_mlp(rng_of(8), sizes, last_gain=0.01), sizes)
    gains = [np.linalg.svd(weights)[1] for weights, _ in layers]
    for gain, expected in zip(gains, [np.sqrt(2), np.sqrt(2), 0.01], strict=True):
        np.testing.assert_allclose(gain, expected, rtol=1e-12)
    assert all(np.all(biases == 0) for _, biases in layers)


# --- values and derivatives


@given(SHAPES, st.integers(0, 10**6))
@QUICK
def test_derivatives_are_autograds_of_the_formula(shape, seed):
    sizes, theta, inputs, v, u = case(shape, seed)
    np.testing.assert_allclose(perceptron(theta, sizes, inputs), mlp(theta, sizes, inputs), rtol=1e-13, atol=1e-13)
    expected = make_vjp(lambda theta: mlp(theta, sizes, inputs))(theta)[0](u)
    at = Linearisation(theta, sizes, inputs)
    np.testing.assert_allclose(at.transposed_product(u), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(at.outputs, mlp(theta, sizes, inputs), rtol=1e-13, atol=1e-13)
    found = make_vjp(lambda theta: perceptron(theta, sizes, inputs))(theta)[0](u)
    assert np.array_equal(found, at.transposed_product(u))
    forward = make_jvp(lambda theta: mlp(theta, sizes, inputs))(theta)(v)[1]
    np.testing.assert_allclose(at.product(v), forward, rtol=1e-10, atol=1e-12)
    assert np.array_equal(make_jvp(lambda theta: perceptron(theta, sizes, inputs))(theta)(v)[1], at.product(v))


def test_outputs_and_their_derivatives_share_one_pass_through_the_network(monkeypatch):
    sizes, theta, inputs, v, _ = case((4, [6, 5], 3, 9), 2)
    passes = []
    monkeypatch.setattr("minitrpo.perceptron.activations", lambda *args: passes.append(1) or activations(*args))
    product = make_ggnvp(lambda theta: perceptron(theta, sizes, inputs), lambda rows: anp.sum(anp.cosh(rows)))(theta)
    product(v), product(theta)
    assert len(passes) == 1
    grad(lambda theta: anp.sum(anp.sin(perceptron(theta, sizes, inputs))))(theta)
    assert len(passes) == 2


@given(SHAPES, st.integers(0, 10**6))
@QUICK
def test_the_two_products_are_transposed_to_each_other(shape, seed):
    sizes, theta, inputs, v, u = case(shape, seed)
    at = Linearisation(theta, sizes, inputs)
    assert np.sum(u * at.product(v)) == pytest.approx(v @ at.transposed_product(u), rel=1e-9, abs=1e-11)


def test_a_product_is_the_difference_of_the_outputs():
    sizes, theta, inputs, v, _ = case((4, [6, 5], 3, 9), 1)
    h = 1e-6
    difference = (mlp(theta + h * v, sizes, inputs) - mlp(theta - h * v, sizes, inputs)) / (2 * h)
    np.testing.assert_allclose(Linearisation(theta, sizes, inputs).product(v), difference, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("hidden", [[], [3], [4, 3]])
def test_second_derivatives_are_those_of_the_formula(hidden):
    """The hand-written products are constant in theta for autograd; it has to notice where that would be wrong."""
    sizes, theta, inputs, v, u = case((2, hidden, 2, 5), 3)

    def loss(network):
        return lambda theta: anp.sum(anp.sin(network(theta, sizes, inputs)) * u)

    np.testing.assert_allclose(hessian(loss(perceptron))(theta), hessian(loss(mlp))(theta), rtol=1e-9, atol=1e-11)

    def product(network):
        return grad(lambda theta: anp.dot(grad(loss(network))(theta), v))(theta)

    np.testing.assert_allclose(product(perceptron), product(mlp), rtol=1e-9, atol=1e-11)
    forwards = [make_jvp(grad(loss(network)))(theta)(v)[1] for network in (perceptron, mlp)]
    np.testing.assert_allclose(*forwards, rtol=1e-9, atol=1e-11)
    twice = [make_jvp(lambda t, f=f: make_jvp(f)(t)(v)[1])(theta)(v)[1] for f in map(loss, (perceptron, mlp))]
    np.testing.assert_allclose(*twice, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("hidden", [[], [3], [4, 3]])
def test_gauss_newton_products_are_those_of_the_formula(hidden):
    sizes, theta, inputs, v, _ = case((3, hidden, 2, 6), 4)
    products = [
        make_ggnvp(lambda theta, f=network: f(theta, sizes, inputs), lambda rows: anp.sum(anp.cosh(rows)))(theta)(v)
        for network in (perceptron, mlp)
    ]
    np.testing.assert_allclose(*products, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("hidden", [[], [3], [4, 3]])
def test_derivatives_in_the_inputs_are_those_of_the_formula(hidden):
    sizes, theta, inputs, v, u = case((2, hidden, 2, 5), 8)

    def slope(network, x):
        return grad(lambda x: anp.sum(anp.sin(network(theta, sizes, x)) * u))(x)

    def mixed(network, x):  # in theta, then in the inputs
        return grad(lambda x: anp.dot(grad(lambda t: anp.sum(anp.sin(network(t, sizes, x)) * u))(theta), v))(x)

    slopes = grad(lambda x: anp.sum(mlp(theta, sizes, x) * u))(inputs)
    np.testing.assert_allclose(Linearisation(theta, sizes, inputs).input_product(u), slopes, rtol=1e-10, atol=1e-12)
    for derivative in (slope, mixed):
        np.testing.assert_allclose(derivative(perceptron, inputs), derivative(mlp, inputs), rtol=1e-10, atol=1e-12)
    along = [make_jvp(lambda x, f=f: f(theta, sizes, x))(inputs)(inputs)[1] for f in (perceptron, mlp)]
    np.testing.assert_allclose(*along, rtol=1e-12)


def test_single_precision_stays_single():
    sizes, theta, inputs, v, u = case((3, [4], 2, 6), 5, np.float32)
    at = Linearisation(theta, sizes, inputs)
    assert {a.dtype for a in (at.outputs, at.product(v), at.transposed_product(u))} == {np.dtype(np.float32)}


def test_inputs_are_left_alone():
    sizes, theta, inputs, v, u = case((3, [4, 4], 2, 6), 6)
    before = [a.copy() for a in (theta, inputs, v, u)]
    at = Linearisation(theta, sizes, inputs)
    at.product(v), at.transposed_product(u), activations(unflatten(theta, sizes), inputs)
    assert all(np.array_equal(a, b) for a, b in zip(before, (theta, inputs, v, u), strict=True))


def test_a_cut_has_the_derivatives_of_a_slice():
    x = rng_of(7).standard_normal((4, 6))

    def f(part):
        return lambda x: anp.sum(anp.exp(part(x)) * anp.sum(x))

    ours, slices = f(lambda x: cut(x, 2, 5)), f(lambda x: x[..., 2:5])
    for where in (x, x[0]):
        np.testing.assert_allclose(grad(ours)(where), grad(slices)(where), rtol=1e-13)
        np.testing.assert_allclose(hessian(ours)(where), hessian(slices)(where), rtol=1e-12)
        along = [make_jvp(grad(g))(where)(where)[1] for g in (ours, slices)]
        np.testing.assert_allclose(*along, rtol=1e-12)
