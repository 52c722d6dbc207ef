"""A policy of a user's own is trained by its own gradient, and `check` names what does not belong together in it."""

from dataclasses import dataclass

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad

import minitrpo.course.classroom  # noqa: F401 - one thread
from minitrpo import train
from minitrpo.algorithms.actor_critic import A2C, A3C, ActorCritic
from minitrpo.algorithms.batch_ppo import clipped_gradient
from minitrpo.algorithms.guided_policy_search.guided_policy_search import GuidedPolicySearch
from minitrpo.algorithms.off_policy.dqn import DQN
from minitrpo.algorithms.off_policy.naf import NAF, NAFPolicy
from minitrpo.algorithms.policy_gradient import gradient_sums
from minitrpo.algorithms.q_learning import EpsilonGreedy, NStepQ, epsilon_greedy_policy
from minitrpo.commands.check_policy import findings_of_policy
from minitrpo.errors import BadInput
from minitrpo.perceptron import unflatten
from minitrpo.policies import CategoricalPolicy, GaussianPolicy
from minitrpo.policy_gradient import LogProbability
from minitrpo.trpo import Batch, damped_fisher, surrogate_gradient

SHAPE = (3, 2, (8, 8))


class Drawing:
    """Draws from the distribution that it states."""

    def act_function(self, theta):
        return lambda observations, noise, used: self.sample(np.asarray(self.distribution(theta, observations)), noise)


@dataclass(frozen=True)
class Masked(Drawing, CategoricalPolicy):
    """An action whose observation is below 0 is not chosen."""

    def distribution(self, theta, observations):
        logits = CategoricalPolicy.distribution(self, theta, observations)
        return logits - 1e6 * (observations[:, : self.action_size] < 0) * (np.arange(self.action_size) > 0)


@dataclass(frozen=True)
class Relu(Drawing, GaussianPolicy):
    def distribution(self, theta, observations):
        split = len(theta) - self.action_size
        x = observations
        for i, (weights, biases) in enumerate(unflatten(theta[:split], self.sizes)):
            x = anp.dot(anp.maximum(x, 0) if i else x, weights) + biases
        return anp.concatenate([x, anp.dot(anp.ones((len(x), 1)), theta[split:].reshape(1, -1))], axis=1)


@dataclass(frozen=True)
class Shouting(Drawing, GaussianPolicy):
    """Its deviation depends on the state."""

    def distribution(self, theta, observations):
        mean, log_std = self._split(GaussianPolicy.distribution(self, theta, observations))
        return anp.concatenate([mean, log_std + 0.3 * anp.tanh(mean)], axis=1)


@dataclass(frozen=True)
class Renamed(GaussianPolicy):
    """Changes nothing that has a derivative."""

    def initialise(self, rng):
        return 0.5 * GaussianPolicy.initialise(self, rng)


RIGHT = [GaussianPolicy, CategoricalPolicy, Masked, Relu, Shouting, Renamed]


@pytest.mark.parametrize("kind", RIGHT)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("of_entropy", [0.0, 0.5])
def test_the_gradient_is_that_of_the_policys_own_log_prob(kind, dtype, of_entropy):
    policy, rng = kind(*SHAPE), np.random.default_rng(3)
    theta = policy.initialise(rng) + 0.1
    observations = rng.standard_normal((20, 3))
    actions = policy.act_function(theta)(observations, policy.draw_noise(rng, 20), 20)
    actions = actions if policy.discrete else actions.astype(dtype)
    weights = rng.standard_normal(20)

    def weighted(theta):
        dist_params = policy.distribution(theta, observations)
        entropy = anp.sum(policy.entropy(dist_params))
        return anp.sum(weights * policy.log_prob(dist_params, actions)) + of_entropy * entropy

    at = LogProbability(policy, theta.astype(dtype), observations.astype(dtype), actions)
    taken = at.weighted_gradient(weights.astype(dtype), of_entropy)
    rtol = 1e-7 if dtype == np.float64 else 2e-3
    np.testing.assert_allclose(taken, grad(weighted)(theta), rtol=rtol, atol=rtol)
    assert taken.dtype == dtype


@pytest.mark.parametrize("kind", RIGHT)
def test_check_finds_nothing_in_a_right_policy(kind):
    assert [finding.name for finding in findings_of_policy(kind(*SHAPE)) if finding.well] == [
        "gradient",
        "fisher",
        "actions",
    ]


# --- what does not belong together


class NotFollowed(Relu):
    """Autograd cannot follow a log_prob whose distribution is numpy's."""

    def log_prob(self, dist_params, actions):
        return GaussianPolicy.log_prob(self, getattr(dist_params, "_value", dist_params), actions)


