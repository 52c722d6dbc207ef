"""Batch PPO: the clip's four corners, the gradient against autograd, the climb, schedules, and what is saved."""

from dataclasses import replace
from functools import partial

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad
from fragments import own_samples
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.advantages import standardise
from minitrpo.algorithms.algorithm import Context
from minitrpo.algorithms.batch_ppo import BatchPPO, BatchPPOSettings, climb, clipped_gradient, diagnostics, minibatches
from minitrpo.course import climb as lecture
from minitrpo.optimisers import adam, clipped_norm, initial_state
from minitrpo.policies import CategoricalPolicy, GaussianPolicy
from minitrpo.policy_gradient import LogProbability, policy_gradient
from minitrpo.training.settings import chosen

QUICK = settings(max_examples=20)
SEEDS = st.integers(0, 2**32 - 1)
POLICIES = st.sampled_from([GaussianPolicy(3, 2, (5,)), CategoricalPolicy(3, 4, (6, 4))])
PLAIN = BatchPPOSettings(epochs=1, minibatch=1000, max_gradient_norm=1e9, standardise="none")


def samples(policy, seed, n, apart=0.5):
    """Return theta, theta_old, and samples of theta_old; some ratios are beyond the clip."""
    old, observations, actions, advantages = own_samples(policy, n, seed)
    theta = old + apart * np.random.default_rng(seed + 1).standard_normal(len(old))
    given_samples = {"observations": observations, "actions": actions, "advantages": advantages}
    return theta, old, given_samples, policy.log_prob(policy.distribution(old, observations), actions)


@given(POLICIES, SEEDS, st.integers(2, 30), st.sampled_from([0.0, 0.05]))
@QUICK
def test_the_gradient_is_autograds_also_where_it_is_clipped(policy, seed, n, entropy):
    theta, _, s, old_log_prob = samples(policy, seed, n)

    def objective(theta):
        dist_params = policy.distribution(theta, s["observations"])
        r, a = anp.exp(policy.log_prob(dist_params, s["actions"]) - old_log_prob), s["advantages"]
        clipped = anp.minimum(r * a, anp.clip(r, 0.8, 1.2) * a)
        return anp.mean(clipped) + entropy * anp.mean(policy.entropy(dist_params))

    now = LogProbability(policy, theta, s["observations"], s["actions"])
    gradient = clipped_gradient(now, old_log_prob, s["advantages"], 0.2, entropy)
    np.testing.assert_allclose(gradient, grad(objective)(theta), rtol=1e-7, atol=1e-8)


@given(POLICIES, SEEDS, st.sampled_from(["none", "batch", "minibatch"]), st.sampled_from([1e9, 0.05]))
@QUICK
def test_one_epoch_of_one_minibatch_is_one_step_of_adam(policy, seed, how, longest):
    _, old, s, _ = samples(policy, seed, 30)
    memory = initial_state("adam", len(old))
    own = replace(PLAIN, standardise=how, max_gradient_norm=longest)
    kept = [array.copy() for array in (old, *memory.values(), *s.values())]
    theta, new, seen = climb(policy, old, memory, s, own, 0.2, 0.01, np.random.default_rng(0))
    assert all(np.array_equal(a, b) for a, b in zip((old, *memory.values(), *s.values()), kept, strict=True))
    entropy = np.mean(policy.entropy(policy.distribution(old, s["observations"])))
    assert seen == pytest.approx({"kl": 0.0, "clip_fraction": 0.0, "entropy": entropy}, abs=1e-9)
    advantages = s["advantages"] if how == "none" else standardise(s["advantages"])
    g = clipped_norm(policy_gradient(policy, old, s["observations"], s["actions"], advantages), longest)
    expected, step = adam(memory, g, 0.01, epsilon=1e-5)
    np.testing.assert_allclose(theta, old + step, atol=1e-7)
    np.testing.assert_allclose(new["moment"], expected["moment"], atol=1e-9)


@given(SEEDS, st.integers(1, 200), st.integers(1, 64))
@QUICK
def test_an_epoch_sees_every_step(seed, rows, size):
    order = minibatches(np.random.default_rng(seed), rows, size)
    assert order.shape == (-(-rows // min(size, rows)), min(size, rows))
    counts = np.bincount(order.ravel(), minlength=rows)
    assert counts.min() == 1
    assert counts.max() <= 2
    assert order.size - rows < size


@given(POLICIES, SEEDS, st.integers(20, 90), st.sampled_from([7, 16, 20]))
@QUICK
def test_the_climb_of_the_lecture_is_that_of_the_package_without_its_details(policy, seed, n, size):
    _, old, s, _ = samples(policy, seed, n)
    memory, own = initial_state("adam", len(old)), replace(PLAIN, epochs=3, minibatch=size)
    expected, kept, _ = climb(policy, old, memory, s, own, 0.2, 0.01, np.random.default_rng(seed))
    batch, rng = (s["observations"], s["actions"], s["advantages"]), np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lecture, "adam", partial(adam, epsilon=1e-5))  # what the package adds to its roots
        theta, found = lecture.climb(policy, old, memory, batch, 0.2, rng, 3, size, 0.01)
    np.testing.assert_allclose(theta, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found["moment"], kept["moment"], rtol=1e-7, atol=1e-12)


@given(SEEDS)
@QUICK
def test_what_is_watched_by_hand(seed):
    log_ratio = 0.3 * np.random.default_rng(seed).standard_normal(40)
    seen = diagnostics(log_ratio, np.full(40, 1.5), 0.2)
    r = np.exp(log_ratio)
    assert seen["kl"] == pytest.approx(sum(x - 1 - y for x, y in zip(r, log_ratio, strict=True)) / 40)
    assert seen["kl"] >= 0
    assert seen["clip_fraction"] == np.mean((r > 1.2) | (r < 0.8))
    assert seen["entropy"] == 1.5


@pytest.mark.parametrize(
    ("anneal", "step_size", "clip"),
    [("both", 0.25, 0.25), ("step-size", 0.25, 1.0), ("clip", 1.0, 0.25), ("none", 1.0, 1.0)],
)
@pytest.mark.parametrize("own", [0, 400])
def test_what_falls_and_over_how_many_steps(anneal, step_size, clip, own):
    choice = chosen({"algorithm": "batch-ppo", "anneal": anneal, "anneal_steps": own})
    total = 400 if own == 0 else 7_000_000
    algorithm = BatchPPO(choice.algorithm_settings, Context(GaussianPolicy(3, 2, ()), 0, 100, _total_steps=total))
    algorithm.steps = 300
    assert algorithm.annealed() == pytest.approx((3e-4 * step_size, 0.2 * clip))
