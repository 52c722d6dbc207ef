"""The family over several hosts that share nothing but the network, and a cable that is pulled half way.

    python tests/tools/hosts.py    (make hosts)

The hosts are namespaces of this machine: see namespaces.py. Every synchronous member must end with the bits of one
process; the asynchronous ones must find out by themselves that there is no shared memory, and count their gradients.
Needs Linux, root, and iproute2.
"""

import csv
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
from kills import miscounted
from namespaces import Hosts, missing
from record import ASYNCHRONOUS, CHEAP, FAMILY, TRAIN, Table, alone, environment, keep, sha256, unavailable

from minitrpo.course.scaling import command as scaling
from minitrpo.course.scaling.formulas import Network
from minitrpo.course.scaling.model import RECORDED, load
from minitrpo.course.speedup.experiment import by_turns
from minitrpo.course.speedup.statistics import interval
from minitrpo.run_folder.folder import RunFolder

UPDATES = ("--env", "HalfCheetah-v5", "--steps-per-update", "2048", "--total-steps", "40960", "--progress", "none")
LEARNERS = ("root", "sharded")
STUCK = 4  # seconds, in place of 30: a machine that is silent for twice as long is given up
SCHEMES = {
    "trpo, whole episodes from the one-sided pool": ("--preset", "episodes"),
    "trpo, whole episodes, dealt out": ("--preset", "episodes", "--pool", "static"),
    "trpo, segments, rank 0 learns": ("--requests", "segments", "--learner", "root"),
    "trpo, sharded learner": ("--learner", "sharded"),
    "trpo, sharded learner, episodes": ("--preset", "episodes", "--learner", "sharded"),
}
LONG = ("--env", "CartPole-v1", "--steps-per-update", "500", "--total-steps", "60000", "--progress", "none")


def finish(process, seconds=180.0):
    """Return (exit code, stdout, stderr) of a job; 124 if it does not end."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        return 124, "", f"no end after {seconds:g} s"
    return process.returncode, out, err


def train(hosts, places, *words, **options):
    """Return a started run of train over hosts."""
    return hosts.start(places, sys.executable, *TRAIN, *words, env=environment(), **options)


def synchronous(hosts, table):
    """Compare every synchronous member over two and three hosts with one process on this machine."""
    jobs = SCHEMES | {name: ("--algorithm", name, *words) for name, words in FAMILY.items() if name != "trpo"}
    for name, words in jobs.items():
        with tempfile.TemporaryDirectory() as folder:
            wanted = sha256(alone(*CHEAP, *words, "--out", f"{folder}/run"))
        places = "1:2,2:2" if name in FAMILY else "1:2,2:1,3:1"
        out = hosts.here / name.replace(" ", "-").replace(",", "")
        code, said, err = finish(train(hosts, places, *CHEAP, *words, "--out", out))
        elsewhere = [path for letter in "bc" for path in hosts.folder(letter).rglob("*")]
        same = code == 0 and sha256(said) == wanted and "4 rank(s)" in said
        seen = "the same bits" if same else f"exit {code}: {said[-300:]}{err[-600:]}"
        table.add(f"{name}, {places.count(',') + 1} hosts", same and not elsewhere, seen)


def asynchronous(hosts, table):
    """Run every asynchronous member over two hosts; a window between hosts must be refused."""
    for name, words in ASYNCHRONOUS.items():
        out = hosts.here / name
        job = (*CHEAP, "--algorithm", name, *words)
        code, said, err = finish(train(hosts, "1:2,2:2", *job, "--out", out))
        wrong = miscounted(hosts.folder("a") / name, True) if code == 0 else f"exit {code}: {err[-600:]}"
        noticed = "share no memory: --transport server" in said
        table.add(f"{name}, 2 hosts", not wrong and noticed, wrong or "went over to the server; all counts right")
    job = (*CHEAP, "--algorithm", "a3c", "--transport", "window")
    code, said, err = finish(train(hosts, "1:1,2:1", *job, "--out", hosts.here / "window"))
    lines = [line for line in err.splitlines() if "--transport window" in line]
    table.add("a window between hosts", code == 2 and len(lines) == 1, lines[0] if lines else err[-300:])


def cut(hosts, table):
    """Pull a host's cable half way; the job must end, say why once, and go on to the same bits."""
    for name, words in {
        "whole episodes": ("--preset", "episodes"),
        "sharded": ("--learner", "sharded"),
        "a3c, server": ("--algorithm", "a3c"),
    }.items():
        folder = f"cut-{name.split(',')[0].replace(' ', '-')}"
        job = (*LONG, *words)
        wanted = ""
        if "a3c" not in name:
            with tempfile.TemporaryDirectory() as place:
                wanted = sha256(alone(*job, "--out", f"{place}/run"))
        process = train(hosts, "1:2,2:2", *job, "--out", hosts.here / folder, "--stuck-after", STUCK)
        log = hosts.folder("a") / folder / "metrics.csv"
        wait_for(lambda log=log: log.exists() and log.read_text().count("\n") > 10, 60)
        hosts.cut("b")
        began = time.monotonic()
        code, said, err = finish(process, 90)
        ended = round(time.monotonic() - began, 1)
        left = wait_for(lambda: not hosts.processes(), 30)
        cleared = round(time.monotonic() - began, 1)
        hosts.mend("b")
        lines = [line for line in (said + err).splitlines() if line.startswith("minitrpo: ")]
        clear = len(lines) == 1 and "heard nothing of host-b, rank 2, 3" in lines[0] and "Traceback" not in err
        seen = lines[0] if clear else f"exit {code}: {said[-300:]} {err[-900:]}"
        table.add(f"cable pulled: {name}", clear and code not in (0, 124) and left, seen, job_ended_s=ended,
                  all_processes_gone_s=cleared)  # fmt: skip
        code, said, err = finish(train(hosts, "1:1,2:2", "--resume", hosts.here / folder, "--progress", "none"))
        if wanted:
            well = code == 0 and sha256(said) == wanted
        else:
            well = code == 0 and not miscounted(hosts.folder("a") / folder, True)
        table.add(
            f"and resumed: {name}", well, "to the same bits" if wanted and well else "counts right" if well else err
        )


