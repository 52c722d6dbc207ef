"""Learning from a memory: the gradient, Q* of a chain from one buffer and from shards, and how often it is learned."""

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad
from fragments import GAMMA, chain_q, chain_transitions
from runs import train

from minitrpo.algorithms.algorithm import Context
from minitrpo.algorithms.off_policy.dqn import DQN
from minitrpo.algorithms.q_learning import q_gradient_sums
from minitrpo.experience.randomness import Purpose, generator
from minitrpo.perceptron import layer_sizes, mlp
from minitrpo.policies import CategoricalPolicy
from minitrpo.run_folder.folder import RunFolder


def test_the_gradient_sums_are_those_of_the_rows_that_count():
    rng, sizes = np.random.default_rng(0), layer_sizes(3, (6,), 4)
    theta, target = rng.normal(size=(2, 3 * 6 + 6 + 6 * 4 + 4))
    rows = {
        "observations": rng.normal(size=(2, 7, 3)),
        "actions": rng.integers(4, size=(2, 7)),
        "rewards": rng.normal(size=(2, 7)),
        "next_observations": rng.normal(size=(2, 7, 3)),
        "terminated": rng.integers(2, size=(2, 7)).astype(float),
        "discounts": rng.uniform(0.5, 1, (2, 7)),
    }
    weights = (np.arange(7) < np.array([[5], [2]])).astype(float)
    gradients, sums = q_gradient_sums(theta, target, sizes, rows, weights, 1e6)
    for i, count in enumerate((5, 2)):
        some = {name: array[i, :count] for name, array in rows.items()}
        future = mlp(target, sizes, some["next_observations"]).max(axis=1)
        y = some["rewards"] + some["discounts"] * (1 - some["terminated"]) * future

        def loss(theta, some=some, y=y):
            q = mlp(theta, sizes, some["observations"])[anp.arange(len(y)), some["actions"]]
            return 0.5 * anp.sum((q - y) ** 2)

        np.testing.assert_allclose(gradients[i], grad(loss)(theta), rtol=1e-10, atol=1e-10)
        assert sums[i, 0] == pytest.approx(loss(theta))


@pytest.mark.parametrize("slots", [0, 3])
def test_q_of_a_chain_becomes_the_one_that_solves_bellmans_equation(slots):
    """One-hot states and no hidden layer: a table; with one buffer, and with three unequal shards."""
    settings = DQN.Settings(discount=GAMMA, step_size=0.02, warm_up=1, replay_ratio=30.0, target_every=50, batch=32)
    dqn = DQN(settings, Context(DQN.make_policy(settings, CategoricalPolicy(5, 2, ())), 0, 10, slots=slots))
    for iteration in range(10):
        parts = [dqn.prepare(dqn.plan(), part) for part in chain_transitions()]
        batch = {name: np.concatenate([d[name] for d in parts]) for name in parts[0]}
        dqn.learn(batch, generator(0, iteration, 0, Purpose.UPDATE))
    assert len(dqn.buffer.sizes) == max(1, slots)
    np.testing.assert_allclose(dqn.policy.distribution(dqn.theta, np.eye(5)), chain_q(), atol=0.01)


JOB = ("--algorithm", "dqn", "--env", "CartPole-v1", "--hidden", 16, "--record-every", 1)


def test_the_papers_preset_makes_an_update_every_four_steps(tmp_path):
    more = ("--preset", "paper", "--warm-up", 200, "--replay-size", 500, "--target-every", 50, "--total-steps", 1000)
    train(tmp_path / "run", *JOB, *more)
    folder = RunFolder(tmp_path / "run")
    columns, checkpoint = folder.columns(), folder.load_checkpoint()
    assert checkpoint["done"].tolist() == [1000, 200]  # steps, updates: (1000 - 200) / 4
    assert columns["exploration"][-1] == pytest.approx(1 - 1000 / 1e6, abs=1e-4)
    assert {"networks.optimiser.mean", "networks.optimiser.square"} <= checkpoint.keys()
    assert set(np.unique(checkpoint["buffer.discounts"]).tolist()) == {np.float32(0.99)}  # one step ahead
