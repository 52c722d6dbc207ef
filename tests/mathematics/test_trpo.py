"""Lecture 05: one update keeps its promises, follows the natural gradient, and makes a better arm likelier."""

import numpy as np
import pytest
from autograd import hessian
from fragments import own_samples
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo import block_sums
from minitrpo.advantages import standardise
from minitrpo.block_sums import blocks
from minitrpo.natural_gradient import every_kth, fisher_vector_product, mean_kl
from minitrpo.policies import CategoricalPolicy, GaussianPolicy
from minitrpo.policy_gradient import policy_gradient, surrogate
from minitrpo.trpo import Batch, damped_fisher, objective, surrogate_gradient, trpo_step

POLICIES = [GaussianPolicy(3, 2, (4,)), CategoricalPolicy(3, 4, (4,))]


def case(policy, seed=0, n=40):
    """Return theta and a batch with random advantages."""
    theta, observations, actions, advantages = own_samples(policy, n, seed)
    return theta, Batch(observations, actions, standardise(advantages))


def dense_fisher(policy, theta, observations):
    old = policy.distribution(theta, observations)
    return hessian(lambda theta: mean_kl(policy, old, policy.distribution(theta, observations)))(theta)


def cosine(u, v):
    return u @ v / np.linalg.norm(u) / np.linalg.norm(v)


@pytest.mark.parametrize("policy", POLICIES)
@given(st.integers(0, 999), st.sampled_from([1e-6, 1e-3, 0.01, 0.1, 1.0, 10.0]), st.sampled_from([0.1, 1.0]))
@settings(max_examples=25)
def test_promises(policy, seed, max_kl, fraction):
    """Within the KL limit and better by the surrogate, both computed anew; else theta itself. theta is not touched.

    The scale of the advantages does not matter; powers of two change no rounding, so that not even a bit may differ.
    """
    theta, batch = case(policy, seed)
    before = theta.copy()
    new, report = trpo_step(policy, theta, batch, max_kl, fisher_fraction=fraction)
    assert np.array_equal(theta, before)
    scaled = Batch(batch.observations, batch.actions, 2.0**20 * batch.advantages)
    assert np.array_equal(new, trpo_step(policy, theta, scaled, max_kl, fisher_fraction=fraction)[0])
    kl = mean_kl(policy, *(policy.distribution(t, batch.observations) for t in (theta, new)))
    assert kl <= max_kl
    assert report.search.kl == pytest.approx(kl, rel=1e-9, abs=1e-15)
    if report.search.accepted:
        old_log_prob, log_prob = (
            policy.log_prob(policy.distribution(t, batch.observations), batch.actions) for t in (theta, new)
        )
        gain = np.mean((np.exp(log_prob - old_log_prob) - 1) * batch.advantages)
        assert gain > 0
        assert report.search.gain == pytest.approx(gain, rel=1e-6, abs=1e-12)
    else:
        assert new is theta


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("every", [1, 4])
def test_the_step_is_the_damped_natural_gradient_by_a_fraction_of_the_states(policy, every):
    """theta' - theta = shrink^k sqrt(2 max_kl / x'(F + damping I)x) x with x from a dense solve, to the last factor."""
    theta, batch = case(policy)
    g = policy_gradient(policy, theta, batch.observations, batch.actions, batch.advantages)
    a = dense_fisher(policy, theta, batch.observations[::every]) + 0.1 * np.eye(len(theta))
    x = np.linalg.solve(a, g)
    new, report = trpo_step(policy, theta, batch, 0.01, cg_iterations=len(theta), fisher_fraction=1 / every)
    assert report.search.accepted
    expected = 0.7 ** (report.search.trials - 1) * np.sqrt(2 * 0.01 / (x @ a @ x)) * x
    np.testing.assert_allclose(new - theta, expected, rtol=1e-3, atol=1e-5)
    assert report.search.gain_ratio == pytest.approx(report.search.gain / (g @ expected), rel=1e-3)


