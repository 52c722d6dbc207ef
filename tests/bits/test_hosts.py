"""Several hosts that share nothing but the network; where Linux namespaces are not to be had, one line says so."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from runs import ROOT, train

sys.path.append(str(Path(__file__).parents[1] / "tools"))
from namespaces import Hosts, missing
from relay import Cable

JOB = ("--env", "CartPole-v1", "--steps-per-update", "500", "--progress", "none")
HASH = "theta sha256: "


@pytest.fixture(scope="module")
def hosts():
    lacking = missing()
    if lacking:
        pytest.skip(f"no hosts to be had: {lacking}")
    with Hosts(2) as those:
        yield those


def job(hosts, places, *words):
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    return hosts.start(places, sys.executable, "-m", "minitrpo", "train", *JOB, *words, env=path)


def ended(process, seconds=120):
    out, err = process.communicate(timeout=seconds)
    return process.returncode, out, err


@pytest.mark.parametrize("words", [("--preset", "episodes"), ("--learner", "sharded")], ids=["pool", "sharded"])
def test_two_hosts_have_the_bits_of_one_process(words, hosts, tmp_path):
    whole = train(tmp_path / "run", *JOB, "--total-steps", 4000, *words)
    code, out, err = ended(job(hosts, "1:2,2:2", "--total-steps", 4000, *words, "--out", hosts.here / words[1]))
    assert code == 0, out + err
    assert out.splitlines()[-1] == HASH + whole.sha256
    assert not list(hosts.folder("b").iterdir()), "the second host has nothing of the run's"


def test_a_slow_cable_sends_one_frame_after_the_other_and_delivers_them_later():
    cable = Cable(delay=0.5, per_byte=0.01)
    cable.take(0.0, 100, "a")  # sent from 0 to 1
    cable.take(0.2, 50, "b")  # from 1 to 1.5
    cable.take(8.0, 100, "c")  # from 8 to 9
    assert [list(cable.due(now)) for now in (1.49, 1.5, 1.99, 2.0, 9.49, 9.5)] == [[], ["a"], [], ["b"], [], ["c"]]


def test_a_slow_cable_changes_no_bit(hosts, tmp_path):
    words = ("--total-steps", 2000, "--learner", "sharded")
    whole = train(tmp_path / "run", *JOB, *words)
    with hosts.slow_cable(1, 100):
        code, out, err = ended(job(hosts, "1:1,2:2", *words, "--oversubscribe", "--out", hosts.here / "slow"))
    assert code == 0, out + err
    assert out.splitlines()[-1] == HASH + whole.sha256


def test_workers_on_two_hosts_find_out_that_they_share_no_memory(hosts):
    words = ("--algorithm", "a3c", "--total-steps", 3000)
    code, out, err = ended(job(hosts, "1:1,2:1", *words, "--out", hosts.here / "auto"))
    assert code == 0, out + err
    assert "the ranks are on several machines, which share no memory: --transport server" in out
    code, out, err = ended(job(hosts, "1:1,2:1", *words, "--transport", "window", "--out", hosts.here / "window"))
    assert (code, err.count("--transport window: the ranks are on several machines")) == (2, 1)


@pytest.mark.slow
def test_a_cable_that_is_pulled_ends_the_job_and_says_so_once(hosts, tmp_path):
    words = ("--total-steps", 100_000)
    whole = train(tmp_path / "run", *JOB, *words)
    process = job(hosts, "1:2,2:2", *words, "--stuck-after", 3, "--out", hosts.here / "cut")
    log, deadline = hosts.folder("a") / "cut" / "metrics.csv", time.monotonic() + 60
    while not (log.exists() and log.read_text().count("\n") > 10) and time.monotonic() < deadline:
        time.sleep(0.05)
    hosts.cut("b")
    try:
        code, out, err = ended(process, 60)
    except subprocess.TimeoutExpired:
        pytest.fail("the job waits for a host that is silent")
    finally:
        hosts.mend("b")
    assert code != 0
    told = [line for line in err.splitlines() if line.startswith("minitrpo: ")]
    assert len(told) == 1, err
    assert "has heard nothing of host-b, rank 2, 3, for 6 s" in told[0]
    code, out, err = ended(job(hosts, "1:2,2:2", "--resume", hosts.here / "cut"))
    assert out.splitlines()[-1] == HASH + whole.sha256, out + err


MANY_BLOCKS = ("--critic-epochs", 1, "--steps-per-update", 42_000, "--total-steps", 84_000)  # more than go to everybody


@pytest.mark.thorough
@pytest.mark.parametrize("words", [(), MANY_BLOCKS], ids=["few", "tree"])
def test_12_ranks_on_four_hosts_share_an_update_and_are_resumed_on_two(words, tmp_path):
    """Rows go straight from host to host, advantages are shared, parts are added in a tree: the bits of one process."""
    lacking = missing()
    if lacking:
        pytest.skip(f"no hosts to be had: {lacking}")
    words = ("--preset", "episodes", "--learner", "sharded", "--hidden", "8", "--total-steps", 2000, *words)
    whole = train(tmp_path / "run", *JOB, *words)
    end = max(words[n + 1] for n, word in enumerate(words) if word == "--total-steps")
    with Hosts(4) as those:
        options = ("--oversubscribe", "--stuck-after", 300)
        places = ",".join(f"{number}:3" for number in range(1, 5))
        out_there = those.here / "many"
        first = job(those, places, *words, "--total-steps", end // 2, *options, "--out", out_there)
        code, out, err = ended(first, 540)
        assert code == 0, out + err
        assert "12 rank(s)" in out
        again = job(those, "1:1,2:2", *words[2:-2], "--resume", out_there, "--total-steps", end, *options)
        code, out, err = ended(again, 540)
    assert code == 0, out + err
    assert out.splitlines()[-1] == HASH + whole.sha256


@pytest.mark.thorough
def test_64_ranks_on_four_hosts_have_the_bits_of_one_process(tmp_path):
    """On hardly any cores: what it says is about numbers, not about seconds."""
    lacking = missing()
    if lacking:
        pytest.skip(f"no hosts to be had: {lacking}")
    words = ("--preset", "episodes", "--hidden", "8", "--total-steps", 2000)
    whole = train(tmp_path / "run", *JOB, *words)
    places = ",".join(f"{number}:16" for number in range(1, 5))
    with Hosts(4) as those:
        process = job(those, places, *words, "--oversubscribe", "--stuck-after", 300, "--out", those.here / "many")
        code, out, err = ended(process, 540)
    assert code == 0, out + err
    assert "64 rank(s)" in out
    assert out.splitlines()[-1] == HASH + whole.sha256
