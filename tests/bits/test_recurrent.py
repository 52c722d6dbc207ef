"""A policy with a state: one per environment, begun with the episode, carried over cuts, and kept by a checkpoint."""

import numpy as np
import pytest
from runs import lasting, run, train

from minitrpo.run_folder.folder import RunFolder

JOB = ("--algorithm", "recurrent:Remembers", "--env", "CartPole-v1", "--steps-per-update", 120, "--filter", "none",
       "--checkpoint-every", 1, "--record-every", 1)  # fmt: skip
KINDS = {"segments": ("--requests", "segments", "--num-envs", 5), "episodes": ("--requests", "episodes")}


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_bits_on_any_number_of_ranks_and_across_a_resume(kind, tmp_path):
    job = (*JOB, *KINDS[kind])
    alone = train(tmp_path / "alone", *job, "--total-steps", 1200)
    for ranks in (2, 3):
        assert train(tmp_path / f"on{ranks}", *job, "--total-steps", 1200, ranks=ranks).sha256 == alone.sha256
        assert lasting(tmp_path / f"on{ranks}") == lasting(tmp_path / "alone")
    train(tmp_path / "half", *job, "--total-steps", 480, ranks=2)
    resumed = run("train.py", "--resume", tmp_path / "half", "--total-steps", 1200, "--progress", "none", ranks=3)
    assert resumed.sha256 == alone.sha256, resumed.err
    assert lasting(tmp_path / "half") == lasting(tmp_path / "alone")
    columns = RunFolder(tmp_path / "alone").columns()
    assert (columns["wrong"] == 0).all(), "actions follow from the states in which their fragments began"
    assert (columns["went_on"].sum() > 10) == (kind == "segments"), "episodes were cut, and went on"
    assert np.unique(columns["moved"]).size == len(columns["moved"])


def test_a_checkpoint_of_segments_holds_the_states(tmp_path):
    train(tmp_path / "run", *JOB, *KINDS["segments"], "--total-steps", 240)
    assert RunFolder(tmp_path / "run").load_checkpoint()["unfinished_states"].shape == (5, 4)
