"""Several hosts that share nothing but the network: the same bits, and a cable that is pulled ends the job.

`make hosts` tries more of this by hand, on up to 64 ranks.
"""

import os
import subprocess
import sys
import time

import pytest
from namespaces import Hosts, missing
from runs import ROOT, needs, train

pytestmark = [pytest.mark.mpi, pytest.mark.slow]
JOB = ("--env", "CartPole-v1", "--steps-per-update", "500", "--progress", "none")
HASH = "theta sha256: "


@pytest.fixture(scope="module")
def hosts():
    needs("namespaces", not missing())
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
    whole = train(tmp_path / "run", *JOB, "--total-steps", 2000, *words)
    code, out, err = ended(job(hosts, "1:1,2:2", "--total-steps", 2000, *words, "--out", hosts.here / words[1]))
    assert code == 0, out + err
    assert out.splitlines()[-1] == HASH + whole.sha256
    assert not list(hosts.folder("b").iterdir()), "the second host has nothing of the run's"


def test_workers_on_two_hosts_find_out_that_they_share_no_memory(hosts):
    words = ("--algorithm", "a3c", "--total-steps", 2000)
    code, out, err = ended(job(hosts, "1:1,2:1", *words, "--out", hosts.here / "auto"))
    assert code == 0, out + err
    assert "--transport server" in out
    code, out, err = ended(job(hosts, "1:1,2:1", *words, "--transport", "window", "--out", hosts.here / "window"))
    assert (code, err.count("--transport window")) == (2, 1)


def test_a_cable_that_is_pulled_ends_the_job_and_says_so_once(hosts, tmp_path):
    words = ("--total-steps", 50_000)
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
    assert "host-b, rank 2, 3" in told[0]
    code, out, err = ended(job(hosts, "1:2,2:2", "--resume", hosts.here / "cut"))
    assert out.splitlines()[-1] == HASH + whole.sha256, out + err
