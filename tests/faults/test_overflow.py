"""Numbers that overflow on the way: one line that says where and how large they were, and no checkpoint has them."""

import numpy as np
import pytest
from hostile_envs import Walk
from runs import forked, run

from minitrpo.errors import AlgorithmFailed
from minitrpo.experience.replay_buffer import ReplayBuffer
from minitrpo.run_folder.folder import RunFolder

ENDS = {  # algorithm: what its environment is generous with, what is named
    "batch-ppo": ("continuous-rewards", "theta is not finite"),
    "naf": ("continuous-rewards", "one of the rewards is"),
    "dqn": ("discrete-rewards", "one of the rewards is"),
    "gorila": ("discrete-rewards", "one of the rewards is"),
}
JOB = ("--total-steps", 1000, "--steps-per-update", 200, "--hidden", 4, "--progress", "none", "--out", "run")


def generous(algorithm, env, tmp_path, *more):
    """Return how a run ended in an environment of large numbers."""
    words = ("--algorithm", algorithm, "--env", f"hostile_envs:Generous-{env}-v0", *JOB, *more)
    return forked("train", *words, cwd=tmp_path, timeout=120)


@pytest.mark.parametrize("algorithm", ENDS)
def test_a_run_ends_with_how_large_the_numbers_were(algorithm, tmp_path):
    env, said = ENDS[algorithm]
    done = generous(algorithm, env, tmp_path)
    assert done.code == 1, done
    (line,) = [line for line in done.err.splitlines() if line.startswith("minitrpo: ")]
    assert said in line
    assert "Scale what is too large" in line
    assert "restore()" not in done.out + done.err, "a note about what is not the cause"
    assert np.isfinite(RunFolder(tmp_path / "run").load_checkpoint()["theta"]).all()
    if algorithm == "batch-ppo":
        returns = float(line.partition("returns of finished episodes up to ")[2].partition(". ")[0])
        assert 9e98 < returns < 9e98 * Walk.length


@pytest.mark.mpi
@pytest.mark.parametrize(("transport", "ranks"), [("server", 3), ("window", 2), ("events", 1)])
def test_no_theta_of_which_one_number_is_not_finite_gets_into_a_checkpoint(transport, ranks, tmp_path):
    words = ("--algorithm", "hostile_algorithms:OverflowsAtTheEnd", "--env", "CartPole-v1", *JOB)
    more = ("--transport", transport, "--checkpoint-every", 1, "--oversubscribe")
    done = run("train.py", *words, *more, ranks=ranks, cwd=tmp_path)
    assert done.code == 1, done.out + done.err
    assert done.err.count("theta is not finite") == 1, done.err
    kept = RunFolder(tmp_path / "run").load_checkpoint()
    assert np.isfinite(kept["theta"]).all()


def test_trpo_takes_no_step_that_is_not_finite_and_says_so_once(tmp_path):
    done = generous("trpo", "continuous-observations", tmp_path, "--filter", "none")
    assert done.code == 0, done
    assert done.out.count("the step is not finite") == 1
    assert done.out.count("the critic's fit is not finite") == 1
    assert {row["line_search"] for row in RunFolder(tmp_path / "run").rows()} == {"not finite"}


def test_a_very_long_number_is_written_short(tmp_path):
    done = generous("a2c", "continuous-rewards", tmp_path)
    assert done.code == 0, done
    said = done.out.partition("last mean return ")[2].partition(";")[0]
    assert abs(float(said)) > 1e90
    assert len(said) < 12


def test_a_memory_refuses_what_its_kind_of_numbers_cannot_hold():
    memory = ReplayBuffer(1, 4, 2, 0)
    rows = {"observations": np.ones((3, 2)), "next_observations": np.ones((3, 2)), "actions": np.zeros(3, int)}
    rows |= {name: np.ones(3) for name in ("rewards", "terminated", "discounts")}
    memory.add(0, rows | {"rewards": np.array([0.0, 3.4e38, -3.4e38])})
    with pytest.raises(AlgorithmFailed, match=r"next observations is -4e\+38"):
        memory.add(0, rows | {"next_observations": np.array([[0.0, 1.0], [1.0, -4e38], [2.0, 2.0]])})
