"""Numbers that overflow on the way: one line that says where and how large they were, and no checkpoint has them."""

import numpy as np
import pytest
from runs import run
from toys.generous_envs import LENGTH

from minitrpo.errors import AlgorithmFailed
from minitrpo.experience.replay_buffer import ReplayBuffer
from minitrpo.run_folder.folder import RunFolder

THETA = "theta is not finite after learn() in update 1; no checkpoint has it. Mean observations were up to "
BUFFER = "the replay buffer keeps float32, and one of the {} is "
ENDS = {  # algorithm: what its environment is generous with, what is said
    "batch-ppo": ("continuous-rewards", THETA),
    "naf": ("continuous-rewards", BUFFER.format("rewards")),
    "dqn": ("discrete-rewards", BUFFER.format("rewards")),
    "gorila": ("discrete-rewards", BUFFER.format("rewards")),
}
JOB = ("--total-steps", 2000, "--steps-per-update", 200, "--hidden", 4, "--progress", "none", "--out", "run")


def generous(algorithm, env, tmp_path, *more, ranks=0):
    """Return how a run ended in an environment of large numbers."""
    words = ("--algorithm", algorithm, "--env", f"generous_envs:Generous-{env}-v0", *JOB, *more)
    return run("train.py", *words, cwd=tmp_path, ranks=ranks)


@pytest.mark.parametrize("ranks", [0, 2])
@pytest.mark.parametrize("algorithm", ENDS)
def test_a_run_ends_with_how_large_the_numbers_were(algorithm, ranks, tmp_path):
    env, said = ENDS[algorithm]
    outcome = generous(algorithm, env, tmp_path, ranks=ranks)
    assert outcome.code == 1
    (line,) = [line for line in outcome.err.splitlines() if line.startswith("minitrpo: ")]
    assert said in line
    assert "Scale what is too large, rewards included" in line
    assert "restore()" not in outcome.out + outcome.err, "a note about what is not the cause"
    assert np.isfinite(RunFolder(tmp_path / "run").load_checkpoint()["theta"]).all()


def test_the_size_of_the_returns_is_said(tmp_path):
    line = generous("batch-ppo", "continuous-rewards", tmp_path).err
    returns = float(line.partition("returns of finished episodes up to ")[2].partition(". ")[0])
    assert 9e98 < returns < 9e98 * LENGTH


def test_trpo_takes_no_step_that_is_not_finite_and_says_so_once(tmp_path):
    outcome = generous("trpo", "continuous-observations", tmp_path, "--filter", "none")
    assert outcome.code == 0
    assert outcome.out.count("the step is not finite, and was not taken") == 1
    assert outcome.out.count("the critic's fit is not finite, the one before is kept") == 1
    assert {row["line_search"] for row in RunFolder(tmp_path / "run").rows()} == {"not finite"}


def test_a_very_long_number_is_written_short(tmp_path):
    outcome = generous("a2c", "continuous-rewards", tmp_path)
    assert outcome.code == 0
    said = outcome.out.partition("last mean return ")[2].partition(";")[0]
    assert abs(float(said)) > 1e90
    assert len(said) < 12


def test_a_memory_refuses_what_its_kind_of_numbers_cannot_hold():
    memory = ReplayBuffer(1, 4, 2, 0)
    rows = {"observations": np.ones((3, 2)), "next_observations": np.ones((3, 2)), "actions": np.zeros(3, int)}
    rows |= {name: np.ones(3) for name in ("rewards", "terminated", "discounts")}
    memory.add(0, rows | {"rewards": np.array([0.0, 3.4e38, -3.4e38])})
    with pytest.raises(AlgorithmFailed, match=r"one of the next observations is -4e\+38. Scale what is too large"):
        memory.add(0, rows | {"next_observations": np.array([[0.0, 1.0], [1.0, -4e38], [2.0, 2.0]])})