def killed(hosts, table):
    """Kill a rank on the second host; the job must end and say so once, and go on to the same bits."""
    with tempfile.TemporaryDirectory() as place:
        wanted = sha256(alone(*LONG, "--out", f"{place}/run"))
    process = train(hosts, "1:2,2:2", *LONG, "--out", hosts.here / "killed")
    log = hosts.folder("a") / "killed" / "metrics.csv"
    wait_for(lambda: log.exists() and log.read_text().count("\n") > 10, 60)
    began = time.monotonic()
    os.kill(ranks_on(hosts, "b")[0], signal.SIGKILL)
    code, said, err = finish(process, 90)
    ended = round(time.monotonic() - began, 1)
    lines = [line for line in (said + err).splitlines() if line.startswith("minitrpo: ")]
    well = code not in (0, 124) and len(lines) == 1
    table.add("a rank killed on the second host", well, " | ".join(lines) or err[-500:],
              job_ended_s=ended)  # fmt: skip
    code, said, err = finish(train(hosts, "1:1,2:1,3:1", "--resume", hosts.here / "killed", "--progress", "none"))
    table.add("and resumed on three hosts", code == 0 and sha256(said) == wanted, "to the same bits")


def traffic(hosts, table):
    """Count what an update sends from host to host, and what a slower network costs it; two hosts, a rank on each."""
    for name, words in {
        "rank 0 learns": ("--learner", "root"),
        "sharded learner": ("--learner", "sharded"),
        "episodes, rank 0 learns": ("--preset", "episodes"),
    }.items():
        seconds = {}
        for delay in (0, 1):
            if delay and not hosts.slow(delay):
                continue
            folder = f"traffic-{name.replace(' ', '-').replace(',', '')}-{delay}"
            before = hosts.sent("b")
            job = (*UPDATES, *words, "--out", hosts.here / folder)
            code, _, err = finish(train(hosts, "1:1,2:1", *job))
            if delay:
                hosts.slow(0)
            if code:
                table.add(f"traffic: {name}", False, err[-600:])
                return
            with (hosts.folder("a") / folder / "metrics.csv").open() as file:
                rows = list(csv.DictReader(file))
            seconds[delay] = statistics.median(float(row["iteration_s"]) for row in rows[3:])
            bytes_, packets = (now - then for now, then in zip(hosts.sent("b"), before, strict=True))
            if not delay:
                per_update = round(bytes_ / len(rows) / 1024), round(packets / len(rows))
        numbers = {"KiB_per_update": per_update[0], "packets_per_update": per_update[1]}
        seen = "HalfCheetah-v5, 2048 steps per update, one rank on each of two hosts"
        if len(seconds) > 1:
            numbers |= {f"iteration_s_at_{2 * delay}_ms": round(each, 4) for delay, each in seconds.items()}
        else:
            seen += "; a slower network cannot be played here (tc has no netem)"
        table.add(f"traffic: {name}", True, seen, **numbers)


