"""Whoever ends a rank ends what it has started: nothing keeps a launcher waiting, nothing is left behind."""

import subprocess
import sys
import time

import pytest
from runs import run

from minitrpo.supervision.descendants import SPARED, Descendants, children, is_spared

JOB = ("--total-steps", 3000, "--steps-per-update", 500, "--hidden", "4", "--critic", "linear", "--progress", "none",
       "--oversubscribe", "--stuck-after", 2, "--num-envs", 2)  # fmt: skip
SAYS = {"kill": "was killed or crashed", "hang": "is stuck: no environment step for 2 s"}


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [0, 2])
@pytest.mark.parametrize("away", ["", "-away"])
@pytest.mark.parametrize("end", ["fine", "kill", "hang"])
def test_a_job_whose_ranks_have_started_workers_ends(end, away, ranks, tmp_path, monkeypatch):
    monkeypatch.setenv("POOLED", str(tmp_path / "workers"))
    env = f"pooled_envs:Pooled-{end}{away}-v0"
    done = run("train.py", "--env", env, "--out", tmp_path / "run", *JOB, ranks=ranks, new=True, timeout=60)
    assert (done.code == 0) == (end == "fine"), done.err
    assert SAYS.get(end, "") in done.err
    workers = [int(number) for number in (tmp_path / "workers").read_text().split()]
    deadline = time.monotonic() + 10
    while not all(map(is_spared, workers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert all(map(is_spared, workers))


def test_who_is_spared_has_ended_or_ends_by_itself():
    wait = "import time; time.sleep(99)"
    ended, tracker, other = (subprocess.Popen([sys.executable, "-c", wait, word]) for word in ("", SPARED.decode(), ""))
    try:
        ended.kill()
        deadline = time.monotonic() + 20
        while not is_spared(ended.pid) and time.monotonic() < deadline:  # nobody has waited for it: it is a zombie
            time.sleep(0.05)
        assert [is_spared(each.pid) for each in (ended, tracker, other)] == [True, True, False]
    finally:
        for each in (ended, tracker, other):
            each.kill()
            each.wait()
    assert is_spared(ended.pid)  # nothing is left of it


def test_who_has_lost_its_parent_is_still_known():
    """A process starts another in a session of its own, and is killed: the other is ended, and nobody else."""
    inner = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(99)'])"
    outer = (
        f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {inner!r}], start_new_session=True).wait()"
    )
    parent = subprocess.Popen([sys.executable, "-c", outer])
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(99)"])
    try:
        started, deadline = Descendants(parent.pid), time.monotonic() + 20
        while not (found := children(parent.pid)) and time.monotonic() < deadline:
            time.sleep(0.05)
        started.look()
        assert len(found) == 1
        parent.kill()
        parent.wait()
        started.end()
        deadline = time.monotonic() + 10
        while not is_spared(found[0]) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert is_spared(found[0])
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()
