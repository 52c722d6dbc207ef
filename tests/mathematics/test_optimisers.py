"""Optimisers: each against its formula number by number, on several seeds, and what a state must be good for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.algorithms.asynchronous_algorithm import descend
from minitrpo.optimisers import OPTIMISERS, adam, clipped_norm, initial_state

QUICK = settings(max_examples=30)
SEEDS = st.integers(0, 2**32 - 1)
NAMES = st.sampled_from(sorted(OPTIMISERS))


def reference(name, theta, gradients, step_size):
    """Return theta after descent along these gradients, one number at a time, from the papers' formulas."""
    theta, m, v = list(theta), [0.0] * len(theta), [0.0] * len(theta)
    for k, gradient in enumerate(gradients, 1):
        for i, g in enumerate(gradient):
            if name == "sgd":
                step = step_size * g
            elif name == "momentum":
                v[i] = 0.9 * v[i] + g
                step = step_size * v[i]
            elif name == "adagrad":
                v[i] = v[i] + g**2
                step = step_size * g / (v[i] ** 0.5 + 1e-8)
            elif name == "rmsprop":
                v[i] = 0.99 * v[i] + 0.01 * g**2
                step = step_size * g / (v[i] + 0.1) ** 0.5
            elif name == "rmsprop-centred":
                m[i], v[i] = 0.95 * m[i] + 0.05 * g, 0.95 * v[i] + 0.05 * g**2
                step = step_size * g / (v[i] - m[i] ** 2 + 0.01) ** 0.5
            else:  # Adam, in the order of Kingma & Ba's algorithm 1, whose epsilon counts after the correction
                m[i], v[i] = 0.9 * m[i] + 0.1 * g, 0.999 * v[i] + 0.001 * g**2
                corrected = (v[i] / (1 - 0.999**k)) ** 0.5
                step = step_size * m[i] / (1 - 0.9**k) / (corrected + 1e-8 / (1 - 0.999**k) ** 0.5)
            theta[i] -= step
    return theta


def descended(name, theta, gradients, step_size):
    state = initial_state(name, len(theta))
    for gradient in gradients:
        state, step = OPTIMISERS[name](state, gradient, step_size)
        theta = theta - step
    return theta


@given(NAMES, SEEDS, st.integers(1, 30), st.sampled_from([1e-3, 0.1]))
@QUICK
def test_each_is_its_formula(name, seed, steps, step_size):
    rng = np.random.default_rng(seed)
    theta, gradients = rng.standard_normal(4), rng.standard_normal((steps, 4)) * [1e-3, 1.0, 1e3, 0.0]
    expected = reference(name, theta, gradients, step_size)
    np.testing.assert_allclose(descended(name, theta, gradients, step_size), expected, rtol=1e-9, atol=1e-12)


@given(NAMES, SEEDS, st.sampled_from([np.float32, np.float64]))
@QUICK
def test_arguments_stay_as_they_are_and_what_comes_back_is_new(name, seed, dtype):
    state = initial_state(name, 5, dtype)
    for gradient in np.random.default_rng(seed).standard_normal((4, 5)).astype(dtype):
        before = [array.copy() for array in (*state.values(), gradient)]
        new, step = OPTIMISERS[name](state, gradient, 0.1)
        assert all(np.array_equal(a, b) for a, b in zip((*state.values(), gradient), before, strict=True))
        assert step.dtype == dtype
        assert {key: (a.dtype, a.shape) for key, a in new.items()} == {k: (a.dtype, a.shape) for k, a in state.items()}
        old = (*state.values(), gradient)
        assert not any(np.shares_memory(a, b) for a in (*new.values(), step) for b in old)
        state = new


def test_a_shared_step_writes_into_the_arrays_that_are_there():
    shared = {"theta": np.zeros(3)} | {f"o_{k}": a for k, a in initial_state("adam", 3).items()}
    there, theta, state = dict(shared), np.zeros(3), initial_state("adam", 3)
    for gradient in np.random.default_rng(0).standard_normal((3, 3)):
        descend(shared, gradient, adam, 0.1, "o_")
        state, step = adam(state, gradient, 0.1)
        theta = theta - step
    assert all(shared[name] is there[name] for name in there)
    expected = {"theta": theta} | {f"o_{name}": array for name, array in state.items()}
    assert {name: a.tobytes() for name, a in shared.items()} == {name: a.tobytes() for name, a in expected.items()}


def test_a_variance_that_rounding_makes_negative_counts_as_none():
    """Equal gradients have none: in float32 their mean square less their squared mean is below 0 now and then."""
    state, least = initial_state("rmsprop-centred", 50, np.float32), 0
    gradient = np.float32([1e3 + i for i in range(50)])
    for _ in range(300):
        state, step = OPTIMISERS["rmsprop-centred"](state, gradient, 0.1)
        least = min(least, float(np.min(state["square"] - state["mean"] ** 2)))
        assert np.all(np.isfinite(step))
    assert least < -0.01  # where without a bound the root would be of a negative number


@given(SEEDS, st.floats(1e-3, 1e3))
@QUICK
def test_a_clipped_gradient_keeps_its_direction(seed, largest):
    gradient = 10 * np.random.default_rng(seed).standard_normal(6)
    clipped = clipped_norm(gradient, largest)
    assert np.linalg.norm(clipped) == pytest.approx(min(largest, np.linalg.norm(gradient)))
    np.testing.assert_allclose(clipped * np.linalg.norm(gradient), gradient * np.linalg.norm(clipped), atol=1e-9)
