"""The policy gradient on many ranks: what is pooled is what one process would compute from everything.

That sums of gradients lead to the bits of samples, on any ranks: test_conformance.py.
"""

import numpy as np
import pytest
from fragments import apart, random_fragments, slices
from hypothesis import given
from hypothesis import strategies as st

from minitrpo.advantages import explained_variance
from minitrpo.algorithms.algorithm import Context
from minitrpo.algorithms.policy_gradient import (
    PolicyGradient,
    PolicyGradientSettings,
    gradient_sums,
    moments,
    pooled_gradient,
)
from minitrpo.algorithms.shared_update import advantages_of, samples_of
from minitrpo.policies import CategoricalPolicy, GaussianPolicy
from minitrpo.policy_gradient import policy_gradient

SEEDS = st.integers(0, 2**32 - 1)
POLICIES = st.sampled_from([GaussianPolicy(3, 2, (5,)), CategoricalPolicy(3, 4, (6, 4))])
LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=6)


def played(policy, seed, lengths):
    """Return one fragment after another, of these lengths, with theta and a weight for each step."""
    rng = np.random.default_rng(seed)
    episodes = random_fragments(rng, lengths, actions=4 * isinstance(policy, CategoricalPolicy))
    return episodes, policy.initialise(rng) + 0.3, 5 + rng.standard_normal(sum(lengths))


def pooled(policy, theta, episodes, weights, shares):
    o, a = episodes.observations, episodes.actions
    sums = [gradient_sums(policy, theta, o[s], a[s], weights[s]) for s in shares]
    return pooled_gradient(np.array(sums), np.array([moments(weights[s], weights[s]) for s in shares]))


@given(POLICIES, SEEDS, LENGTHS, st.integers(2, 4), st.floats(-50, 50))
def test_sums_over_any_shares_are_the_gradient_of_everything_with_its_mean_as_baseline(
    policy, seed, lengths, ranks, constant
):
    """Averaging the ranks' own means, a frequent mistake, is not; and a constant in all weights changes nothing."""
    episodes, theta, weights = played(policy, seed, lengths)
    whole = policy_gradient(policy, theta, episodes.observations, episodes.actions, weights - weights.mean())
    owner = np.repeat(np.random.default_rng(seed).integers(0, ranks, len(lengths)), lengths)
    shares = [owner == rank for rank in range(ranks) if np.any(owner == rank)]
    for each in (slices(episodes), shares):
        np.testing.assert_allclose(pooled(policy, theta, episodes, weights, each), whole, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(pooled(policy, theta, episodes, weights + constant, shares), whole, atol=1e-10)
    if len({int(s.sum()) for s in shares}) > 1:
        naive = np.mean([pooled(policy, theta, episodes, weights, [s]) for s in shares], axis=0)
        assert not np.allclose(naive, whole, atol=1e-9)


class Quadratic:
    """V(s) = s_0^2, whatever was fitted."""

    def predict(self, state, observations, times, reduction=None):
        return observations[:, 0] ** 2


@given(SEEDS, LENGTHS, st.sampled_from([0.5, 0.99, 1.0]))
def test_lambda_1_is_monte_carlo_less_v_and_lambda_0_the_one_step_error(seed, lengths, discount):
    for fragment in apart(played(GaussianPolicy(3, 2, ()), seed, lengths)[0]):
        v = fragment.observations[:, 0] ** 2
        after = 0.0 if fragment.terminated[0] else float(fragment.final_observations[0, 0] ** 2)
        total, to_go = after, []
        for reward in fragment.rewards[::-1]:
            total = reward + discount * total
            to_go.insert(0, total)
        one_step = fragment.rewards + discount * np.append(v[1:], after) - v
        monte_carlo, online = (
            advantages_of(Quadratic(), {}, samples_of(fragment), discount, lam) for lam in (1.0, 0.0)
        )
        np.testing.assert_allclose(monte_carlo["advantages"], np.array(to_go) - v, atol=1e-9)
        np.testing.assert_allclose(monte_carlo["targets"], to_go, atol=1e-9)
        np.testing.assert_allclose(online["advantages"], one_step, atol=1e-9)


@pytest.mark.parametrize("critic", ["none", "linear", "mlp"])
def test_an_update_is_the_textbooks_and_the_critic_is_fitted_after_it_has_predicted(critic):
    """Against a plain reference: advantages of all steps by the critic so far, autograd, one step of SGD."""
    policy = GaussianPolicy(3, 2, (5,))
    own = PolicyGradientSettings(critic=critic, travels="gradients", critic_epochs=2, critic_minibatch=16,
                                 optimiser="sgd", step_size=0.5)  # fmt: skip
    algorithm = PolicyGradient(own, Context(policy, seed=1, steps_per_update=50))
    episodes = played(policy, 4, [9, 20])[0]
    gae_lambda = 1.0 if critic == "none" else own.gae_lambda
    for k in range(3):
        theta, before = algorithm.theta, algorithm.critic_state
        samples = advantages_of(algorithm.critic, before, samples_of(episodes), 0.99, gae_lambda)
        weights = samples["advantages"] - samples["advantages"].mean()
        g = policy_gradient(policy, theta, episodes.observations, episodes.actions, weights)
        parts = [algorithm.prepare(algorithm.plan(), fragment) for fragment in apart(episodes)]
        batch = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        row = algorithm.learn(batch, np.random.default_rng(k))
        np.testing.assert_allclose(algorithm.theta, theta + 0.5 * g, atol=1e-10)
        if critic != "none":
            assert row["explained_variance"] == pytest.approx(explained_variance(samples["values"], samples["targets"]))
            assert any(not np.array_equal(before[name], algorithm.critic_state[name]) for name in before)
