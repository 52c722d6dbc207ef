"""The examples of a user's own algorithm are right in their formulas; on any ranks: test_conformance.py."""

import importlib.util
from types import SimpleNamespace

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
    module = example("evolution_strategies")
    policy = module.Perturbed(CategoricalPolicy(4, 2, (3,)), 0.1)
    theta = policy.initialise(np.random.default_rng(0))
    states = [policy.initial_state(theta, EpisodeKey(5, 1, n)) for n in range(6)]
    for n in (0, 2, 4):
        np.testing.assert_allclose(states[n] + states[n + 1], 2 * theta, atol=1e-15)
    assert len({s.tobytes() for s in states}) == 6
    deviations = np.concatenate([s - theta for s in states[::2]]) / 0.1
    assert abs(deviations.std() - 1) < 4 / np.sqrt(2 * len(deviations))
    # every row of a tick is the network of its own episode
    rows = np.array(states)
    x = np.random.default_rng(1).standard_normal((6, 4))
    chosen = policy.act_function(theta, rows)(x, None, 6)
    assert chosen.tolist() == [
        int(np.argmax(mlp(s, policy.sizes, one[None]))) for s, one in zip(states, x, strict=True)
    ]


def test_evolution_strategies_step_up_a_known_slope():
    """Where an episode's return is g'theta, the estimate of the gradient points along g."""
    module = example("evolution_strategies")
    settings = module.Settings(population=2000)
    given = CategoricalPolicy(2, 2, ())
    algorithm = module.ES(settings, Context(module.ES.make_policy(settings, given), 7, 1))
    g = np.arange(1.0, 1 + len(algorithm.theta))
    before = algorithm.theta
    numbers = np.arange(settings.population)
    returns = np.array([algorithm.policy.initial_state(before, EpisodeKey(7, 1, n)) @ g for n in numbers.tolist()])
    algorithm.learn({"numbers": numbers, "returns": returns}, None)
    moment = algorithm.adam["moment"]  # of one gradient: along it
    assert moment @ g / np.linalg.norm(moment) / np.linalg.norm(g) > 0.98
    assert np.array_equal(np.sign(algorithm.theta - before), np.ones(len(g)))


# --- IMPALA


def brute_force(ratios, rewards, values, after, discount, largest):
    """Return v_s of equation 1, term by term, of one fragment."""
    rho = np.minimum(ratios, largest)
    targets = []
    for s in range(len(values)):
        total = values[s]
        for t in range(s, len(values)):
            total += discount ** (t - s) * np.prod(rho[s:t]) * rho[t] * (rewards[t] + discount * after[t] - values[t])
        targets.append(total)
    return np.array(targets)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("largest", [0.7, 1.0, 50.0])
def test_v_trace_is_equation_1_of_the_paper(seed, largest):
    rng, v_trace = np.random.default_rng(seed), example("impala").v_trace
    lengths, g = rng.integers(1, 9, size=4), 0.9
    pieces = []
    for n in lengths.tolist():
        values, final = rng.standard_normal(n), rng.standard_normal() * rng.integers(2)
        after = np.append(values[1:], final)
        pieces.append((rng.lognormal(0, 1, n), rng.standard_normal(n), values, after, np.arange(n) == n - 1))
    together = [np.concatenate(parts) for parts in zip(*pieces, strict=True)]
    targets, weights = v_trace(*together, g, largest)
    wanted = [brute_force(*piece[:4], g, largest) for piece in pieces]
    np.testing.assert_allclose(targets, np.concatenate(wanted), rtol=1e-12, atol=1e-12)
    following = [np.append(v[1:], piece[3][-1]) for v, piece in zip(wanted, pieces, strict=True)]
    ratios, rewards, values = together[:3]
    ideal = np.minimum(ratios, largest) * (rewards + g * np.concatenate(following) - values)
    np.testing.assert_allclose(weights, ideal, rtol=1e-12, atol=1e-12)


# --- SAC


@pytest.fixture(scope="module")
def sac():
    """Return the module, an agent in double precision with a warm target, transitions, weights and noise."""
    module, rng = example("sac"), np.random.default_rng(0)
    settings = module.Settings(alpha=0.3, reward_scale=0.5, discount=0.9)
    context = Context(module.SAC.make_policy(settings, GaussianPolicy(3, 2, (6, 5))), 0, 1)
    agent = module.SAC(settings, context)
    for name in ("actor", "critic1", "critic2", "target1", "target2"):
        agent.own[name] = agent.own[name] + 0.2 * rng.standard_normal(agent.own[name].shape)
    shape = (4, 7)
    rows = {"observations": rng.standard_normal((*shape, 3)), "next_observations": rng.standard_normal((*shape, 3)),
            "actions": rng.uniform(-0.9, 0.9, (*shape, 2)), "rewards": rng.standard_normal(shape),
            "terminated": rng.integers(0, 2, shape).astype(float), "discounts": np.full(shape, 0.9)}  # fmt: skip
    weights = rng.integers(0, 2, shape).astype(float)
    noise = rng.standard_normal((*shape, 4)).astype(np.float32)
    return SimpleNamespace(agent=agent, rows=rows, weights=weights, noise=noise, size=2)


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


@pytest.mark.parametrize("shard", range(2))
def test_the_gradients_of_sac_are_those_of_its_three_losses(sac, shard):
    agent, own, sizes = sac.agent, sac.agent.own, sac.agent.q_sizes
    rows, w = {name: array[shard] for name, array in sac.rows.items()}, sac.weights[shard]
    later, now = np.split(sac.noise[shard].astype(float), 2, axis=1)
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
    of_alpha = [-np.sum(w * (log_pi - sac.size))]  # of -log(alpha) (log pi + target), the target -A
    wanted = [grad(actor_loss)(own["actor"]), *(grad(critic_loss)(own[f"critic{i}"]) for i in (1, 2)), of_alpha]
    found, reports = agent.gradients(sac.rows, sac.weights, sac.noise)
    np.testing.assert_allclose(found[shard], np.concatenate(wanted), rtol=1e-6, atol=1e-6)
    assert reports[shard, 0] == pytest.approx(critic_loss(own["critic1"]), rel=1e-6)
    assert reports[shard, 2] == pytest.approx(-np.sum(w * log_pi), rel=1e-6)


def test_targets_of_sac_follow_slowly_and_every_part_has_an_optimiser_of_its_own(sac):
    agent, before = sac.agent, dict(sac.agent.own)
    parts = ("actor", "critic1", "critic2", "log_alpha")
    agent.step(np.concatenate([np.full(len(before[name]), 10.0**-i) for i, name in enumerate(parts)]))
    after, agent.own, rate = agent.own, before, agent.settings.target_rate
    for i in (1, 2):
        mixed = (1 - rate) * before[f"target{i}"] + rate * after[f"critic{i}"]
        np.testing.assert_allclose(after[f"target{i}"], mixed, rtol=1e-6)
    for name in parts:
        assert np.all(after[name] != before[name])
        assert after[f"{name}_updates"] == before[f"{name}_updates"] + 1
