"""Learning from a memory that several ranks share: the same bits whoever holds which shard, at a fixed replay ratio."""

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad
from runs import lasting, run, train
from fragments import GAMMA, chain_q, chain_transitions

from minitrpo.algorithms.algorithm import Context
from minitrpo.algorithms.off_policy.dqn import DQN
from minitrpo.algorithms.q_learning.targets import q_gradient_sums
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
        digests = [dqn.digest(dqn.plan(), part) for part in chain_transitions()]
        batch = {name: np.concatenate([d[name] for d in digests]) for name in digests[0]}
        dqn.learn(batch, generator(0, iteration, 0, Purpose.UPDATE))
    assert len(dqn.buffer.sizes) == max(1, slots)
    np.testing.assert_allclose(dqn.policy.distribution(dqn.theta, np.eye(5)), chain_q(), atol=0.01)


JOB = ("--algorithm", "dqn", "--env", "CartPole-v1", "--hidden", "16", "--num-envs", 5, "--steps-per-update", 40,
       "--warm-up", 100, "--replay-size", 300, "--replay-ratio", 0.3, "--target-every", 20,
       "--batch", 20, "--record-every", 1)  # fmt: skip


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A run in one process, whose buffer has been filled more than once."""
    folder = tmp_path_factory.mktemp("dqn") / "alone"
    return train(folder, *JOB, "--total-steps", 800), folder


@pytest.mark.parametrize("learner", ["root", "sharded"])
def test_shared_and_sharded_replay_have_the_same_bits_on_any_number_of_ranks(learner, alone, tmp_path):
    outcome, folder = alone
    for ranks in (1, 2, 3):
        other = train(tmp_path / f"{ranks}", *JOB, "--total-steps", 800, "--learner", learner, ranks=ranks)
        assert other.sha256 == outcome.sha256
        assert lasting(tmp_path / f"{ranks}") == lasting(folder)


def test_a_run_goes_on_with_its_buffer_whoever_holds_it(alone, tmp_path):
    outcome, folder = alone
    half = tmp_path / "half"
    train(half, *JOB, "--total-steps", 400, "--learner", "sharded", ranks=2)
    for total, ranks in ((600, 3), (800, 2)):  # others' shards now
        job = ("--resume", half, "--total-steps", total, "--progress", "none", "--oversubscribe")
        resumed = run("train.py", *job, ranks=ranks)
        assert resumed.code == 0, resumed.err
    assert resumed.sha256 == outcome.sha256
    assert lasting(half) == lasting(folder)


def test_the_replay_ratio_is_that_of_the_settings(alone):
    columns = RunFolder(alone[1]).columns()
    expected = np.floor(0.3 * np.maximum(0, columns["env_steps"] - 100) + 1e-9)
    np.testing.assert_array_equal(np.cumsum(columns["updates"]), expected)


def test_bad_requests_are_refused_before_any_work(tmp_path):
    for options, expected in (
        (("--env", "Pendulum-v1"), "dqn takes Discrete actions"),
        (("--env", "CartPole-v1", "--learner", "sharded", "--requests", "episodes"), "with --requests segments only"),
        (("--env", "CartPole-v1", "--replay-ratio", "0"), "--replay-ratio must lie in (0, 64]"),
        (("--env", "CartPole-v1", "--batch", "0"), "--batch must lie in [1, 100000]"),
        (("--env", "CartPole-v1", "--filter", "some"), "--filter"),
    ):
        outcome = run("train.py", "--algorithm", "dqn", *options, "--out", tmp_path / "run")
        assert outcome.code == 2
        assert expected in outcome.err
        assert outcome.err.count("\n") == 1
        assert not (tmp_path / "run").exists()


def test_the_papers_preset_makes_an_update_every_four_steps_and_has_the_same_bits_on_any_ranks(tmp_path):
    job = ("--algorithm", "dqn", "--env", "CartPole-v1", "--preset", "paper", "--hidden", 16, "--warm-up", 200,
           "--replay-size", 500, "--target-every", 50, "--record-every", 25, "--total-steps", 1000)  # fmt: skip
    alone = train(tmp_path / "1", *job)
    for ranks in (2, 3):
        assert train(tmp_path / f"{ranks}", *job, "--learner", "sharded", ranks=ranks).sha256 == alone.sha256
    folder = RunFolder(tmp_path / "1")
    columns, checkpoint = folder.columns(), folder.load_checkpoint()
    assert checkpoint["done"].tolist() == [1000, 200]  # steps, updates: (1000 - 200) / 4
    assert columns["exploration"][-1] == pytest.approx(1 - 1000 / 1e6, abs=1e-4)
    assert {"optimiser_mean", "optimiser_square"} <= checkpoint.keys()
    assert set(np.unique(checkpoint["buffer_discounts"]).tolist()) == {np.float32(0.99)}  # one step ahead