def latency(hosts, table):
    """Measure mpi4py's own broadcasts between two hosts, a rank on each: what a message and a byte cost over TCP."""
    process = hosts.start("1:1,2:1", sys.executable, "-m", "minitrpo.course.scaling.measuring", "messages", 5000,
                          env=environment())  # fmt: skip
    code, said, err = finish(process)
    if code:
        table.add("messages over TCP", False, err[-600:])
        return
    seen = json.loads(said.splitlines()[-1])
    latency_s, per_byte = seen["network"]
    table.add("messages over TCP", True, "mpi4py's broadcasts of 8 bytes to 16 MiB, one rank on each of two hosts",
              microseconds=round(1e6 * latency_s, 1), MB_per_s=round(1e-6 / per_byte),
              exchange_ms=round(1e3 * seen["exchange"], 2))  # fmt: skip


def predicted(hosts, table):
    """Compare predicted with measured seconds of an iteration over a slow cable, a rank on each of two hosts."""
    inputs, network = load(RECORDED), Network(1e-3, 8e-8)  # 1 ms, 100 Mbit/s
    runs = [scaling.Run(env, 2, how, "static") for env in ("Reacher-v5", "HalfCheetah-v5") for how in LEARNERS]
    seconds = {run: [] for run in runs}
    with hosts.slow_cable(1, 100):
        for number, run in by_turns(2, runs):
            out = hosts.here / f"cable-{run.environment}-{run.learner}-{number}"
            code, _, err = finish(train(hosts, "1:1,2:1", *run.words, "--progress", "none", "--out", out), 300)
            if code:
                table.add("predicted over a slow cable", False, err[-600:])
                return
            columns = RunFolder(hosts.folder("a") / out.name).columns()
            columns["steps"] = np.diff(columns["env_steps"], prepend=0.0)
            seconds[run] += scaling.of_updates(columns).tolist()
    for run, found in seconds.items():
        low, high = interval(found)
        simulated, middle = scaling.predicted(inputs, run, network), np.median(found)
        table.add(f"{run.environment}, {run.learner}: predicted over 1 ms and 100 Mbit/s", True,
                  f"{simulated:.3g} s, measured {middle:.3g} ({low:.3g} to {high:.3g}); inputs {inputs.origin}",
                  error_percent=round(100 * (simulated / middle - 1)))  # fmt: skip


def ranks_on(hosts, letter):
    """Return the processes of the ranks on a host, without their watchdogs."""
    ours = {pid for pid in hosts.processes(letter) if b"minitrpo" in Path(f"/proc/{pid}/cmdline").read_bytes()}
    ours = {pid for pid in ours if b"hydra" not in Path(f"/proc/{pid}/cmdline").read_bytes()}
    parents = {pid: int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) for pid in ours}
    return sorted(pid for pid, parent in parents.items() if parent not in ours)


def wait_for(ask, seconds):
    """Wait until something is so; return whether it ever was."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with suppress(OSError):
            if ask():
                return True
        time.sleep(0.1)
    return False


def main():
    """Try all of it and keep the result."""
    lacking = missing()
    if lacking:
        unavailable(lacking)
    table = Table()
    with Hosts(3) as hosts:
        table.add("three hosts", True, "network, files, processes and shared memory of their own; TCP between them")
        for part in (synchronous, asynchronous, traffic, latency, predicted, cut, killed):
            part(hosts, table)
    keep("hosts", table.rows)
    return 0 if table.well else 1


if __name__ == "__main__":
    sys.exit(main())