class Doubled(Shouting):
    def kl(self, old, new):
        return 2 * GaussianPolicy.kl(self, old, new)


class Shifted(Shouting):
    def kl(self, old, new):
        return GaussianPolicy.kl(self, old, new) + 1


class MasksOnlyWhatItStates(Masked):
    def act_function(self, theta):
        return CategoricalPolicy.act_function(self, theta)


class Louder(Shouting):
    def sample(self, dist_params, noise):
        mean, log_std = self._split(dist_params)
        return mean + np.exp(0.9 * log_std + 0.2) * noise


class Clipped(Shouting):
    def sample(self, dist_params, noise):
        return np.clip(Shouting.sample(self, dist_params, noise), -1, 1)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (NotFollowed, "gradient"),
        (Doubled, "actions"),
        (Shifted, "fisher"),
        (MasksOnlyWhatItStates, "actions"),
        (Louder, "actions"),
        (Clipped, "actions"),
    ],
)
def test_check_names_what_does_not_belong_together(kind, name):
    assert [finding.name for finding in findings_of_policy(kind(*SHAPE)) if not finding.well] == [name]


# --- algorithms whose gradient knows one network


class OtherQ(EpsilonGreedy):
    def distribution(self, theta, observations):
        return 2 * EpsilonGreedy.distribution(self, theta, observations)


class OtherMu(NAFPolicy):
    def distribution(self, theta, observations):
        return 0.5 * NAFPolicy.distribution(self, theta, observations)


class OtherValue(ActorCritic):
    def values(self, theta, observations):
        return 2 * ActorCritic.values(self, theta, observations)


def other(algorithm, kind):
    """Return the algorithm with another policy than its own, of the same shapes."""

    def make_policy(settings, policy):
        made = epsilon_greedy_policy(settings, policy) if kind is OtherQ else algorithm.make_policy(settings, policy)
        fields = {name: getattr(made, name) for name in getattr(kind, "__dataclass_fields__", {})}
        return kind(**fields)

    return type(f"Other{algorithm.__name__}", (algorithm,), {"make_policy": staticmethod(make_policy)})


@pytest.mark.parametrize(
    ("algorithm", "kind", "env"),
    [
        (DQN, OtherQ, "CartPole-v1"),
        (NStepQ, OtherQ, "CartPole-v1"),
        (NAF, OtherMu, "Pendulum-v1"),
        (A2C, OtherValue, "CartPole-v1"),
        (A3C, OtherValue, "CartPole-v1"),
        (GuidedPolicySearch, Relu, "Pendulum-v1"),
    ],
)
def test_a_gradient_of_one_network_refuses_another_before_any_work(algorithm, kind, env, tmp_path):
    with pytest.raises(BadInput):
        train(env, algorithm=other(algorithm, kind), out=tmp_path / "run", progress="none")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("kind", [Relu, Masked, Shouting])
def test_the_updates_of_trpo_ppo_and_the_policy_gradient_use_the_policys_own_derivatives(kind):
    policy, rng = kind(*SHAPE), np.random.default_rng(5)
    theta = policy.initialise(rng) + 0.1
    observations, advantages = rng.standard_normal((40, 3)), rng.standard_normal(40)
    actions = policy.act_function(theta)(observations, policy.draw_noise(rng, 40), 40)
    old = policy.distribution(theta, observations)

    def surrogate(theta):
        log_prob = policy.log_prob(policy.distribution(theta, observations), actions)
        return anp.mean(anp.exp(log_prob - policy.log_prob(old, actions)) * advantages)

    def mean_kl(theta):
        return anp.mean(policy.kl(old, policy.distribution(theta, observations)))

    g, v, batch = grad(surrogate)(theta), rng.standard_normal(len(theta)), Batch(observations, actions, advantages)
    np.testing.assert_allclose(surrogate_gradient(policy, theta, batch), g, rtol=1e-9, atol=1e-12)
    hessian_v = grad(lambda theta: anp.sum(v * grad(mean_kl)(theta)))(theta)
    product = damped_fisher(policy, theta, batch, damping=0.1, fraction=1.0)
    np.testing.assert_allclose(product(v), hessian_v + 0.1 * v, rtol=2e-3, atol=2e-3)  # in single precision
    now = LogProbability(policy, theta, observations, actions)
    of_ppo = clipped_gradient(now, policy.log_prob(old, actions), advantages, np.inf)
    np.testing.assert_allclose(of_ppo, g, rtol=1e-9, atol=1e-12)
    sums = gradient_sums(policy, theta, observations, actions, advantages)
    np.testing.assert_allclose(sums[: len(theta)] / 40, g, rtol=1e-9, atol=1e-12)
