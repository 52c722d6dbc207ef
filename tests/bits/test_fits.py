"""A rank that is killed while it fits loses nothing."""

import pytest
from runs import lasting, run, train

from minitrpo.run_folder.folder import RunFolder

COMMON = ("--preset", "episodes", "--total-steps", 2500, "--steps-per-update", 500)
JOBS = {
    "episodes": (*COMMON, "--env", "Reacher-v5"),
    "segments": (*COMMON, "--env", "Hopper-v5", "--requests", "segments", "--num-envs", 6),
}
KILLED_IN = 4  # toys/fits.py
QUIET = ("--progress", "none", "--oversubscribe")


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("job", "ranks", "learner"),
    [
        ("episodes", 0, "root"),
        pytest.param("segments", 2, "root", marks=pytest.mark.slow),
        pytest.param("episodes", 3, "sharded", marks=pytest.mark.slow),
    ],
)
def test_a_run_killed_in_the_middle_of_a_fit_resumes_to_the_same_bits(job, ranks, learner, tmp_path, monkeypatch):
    words, out = ("--algorithm", "fits:Killed", *JOBS[job]), tmp_path / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOYS_BEHAVE", "1")
        train(tmp_path / "whole", *words)
    killed = (*words, "--learner", learner, "--checkpoint-every", 1, *QUIET)
    assert run("train.py", *killed, "--out", out, ranks=ranks).code != 0
    rows = [int(row["iteration"]) for row in RunFolder(out).rows()]
    assert rows == list(range(1, len(rows) + 1))
    assert len(rows) == KILLED_IN - 1
    assert RunFolder(out).load_checkpoint()["run_counters"][0] == len(rows)
    monkeypatch.setenv("TOYS_BEHAVE", "1")
    resumed = run("train.py", "--resume", out, "--algorithm", "fits:Killed", *QUIET)
    assert resumed.code == 0, resumed.err
    assert lasting(out) == lasting(tmp_path / "whole")
