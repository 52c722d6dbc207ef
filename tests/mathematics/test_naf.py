"""NAF: Q is a parabola whose top is V at mu, and it is exact where the true Q is one."""

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import solve_discrete_are

from minitrpo.algorithms.algorithm import Context
from minitrpo.algorithms.off_policy.naf import LARGEST, NAF, NAFPolicy, heads, naf_gradient_sums, naf_q, naf_slopes
from minitrpo.perceptron import layer_sizes, mlp
from minitrpo.policies import GaussianPolicy

SEEDS = st.integers(0, 10_000)


def outputs_of(rng, actions):
    return rng.normal(size=(6, 1 + actions + actions * (actions + 1) // 2))


@settings(max_examples=25)
@given(seed=SEEDS, actions=st.integers(1, 4))
def test_no_action_is_better_than_mu_where_q_is_v_and_the_slopes_are_those_of_differences(seed, actions):
    rng = np.random.default_rng(seed)
    outputs, u = outputs_of(rng, actions), rng.uniform(-1, 1, (6, actions))
    value, mu, lower = heads(outputs, actions)
    np.testing.assert_array_equal(lower, np.tril(lower))
    _, far, steep = heads(30 * outputs, actions)
    assert np.all(np.abs(far) <= 1)
    assert np.all(np.abs(np.log(np.diagonal(steep, axis1=1, axis2=2))) <= LARGEST * 1.01)
    np.testing.assert_array_equal(naf_q(value, mu, lower, mu), value)
    q, slopes = naf_slopes(outputs, actions, u)
    by_hand = value - 0.5 * np.array([d @ L @ L.T @ d for d, L in zip(u - mu, lower, strict=True)])
    np.testing.assert_allclose(q, by_hand, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(q, naf_q(value, mu, lower, u))
    assert np.all(q <= value)
    numeric = np.empty_like(slopes)
    for k in range(outputs.shape[1]):
        step = 1e-6 * (np.arange(outputs.shape[1]) == k)
        up, down = (naf_q(*heads(outputs + sign * step, actions), u) for sign in (1, -1))
        numeric[:, k] = (up - down) / 2e-6
    np.testing.assert_allclose(slopes, numeric, rtol=1e-4, atol=1e-4 * np.abs(numeric).max())


def test_the_gradient_is_that_of_the_loss():
    rng, sizes = np.random.default_rng(1), layer_sizes(3, (6,), 6)  # V, two of mu, three of L
    theta, target = rng.normal(size=(2, 3 * 6 + 6 + 6 * 6 + 6))
    rows = {
        "observations": rng.normal(size=(2, 5, 3)),
        "actions": rng.uniform(-1, 1, (2, 5, 2)),
        "rewards": rng.normal(size=(2, 5)),
        "next_observations": rng.normal(size=(2, 5, 3)),
        "terminated": rng.integers(2, size=(2, 5)).astype(float),
        "discounts": np.full((2, 5), 0.9),
    }
    weights = (np.arange(5) < np.array([[5], [2]])).astype(float)
    gradients, sums = naf_gradient_sums(theta, target, sizes, rows, weights, 0.1)

    def loss(theta, i):
        out = mlp(theta, sizes, rows["observations"][i])
        d = rows["actions"][i] - anp.tanh(out[:, 1:3])
        z0 = (
            anp.exp(LARGEST * anp.tanh(out[:, 3] / LARGEST)) * d[:, 0] + out[:, 4] * d[:, 1]
        )  # L'd, by rows of L: (0,0), (1,0), (1,1)
        z1 = anp.exp(LARGEST * anp.tanh(out[:, 5] / LARGEST)) * d[:, 1]
        q = out[:, 0] - 0.5 * (z0**2 + z1**2)
        v = mlp(target, sizes, rows["next_observations"][i])[:, 0]
        y = 0.1 * rows["rewards"][i] + 0.9 * (1 - rows["terminated"][i]) * v
        return 0.5 * anp.sum(weights[i] * (q - y) ** 2)

    for i in range(2):
        np.testing.assert_allclose(gradients[i], grad(loss)(theta, i), rtol=1e-9, atol=1e-9)
        assert sums[i, 0] == pytest.approx(loss(theta, i))


def test_a_linear_quadratic_problem_is_learned_from_data():
    """A linear system with quadratic costs: x' = A x + B u, r = -(x'Qx + u'Ru)."""
    rng, g = np.random.default_rng(0), 0.9
    a, b, q, r = np.array([[0.6, 0.2], [0.0, 0.5]]), np.array([[0.2], [0.5]]), np.eye(2), np.array([[0.3]])
    s = solve_discrete_are(np.sqrt(g) * a, np.sqrt(g) * b, q, r)
    gain = np.linalg.solve(r + g * b.T @ s @ b, g * b.T @ s @ a)
    own = NAF.Settings(discount=g, batch=100, step_size=1e-3, target_every=1, target_rate=0.02)
    policy = NAF.make_policy(own, GaussianPolicy(2, 1, (32, 32)))
    naf = NAF(own, Context(policy, 0, 100))
    x, u = rng.uniform(-1, 1, (5000, 2)), rng.uniform(-1, 1, (5000, 1))
    reward = -np.sum((x @ q) * x, axis=1) - np.sum((u @ r) * u, axis=1)
    after, never = x @ a.T + u @ b.T, np.zeros(5000, bool)
    names = ("observations", "actions", "rewards", "next_observations", "terminated", "discounts")
    naf.buffer.add(0, dict(zip(names, (x, u, reward, after, never, np.full(5000, g)), strict=True)))
    for k in range(3000):
        naf._update(naf.buffer.sizes, np.random.default_rng(k))
    x = rng.uniform(-1, 1, (500, 2))  # the system stays in there
    best = -x @ gain.T
    assert np.abs(best).max() < 0.95
    assert (
        np.abs(policy.distribution(np.append(naf.networks["network"], 0.0), x) - best).mean() < 0.06
    )  # of 0.3 on average
    value = mlp(naf.networks["network"].astype(float), policy.sizes, x)[:, 0]
    assert np.corrcoef(value, -np.einsum("ni,ij,nj->n", x, s, x))[0, 1] > 0.99


def test_actions_stay_where_they_can_be_executed():
    policy = NAFPolicy(3, 2, (4,), (3.0, 0.5))
    theta = policy.initialise(np.random.default_rng(0))
    noise = policy.draw_noise(np.random.default_rng(1), 16)
    observations = np.random.default_rng(2).normal(size=(16, 3))
    at_first = policy.act_function(theta)(observations, noise, 16)
    mu = policy.mode(policy.distribution(theta, observations))
    np.testing.assert_allclose(at_first, np.clip(mu + 3.0 * noise, -1, 1), rtol=1e-5)
    assert (np.abs(at_first) == 1).any()
    theta[-1] = 0.0
    in_the_end = policy.act_function(theta)(observations, noise, 16)
    np.testing.assert_allclose(in_the_end, np.clip(mu + 0.5 * noise, -1, 1), rtol=1e-5)
