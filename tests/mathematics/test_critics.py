"""Critics: the ridge solution, the hand-written gradient and the fit, each against a plain oracle."""

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.advantages import explained_variance
from minitrpo.critics import LinearCritic, MLPCritic, squared_error_gradients
from minitrpo.optimisers import adam
from minitrpo.perceptron import count_parameters, layer_sizes, mlp

CRITICS = [LinearCritic(3), MLPCritic(3, (16,), epochs=4, minibatch=32)]


def data(n=200, d=3, seed=0):
    """Return observations, times, and a smooth function of the observations."""
    rng = np.random.default_rng(seed)
    observations = rng.standard_normal((n, d))
    times = rng.integers(0, 300, n).astype(float)
    return observations, times, np.sin(observations[:, 0]) + observations[:, d // 2] * observations[:, -1]


def of(observations, times, targets):
    """Return the samples of a fit."""
    return {"observations": observations, "timesteps": times, "targets": targets}


def fitted(critic, targets, fits=3, seed=0, state=None):
    """Return the state after some fits to targets of the standard data."""
    rng = np.random.default_rng(seed)
    observations, times, _ = data(len(targets))
    state = state or critic.initialise(rng)
    for _ in range(fits):
        state = critic.fit(state, of(observations, times, targets), rng)
    return state


@pytest.mark.parametrize("critic", CRITICS)
def test_fit_leaves_its_arguments_alone_and_goes_on_from_arrays_that_a_checkpoint_can_hold(critic, tmp_path):
    observations, times, targets = data()
    state = fitted(critic, targets, 1)
    np.savez(tmp_path / "state.npz", **state)
    with np.load(tmp_path / "state.npz", allow_pickle=False) as file:
        loaded = dict(file)
    given_arrays = [*state.values(), observations, times, targets]
    before = [array.copy() for array in given_arrays]
    new, again = (critic.fit(s, of(observations, times, -targets), np.random.default_rng(5)) for s in (state, loaded))
    predicted = critic.predict(new, observations, times)
    assert all(np.array_equal(a, b) for a, b in zip(given_arrays, before, strict=True))
    assert new.keys() == state.keys() == again.keys()
    steps = 4 * -(-200 // 32) if "updates" in new else 0  # a pass of minibatches of 32 takes each row once
    assert new.get("updates", steps) - state.get("updates", 0) == steps
    assert all(np.array_equal(new[name], again[name]) for name in new)
    assert not np.array_equal(predicted, critic.predict(state, observations, times))


def test_linear_features_by_hand_and_0_before_the_first_fit():
    features = LinearCritic(2).features(np.array([[3.0, -50.0]]), np.array([200.0]))
    assert features.tolist() == [[3.0, -10.0, 9.0, 100.0, 2.0, 4.0, 1.0]]
    observations, times, _ = data()
    critic = LinearCritic(3)
    assert np.array_equal(critic.predict(critic.initialise(np.random.default_rng(0)), observations, times), [0.0] * 200)


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 5), st.sampled_from([0.1, 2.0, 30.0]))
@settings(max_examples=30)
def test_ridge_is_least_squares_with_extra_rows(seed, n, d, ridge):
    """min |Phi c - y|^2 + ridge |c|^2 is ordinary least squares with the rows sqrt(ridge) I and targets 0 added."""
    observations, times, _ = data(n, d, seed)
    targets = 10 * np.random.default_rng(seed).standard_normal(n)
    critic = LinearCritic(d, ridge)
    k = 2 * d + 3
    phi = np.concatenate([critic.features(observations, times), np.sqrt(ridge) * np.eye(k)])
    expected = np.linalg.lstsq(phi, np.concatenate([targets, np.zeros(k)]), rcond=None)[0]
    state = critic.fit({}, of(observations, times, targets), None)
    np.testing.assert_allclose(state["coefficients"], expected, rtol=1e-6, atol=1e-8)
    predicted = critic.predict(state, observations, times)
    np.testing.assert_allclose(predicted, phi[:n] @ expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("hidden", "n"), [((), 1), ((5,), 7), ((6, 4), 20)])
def test_gradient_is_autograds(hidden, n):
    rng, sizes = np.random.default_rng(n), layer_sizes(3, hidden, 1)
    phi = 0.5 * rng.standard_normal(count_parameters(sizes))
    inputs, targets = rng.standard_normal((2, n, 3)), rng.standard_normal((2, n))
    gradients = squared_error_gradients(phi, sizes, inputs, targets, n)
    for part in range(2):

        def loss(phi, part=part):
            return 0.5 * anp.mean((mlp(phi, sizes, inputs[part])[:, 0] - targets[part]) ** 2)

        np.testing.assert_allclose(gradients[part], grad(loss)(phi), rtol=1e-10, atol=1e-13)


def test_one_fit_of_one_minibatch_is_one_step_of_adam_on_standardised_targets():
    observations, times, targets = data()
    critic, rng = MLPCritic(3, (4,), epochs=1, minibatch=1000, step_size=0.02), np.random.default_rng(3)
    state = critic.initialise(rng)
    assert np.max(np.abs(critic.predict(state, observations, times))) < 0.1
    new = critic.fit(state, of(observations, times, targets), rng)
    y = (targets - targets.mean()) / targets.std()
    gradient = squared_error_gradients(state["phi"].astype(float), critic.sizes, observations[None], y[None], 200)[0]
    _, step = adam(state, gradient, 0.02)
    np.testing.assert_allclose(new["phi"], state["phi"] - step, rtol=1e-4, atol=1e-5)
    assert (new["shift"][0], new["scale"][0]) == pytest.approx((targets.mean(), targets.std()))
    expected = new["shift"] + new["scale"] * mlp(new["phi"].astype(float), critic.sizes, observations)[:, 0]
    np.testing.assert_allclose(critic.predict(new, observations, times), expected, rtol=1e-4, atol=1e-5)


def test_fit_learns_a_smooth_function_whatever_its_offset_and_scale():
    """MLPCritic's promise: returns of -10 and of 9000 are learned at one step size."""
    critic, (observations, times, f) = MLPCritic(3, (32, 32), minibatch=64), data(600)

    def quality(targets, fits=8):
        return explained_variance(critic.predict(fitted(critic, targets, fits), observations, times), targets)

    plain = quality(f)
    assert quality(f, 1) < plain
    assert plain > 0.9
    for offset, scale in ((-1e4, 1.0), (5.0, 1e-3), (-20.0, 1e4)):
        assert quality(scale * (offset + f)) == pytest.approx(plain, abs=0.2)
    assert quality(1024 * f) == quality(2.0**-40 * f) == plain, "powers of two change no bit"


@pytest.mark.parametrize("step", [0.1, 0.0])
def test_one_odd_batch_does_not_end_learning(step):
    """A batch whose targets hardly vary (no reward yet, say) must not paralyse the critic for the rest."""
    critic, (observations, times, f) = MLPCritic(3, (32, 32), minibatch=64), data(600)
    state = fitted(critic, 1000 * f, fits=3)
    state = fitted(critic, 1000 * step * f[::-1], fits=1, state=state)
    assert all(np.all(np.isfinite(array)) for array in state.values())
    state = fitted(critic, 1000 * f, fits=4, state=state)
    assert explained_variance(critic.predict(state, observations, times), 1000 * f) > 0.9
