"""Gorila: one bundle that pulls at every step is plain Q-learning with a memory; the server refuses, and counts."""

import numpy as np
import pytest
from fragments import random_fragments
from runs import train

from minitrpo.algorithms.algorithm import Context
from minitrpo.algorithms.asynchronous_algorithm import Moment
from minitrpo.algorithms.off_policy.dqn import DQN
from minitrpo.algorithms.off_policy.gorila import GorilaDQN, judged
from minitrpo.experience.randomness import Purpose, generator
from minitrpo.parallel.comm import flat
from minitrpo.policies import CategoricalPolicy
from minitrpo.run_folder.folder import RunFolder

POLICY = CategoricalPolicy(3, 4, (8,))


def made(algorithm, **settings):
    own = algorithm.Settings(**settings)
    return algorithm(own, Context(algorithm.make_policy(own, POLICY), 0, 1))


def test_one_bundle_that_pulls_at_every_step_is_plain_q_learning_with_a_replay_buffer():
    common = {"batch": 8, "warm_up": 10, "target_every": 7, "exploration_steps": 30, "replay_size": 40}
    plain, bundle = made(DQN, replay_ratio=1.0, **common), made(GorilaDQN, **common)
    shared, rng, applied = flat(bundle.state()), np.random.default_rng(0), 0
    np.testing.assert_array_equal(shared["theta"], plain.theta.astype(np.float32))
    for step in range(100):
        fragment = random_fragments(rng, (1,))
        plain.learn(plain.prepare(plain.plan(), fragment), generator(0, step, 0, Purpose.UPDATE))
        gradient, _ = bundle.gradient(shared, fragment, Moment(applied, step), generator(0, step, 0, Purpose.UPDATE))
        if gradient:
            assert bundle.apply(shared, gradient, Moment(applied, step + 1)) is True
            applied += 1
            np.testing.assert_array_equal(shared["theta"], plain.theta.astype(np.float32))
        np.testing.assert_array_equal(shared["theta"][:-1], plain.networks["network"])
        np.testing.assert_array_equal(shared["target"][:-1], plain.networks["target"])
    assert applied == plain.updates == 90


def usual(statistics, loss, deviations):
    """Return whether a loss is usual; the statistics take it in, in place."""
    verdict, statistics[:] = judged(statistics, loss, deviations)
    return verdict


def test_a_loss_far_above_the_usual_ones_is_refused_until_losses_have_risen_for_good():
    statistics, rng = np.zeros(3), np.random.default_rng(1)
    losses = rng.uniform(1, 3, 80)
    assert all(usual(statistics, loss, 5.0) for loss in losses)
    np.testing.assert_allclose(statistics, [80, losses.mean(), losses.var()], rtol=1e-9)
    assert all(usual(statistics, loss, 5.0) for loss in rng.uniform(1, 3, 500))
    np.testing.assert_allclose(statistics[1:], [2, 1 / 3], atol=0.2)
    assert not usual(statistics, 50.0, 5.0)
    assert usual(statistics, 2.5, 5.0)
    verdicts = [usual(statistics, 20.0, 3.0) for _ in range(500)]
    assert not verdicts[0]
    assert all(verdicts[-100:])


@pytest.mark.parametrize("loss", [np.nan, np.inf])
def test_a_loss_that_is_no_number_is_refused_and_spoils_nothing(loss):
    verdict, new = judged(np.array([7.0, 2.0, 4.0]), loss, 5.0)
    assert verdict is False
    np.testing.assert_array_equal(new, [7.0, 2.0, 4.0])


def test_an_outlier_leaves_everything_as_it_was():
    bundle = made(GorilaDQN, outlier=3.0)
    shared, size = flat(bundle.state()), len(bundle.state()["theta"])
    rng = np.random.default_rng(3)
    for k in range(150):
        g = {"gradient": rng.normal(size=size).astype(np.float32), "loss": rng.uniform(1, 2, 1)}
        assert bundle.apply(shared, g, Moment(k, k))
    before = {name: array.copy() for name, array in shared.items() if name != "losses"}
    wild = {"gradient": np.full(size, 1e6, np.float32), "loss": np.array([1e6])}
    assert bundle.apply(shared, wild, Moment(150, 150)) is False
    for name, array in before.items():
        np.testing.assert_array_equal(shared[name], array)


JOB = ("--algorithm", "gorila", "--env", "CartPole-v1", "--hidden", "8", "--transport", "events", "--warm-up", 20,
       "--batch", 8, "--replay-size", 100, "--steps-per-update", 200, "--total-steps", 1200)  # fmt: skip


def test_what_is_refused_is_counted(tmp_path):
    told = {}
    for name, options in {"fresh": ("--max-staleness", 1, "--outlier", 1e9), "usual": ("--outlier", 0.5)}.items():
        train(tmp_path / name, *JOB, "--workers", 4, "--max-staleness", 100, *options)
        columns = RunFolder(tmp_path / name).columns()
        told[name] = [int(np.nansum(columns[column])) for column in ("applied", "refused")]
        assert name == "usual" or columns["staleness_max"].max() <= 1
    assert told["fresh"][1] > told["fresh"][0] / 2  # of 4 equal workers most gradients are 3 old
    assert 0 < told["usual"][1] < told["usual"][0]
