"""The examples of a user's own algorithm are right in their formulas; on any ranks: test_conformance.py."""

import importlib.util

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad
from runs import SCRIPTS

from minitrpo.algorithms import Context, EpisodeKey
from minitrpo.perceptron import mlp
from minitrpo.policies import CategoricalPolicy, GaussianPolicy

OWN = SCRIPTS / "own"


def example(name):
    """Return an example as a module."""
    spec = importlib.util.spec_from_file_location(f"own_{name}", OWN / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- evolution strategies


def test_mirrored_pairs_of_perturbations_that_do_not_depend_on_who_plays():
    policy = example("evolution_strategies").Perturbed(CategoricalPolicy(4, 2, (3,)), 0.1)
    theta = policy.initialise(np.random.default_rng(0))
    states = np.array([policy.initial_state(theta, EpisodeKey(5, 1, n)) for n in range(6)])
    np.testing.assert_allclose(states[::2] + states[1::2], np.tile(2 * theta, (3, 1)), atol=1e-15)
    assert len(np.unique(states, axis=0)) == 6
    deviations = (states[::2] - theta) / 0.1
    assert abs(deviations.std() - 1) < 4 / np.sqrt(2 * deviations.size)
    x = np.random.default_rng(1).standard_normal((6, 4))  # every row of a tick is the network of its own episode
    best = [int(np.argmax(mlp(s, policy.sizes, one[None]))) for s, one in zip(states, x, strict=True)]
    assert policy.act_function(theta, states)(x, None, 6).tolist() == best


def test_evolution_strategies_step_up_a_known_slope():
    """Where an episode's return is g'theta, the estimate of the gradient points along g."""
    module = example("evolution_strategies")
    settings = module.Settings(population=2000)
    algorithm = module.ES(settings, Context(module.ES.make_policy(settings, CategoricalPolicy(2, 2, ())), 7, 1))
    g, before, numbers = np.arange(1.0, 1 + len(algorithm.theta)), algorithm.theta, np.arange(settings.population)
    returns = np.array([algorithm.policy.initial_state(before, EpisodeKey(7, 1, n)) @ g for n in numbers.tolist()])
    algorithm.learn({"numbers": numbers, "returns": returns}, None)
    moment = algorithm.adam["moment"]  # of one gradient: along it
    assert moment @ g / np.linalg.norm(moment) / np.linalg.norm(g) > 0.98
    assert np.array_equal(np.sign(algorithm.theta - before), np.ones(len(g)))


# --- IMPALA


def brute_force(rho, rewards, values, after, discount):
    """Return v_s of equation 1, term by term, of one fragment."""
    deltas = rho * (rewards + discount * after - values)
    terms = [[discount ** (t - s) * np.prod(rho[s:t]) * deltas[t] for t in range(s, len(rho))] for s in range(len(rho))]
    return values + [sum(of_step) for of_step in terms]


@pytest.mark.parametrize("largest", [0.7, 1.0, 50.0])
def test_v_trace_is_equation_1_of_the_paper(largest):
    rng, g, columns, wanted, following = np.random.default_rng(0), 0.9, [], [], []
    for n in rng.integers(1, 9, size=8).tolist():
        ratios, rewards, values = rng.lognormal(0, 1, n), rng.standard_normal(n), rng.standard_normal(n)
        after = np.append(values[1:], rng.standard_normal() * rng.integers(2))
        columns.append((ratios, rewards, values, after, np.arange(n) == n - 1))
        wanted.append(brute_force(np.minimum(ratios, largest), rewards, values, after, g))
        following.append(np.append(wanted[-1][1:], after[-1]))
    ratios, rewards, values, after, last = map(np.concatenate, zip(*columns, strict=True))
    targets, weights = example("impala").v_trace(ratios, rewards, values, after, last, g, largest)
    np.testing.assert_allclose(targets, np.concatenate(wanted), rtol=1e-12, atol=1e-12)
    ideal = np.minimum(ratios, largest) * (rewards + g * np.concatenate(following) - values)
    np.testing.assert_allclose(weights, ideal, rtol=1e-12, atol=1e-12)


# --- SAC


def sac(rng):
    """Return an agent in double precision, with target networks of their own."""
    module = example("sac")
    settings = module.Settings(alpha=0.3, reward_scale=0.5, discount=0.9)
    agent = module.SAC(settings, Context(module.SAC.make_policy(settings, GaussianPolicy(3, 2, (6, 5))), 0, 1))
    for name in ("actor", "critic1", "critic2", "target1", "target2"):
        agent.networks[name] = agent.networks[name] + 0.2 * rng.standard_normal(agent.networks[name].shape)
    return agent


def squashed(theta, sizes, observations, noise):
    """Return actions and log pi, in autograd's words."""
    outputs = mlp(theta, sizes, observations)
    mu, log_std = outputs[:, :2], anp.clip(outputs[:, 2:], -5.0, 2.0)
    u = mu + anp.exp(log_std) * noise
    log_normal = -0.5 * noise**2 - log_std - 0.5 * np.log(2 * np.pi)
    a = anp.tanh(u)
    return a, anp.sum(log_normal - anp.log(1 - a**2 + 1e-6), axis=1)


def q_of(theta, sizes, observations, actions):
    return mlp(theta, sizes, anp.concatenate([observations, actions], axis=1))[:, 0]


def test_the_gradients_of_sac_are_those_of_its_three_losses():
    rng, shape = np.random.default_rng(0), (4, 7)
    agent, drawn = sac(rng), rng.standard_normal((*shape, 11))
    own, sizes, weights = agent.networks, agent.q_sizes, rng.integers(0, 2, shape).astype(float)
    noise = drawn[..., 7:].astype(np.float32)
    everything = {"observations": drawn[..., :3], "next_observations": drawn[..., 3:6], "rewards": drawn[..., 6],
                  "actions": rng.uniform(-0.9, 0.9, (*shape, 2)), "discounts": np.full(shape, 0.9),
                  "terminated": rng.integers(0, 2, shape).astype(float)}  # fmt: skip
    found, reports = agent.gradients(everything, weights, noise)
    shard = 1
    rows, w = {name: array[shard] for name, array in everything.items()}, weights[shard]
    later, now = np.split(noise[shard].astype(float), 2, axis=1)
    alpha = float(np.exp(own["log_alpha"][0]))
    next_a, next_log_pi = squashed(own["actor"], agent.policy.sizes, rows["next_observations"], later)
    least = np.minimum(*(q_of(own[f"target{i}"], sizes, rows["next_observations"], next_a) for i in (1, 2)))
    y = 0.5 * rows["rewards"] + 0.9 * (1 - rows["terminated"]) * (least - alpha * next_log_pi)

    def critic_loss(theta):
        return anp.sum(w * 0.5 * (q_of(theta, sizes, rows["observations"], rows["actions"]) - y) ** 2)

    def actor_loss(theta):
        a, log_pi = squashed(theta, agent.policy.sizes, rows["observations"], now)
        q = anp.minimum(*(q_of(own[f"critic{i}"], sizes, rows["observations"], a) for i in (1, 2)))
        return anp.sum(w * (alpha * log_pi - q))

    log_pi = squashed(own["actor"], agent.policy.sizes, rows["observations"], now)[1]
    of_alpha = [-np.sum(w * (log_pi - 2))]  # of -log(alpha) (log pi + target), the target -A
    wanted = [grad(actor_loss)(own["actor"]), *(grad(critic_loss)(own[f"critic{i}"]) for i in (1, 2)), of_alpha]
    np.testing.assert_allclose(found[shard], np.concatenate(wanted), rtol=1e-6, atol=1e-6)
    assert reports[shard, 0] == pytest.approx(critic_loss(own["critic1"]), rel=1e-6)
    assert reports[shard, 2] == pytest.approx(-np.sum(w * log_pi), rel=1e-6)


def test_targets_of_sac_follow_slowly_and_every_part_has_an_optimiser_of_its_own():
    agent = sac(np.random.default_rng(0))
    before = {**agent.networks, "adam": dict(agent.networks["adam"])}
    parts = ("actor", "critic1", "critic2", "log_alpha")
    agent.step(np.concatenate([np.full(len(before[name]), 10.0**-i) for i, name in enumerate(parts)]))
    after, rate = agent.networks, agent.settings.target_rate
    for i in (1, 2):
        mixed = (1 - rate) * before[f"target{i}"] + rate * after[f"critic{i}"]
        np.testing.assert_allclose(after[f"target{i}"], mixed, rtol=1e-6)
    for name in parts:
        assert np.all(after[name] != before[name])
        assert after["adam"][name]["updates"] == before["adam"][name]["updates"] + 1