@pytest.mark.parametrize("policy", POLICIES)
def test_one_iteration_follows_the_gradient_and_many_the_natural_gradient(policy):
    theta, batch = case(policy)
    g = policy_gradient(policy, theta, batch.observations, batch.actions, batch.advantages)
    natural = np.linalg.solve(dense_fisher(policy, theta, batch.observations) + 0.01 * np.eye(len(theta)), g)

    def step(iterations):
        new, report = trpo_step(policy, theta, batch, 1e-3, cg_iterations=iterations, cg_damping=0.01)
        assert report.search.accepted
        return new - theta

    angles = [np.arccos(np.clip(cosine(step(iterations), natural), -1, 1)) for iterations in (1, 3, 10, 30)]
    assert cosine(step(1), g) == pytest.approx(1.0)
    assert angles == sorted(angles, reverse=True)
    assert angles[-1] < 1e-3 < 0.1 < angles[0]


@pytest.mark.parametrize("size", [1, 7, 100])
@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_summed_is_that_of_all_rows_in_blocks_of_any_size(policy, size, monkeypatch):
    theta, *arrays = own_samples(policy)  # advantages whose mean is not 0
    batch = Batch(*arrays)
    candidate = theta + 0.1 * np.random.default_rng(4).standard_normal(len(theta))
    old, new = (policy.distribution(t, batch.observations) for t in (theta, candidate))
    gain = surrogate(policy, new, policy.log_prob(old, batch.actions), batch.actions, batch.advantages)
    gain -= batch.advantages.mean()
    g = policy_gradient(policy, theta, batch.observations, batch.actions, batch.advantages)
    products = [fisher_vector_product(policy, theta, every_kth(batch.observations, k), 0.1)(g) for k in (1.0, 0.3)]
    cut = []
    monkeypatch.setattr(block_sums, "blocks", lambda rows: cut.append(rows) or blocks(rows, size))
    evaluate, entropy = objective(policy, theta, batch)
    assert evaluate(candidate) == pytest.approx((gain, mean_kl(policy, old, new)), rel=1e-9)
    assert evaluate(theta) == pytest.approx((0.0, 0.0), abs=1e-15)
    assert entropy == pytest.approx(policy.entropy(old).mean())
    np.testing.assert_allclose(surrogate_gradient(policy, theta, batch), g, rtol=1e-10, atol=1e-14)
    report = trpo_step(policy, theta, batch, 0.01)[1]
    assert (report.gradient_norm, report.entropy) == pytest.approx((np.linalg.norm(g), entropy))
    assert set(cut) == {40}
    for fraction, expected in zip((1.0, 0.3), products, strict=True):  # in single precision
        cut.clear()
        product = damped_fisher(policy, theta, batch, 0.1, fraction)(g)
        np.testing.assert_allclose(product, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())
        assert product.dtype == np.float64
        assert cut == [len(every_kth(batch.observations, fraction))]


@pytest.mark.parametrize("policy", POLICIES)
def test_without_advantages_or_with_some_that_are_not_finite_theta_stays_and_the_report_says_why(policy):
    theta, batch = case(policy)
    for bad, reason in ((np.zeros(40), "zero step"), (np.where(np.arange(40) == 3, np.nan, 1.0), "not finite")):
        new, report = trpo_step(policy, theta, Batch(batch.observations, batch.actions, bad), 0.01)
        assert new is theta
        assert (report.search.accepted, report.search.reason) == (False, reason)
        assert (report.search.kl, report.search.gain) == (0.0, 0.0)


BANDIT, STATE = CategoricalPolicy(1, 3, ()), np.ones((1, 1))


def arms(theta):
    logits = BANDIT.distribution(theta, STATE)[0]
    return np.exp(logits) / np.exp(logits).sum()


def test_a_bandit_is_solved():
    """Arms that pay 1, 2 and 3: after some updates on exact frequencies hardly any other than the best is drawn."""
    theta, pay = np.zeros(6), np.array([1.0, 2.0, 3.0])
    expected = [arms(theta) @ pay]
    for _ in range(40):
        p = arms(theta)
        batch = Batch(np.ones((3, 1)), np.arange(3), 3 * p * (pay - p @ pay))  # weights make the mean one over arms
        theta, _ = trpo_step(BANDIT, theta, batch, 0.05)
        expected.append(arms(theta) @ pay)
    assert np.all(np.diff(expected) >= 0)
    assert arms(theta)[2] > 0.95
