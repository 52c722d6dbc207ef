"""Short runs on real environments learn, with a wide margin; figures of record are elsewhere, with their provenance."""

import pytest
from runs import train

from minitrpo.run_folder.folder import RunFolder

TASKS = {
    # environment: (steps, options, what an untrained policy gets at best, what the last updates must reach)
    "CartPole-v1": (40_000, (), 60, 200),
    "InvertedPendulum-v5": (80_000, (), 60, 200),
    "Pendulum-v1": (120_000, ("--discount", 0.95), -900, -600),
    "Reacher-v5": (60_000, (), -18, -11),
}


@pytest.mark.parametrize("env", TASKS)
def test_returns_rise(env, tmp_path):
    steps, options, untrained, trained = TASKS[env]
    train(tmp_path / "run", "--env", env, "--total-steps", steps, "--steps-per-update", 4000, *options, ranks=2)
    returns = RunFolder(tmp_path / "run").columns()["mean_return"]
    assert returns[0] < untrained
    assert returns[-3:].mean() > trained


def test_the_paper_preset_learns(tmp_path):
    train(
        tmp_path / "run", "--env", "CartPole-v1", "--preset", "paper", "--steps-per-update", 4000, "--max-kl", 0.01,
        "--total-steps", 60_000, ranks=2,
    )  # fmt: skip
    returns = RunFolder(tmp_path / "run").columns()["mean_return"]
    assert returns[-3:].mean() > 150 > returns[0]
