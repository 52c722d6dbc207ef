"""What an environment starts inherits nothing of ours, no signal handler, no wake-up descriptor; and goes with us."""

import os
from pathlib import Path

import pytest
from runs import run


def processes_with(mark):
    """Return the processes whose environment holds a text."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (place / "environ").read_bytes():
                found.append(int(place.name))
        except OSError:
            continue
    return [process for process in found if process != os.getpid()]


@pytest.mark.parametrize("ranks", [0, pytest.param(2, marks=pytest.mark.mpi)])
def test_an_environment_with_children_ends_in_silence_and_leaves_none(ranks, tmp_path, monkeypatch):
    mark = f"CHILDREN_OF={tmp_path}"
    monkeypatch.setenv(*mark.split("=", 1))
    size = ("--num-envs", 2, "--steps-per-update", 40, "--total-steps", 80, "--hidden", 4)
    words = ("--env", "children_envs:Parent-v0", *size, "--progress", "none", "--out", tmp_path / "run")
    done = run("train.py", *words, ranks=ranks, new=True)
    assert done.code == 0, done.err
    assert done.err == ""
    assert done.sha256
    assert processes_with(mark) == []
