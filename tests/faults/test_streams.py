"""How commands begin, and whoever reads what they print: any terminal, a folder that has gone, a full pipe."""

import os
import subprocess
import sys

import pytest
from runs import MAINS, ROOT, SCRIPTS, forked

from minitrpo.commands import train
from minitrpo.errors import shorten

JOB = ("--env", "CartPole-v1", "--hidden", 4, "--critic", "linear", "--total-steps", 300, "--steps-per-update", 100,
       "--progress", "none")  # fmt: skip
HOME = {**os.environ, "PYTHONPATH": str(ROOT)}
HOME["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])


def shell(line, cwd, **environment):
    """Run a line of sh, as a person types it."""
    return subprocess.run(
        ["bash", "-c", line], cwd=cwd, env=HOME | environment, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("words", [f"{SCRIPTS}/train.py", "-m minitrpo train"])
def test_a_folder_that_was_deleted(words, tmp_path):
    done = shell(f"mkdir gone && cd gone && rmdir ../gone && python {words}", tmp_path)
    assert (done.returncode, done.stderr.count("\n"), "deleted" in done.stderr) == (2, 1, True), done.stderr


def train_into(where, words):
    """Train with a stdout that is full, or that nobody reads."""
    if where == "full":
        os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
    else:
        reading, writing = os.pipe()
        os.dup2(writing, 1)
        os.close(reading)
        _kept, sys.stdout = sys.stdout, os.fdopen(1, "w")  # a stream that nobody holds closes its descriptor
    return train.main(words)


@pytest.mark.parametrize("where", ["full", "unread"])
def test_whoever_reads_what_is_printed(where, tmp_path, monkeypatch):
    monkeypatch.setitem(MAINS, "train", lambda words: train_into(where, words))
    done = forked("train", *JOB, "--out", "run", cwd=tmp_path)
    assert done.code == 1, done
    assert ("cannot print" in "".join(done.err.splitlines()[:1]), "Traceback" in done.err) == (True, False), done


def test_a_reader_who_had_enough_and_a_full_disk_for_what_is_printed(tmp_path):
    assert "Traceback" not in shell("python -u -m minitrpo doctor | true", tmp_path).stderr
    done = shell("python -m minitrpo doctor > /dev/full", tmp_path)
    assert (done.returncode, done.stderr.count("\n"), "cannot print" in done.stderr) == (1, 1, True), done.stderr


@pytest.mark.parametrize(("length", "whole"), [(57, True), (58, True), (59, False), (1000, False)])
def test_a_value_is_shown_whole_where_it_fits(length, whole):
    """With its quotation marks in 60 letters."""
    text = shorten("x" * length)
    assert text == (f"'{'x' * length}'" if whole else f"'{'x' * 56}...")
