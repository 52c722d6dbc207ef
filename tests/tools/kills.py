"""Kill runs at random instants, resume them, compare: python tests/tools/kills.py --times 100. It takes a while.

Every trial starts train.py on 1 to 3 ranks, sends a signal to one of its processes (or to all), sees that everything
ends, resumes on another number of ranks, perhaps kills that, too, and compares the last line with that of a run which
nobody disturbed. With --family the algorithms take turns; an asynchronous one is also played over its real transports,
where no two runs are equal: there the log must go on without a gap, and the checkpoint count the same gradients.
"""

import argparse
import collections
import csv
import functools
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from minitrpo.algorithms.registry import ALGORITHMS  # noqa: E402

TRAIN = str(ROOT / "mpi_scripts" / "train.py")
JOB = ("--env", "CartPole-v1", "--steps-per-update", "500", "--total-steps", "8000", "--progress", "none")
KINDS = {"episodes": (), "segments": ("--requests", "segments", "--num-envs", "4"),
         "every 3": ("--checkpoint-every", "3")}  # fmt: skip
SLOW = ("--total-steps", "3000")  # of those that learn longer from a step
LEARNS_LONGER = ("guided-policy-search", "dqn", "naf", "gorila", "async-naf")  # from a step


def family(sync):
    """Return what is typed for each algorithm whose ranks keep step so: its environment, and fewer steps."""
    words = {name: tuple(entry.trial.split()[:2]) for name, entry in ALGORITHMS.items() if entry.sync == sync}
    return {name: (*env, *SLOW * (name in LEARNS_LONGER)) for name, env in words.items()}


FAMILY, LAWLESS = family("barrier"), family("asynchronous")
del FAMILY["trpo"]  # KINDS has it
FAMILY = {name: ("--algorithm", name, *words) for name, words in FAMILY.items()}
FAMILY |= {f"{name}, events": ("--algorithm", name, "--transport", "events", *words) for name, words in LAWLESS.items()}
REAL = {f"{name}, {transport}": ("--algorithm", name, "--transport", transport, *words)
        for name, words in LAWLESS.items() for transport in ("server", "window")}  # fmt: skip
VICTIMS = ("a rank", "the root", "mpiexec", "its proxy", "a watchdog and its rank", "all")
SIGNALS = (signal.SIGKILL,) * 6 + (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGSEGV)
PATIENCE = 60.0  # seconds until a job that lost a process counts as hung


def start(ranks, *words):
    launcher = ["mpiexec", "-n", str(ranks)] if ranks > 1 else []
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.Popen(
        [*launcher, sys.executable, TRAIN, *map(str, words), "--oversubscribe"],
        env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip


def below(process):
    """Return {pid: (parent, command, rank)} of a process and all that it started."""
    found, everything = {}, {}
    for place in Path("/proc").iterdir():
        if place.name.isdecimal():
            try:
                parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
                command = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                rank = [v[9:] for v in (place / "environ").read_bytes().split(b"\0") if v.startswith(b"PMI_RANK=")]
                everything[int(place.name)] = (parent, command, int(rank[0]) if rank else 0)
            except (OSError, ValueError):
                continue
    new = {process} & everything.keys()
    while new:
        found |= {pid: everything[pid] for pid in new}
        new = {pid for pid, (parent, _, _) in everything.items() if parent in found} - found.keys()
    return found


def chosen(victim, process, rng):
    """Return the pids of the victims, in the order in which they are hit."""
    family = below(process.pid)
    ours = {pid for pid, (_, command, _) in family.items() if "train.py" in command and "mpiexec" not in command}
    ranks = [pid for pid in ours if family[pid][0] not in ours]
    if victim == "mpiexec":
        return [process.pid]
    if victim == "its proxy":
        return [pid for pid, (_, command, _) in family.items() if "hydra_pmi_proxy" in command] or [process.pid]
    if victim == "all" or not ranks:
        return sorted(family, key=lambda _: rng.random())
    rank = next((pid for pid in ranks if family[pid][2] == 0), ranks[0]) if victim == "the root" else rng.choice(ranks)
    watchdogs = [pid for pid in ours if family[pid][0] == rank] if "watchdog" in victim else []
    return [*watchdogs, rank]


def disturbed(process, after, rng):
    """Hit a job after some seconds; return (what was done, exit code, output, seconds until all had ended)."""
    time.sleep(after)
    victim, number = rng.choice(VICTIMS), rng.choice(SIGNALS)
    family, done = below(process.pid), "nothing: it was over"
    if process.poll() is None:
        done = f"{number.name} to {victim}"
        for pid in chosen(victim, process, rng):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue
    began = time.monotonic()
    out, err = process.communicate(timeout=PATIENCE)
    while any(Path(f"/proc/{pid}").exists() for pid in family):
        if time.monotonic() - began > PATIENCE:
            raise subprocess.TimeoutExpired(process.args, PATIENCE)
        time.sleep(0.05)
    return done, process.returncode, out + err, time.monotonic() - began


def last_line(text):
    return next((line for line in reversed(text.splitlines()) if line.startswith("theta sha256: ")), "")


@functools.cache
def undisturbed(kind):
    """Return the last line of a run that nobody disturbs, and how long it takes."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        words = (*JOB, *EVERY[kind], "--out", f"{folder}/run")
        return last_line(start(2 if kind in REAL else 1, *words).communicate()[0]), time.monotonic() - began


def miscounted(folder, server):
    """Return what is wrong with the counts of a finished asynchronous run, "" if nothing."""
    with (folder / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    saved = np.load(folder / "checkpoint.npz")
    steps = [int(row["env_steps"]) for row in rows]
    total = {name: sum(int(float(row[name])) for row in rows) for name in ("applied", "refused", "lost")}
    applied = int(saved["run_tally_applied"].sum())
    claims = {
        "updates without a gap": [int(row["iteration"]) for row in rows] == list(range(1, len(rows) + 1)),
        "steps that only grow": all(a < b for a, b in itertools.pairwise(steps)),
        "the last row in the checkpoint": saved["run_counters"].tolist() == [len(rows), steps[-1]],
        "every worker's steps": int(saved["run_report"][:, 0].sum()) == steps[-1],
        "every gradient applied": total["applied"] == applied == int(saved["run_tally_histogram"].sum()),
        "every gradient refused": total["refused"] == int(saved["run_tally_refused"].sum()),
        "every gradient lost": total["lost"] == applied - int(saved["run_tally_increments"][0]),
        "nothing lost by a server": not server or total["lost"] == 0,
    }
    return ", ".join(claim for claim, holds in claims.items() if not holds)


def trial(seed, kinds, family):
    """Return (outcome, what was done, slowest end)."""
    rng, folder = random.Random(seed), Path(tempfile.mkdtemp(prefix="kills-"))
    story, slowest, process = [], 0.0, None
    kind = kinds[seed % len(kinds)] if family else rng.choice(kinds)
    job = (*JOB, *EVERY[kind])
    ranks = (2, 3) if kind.endswith("server") else (1, 2, 3)
    try:
        wanted, seconds = undisturbed(kind)
        for _ in range(rng.choice((1, 1, 2))):
            begun = (folder / "run" / "config.json").exists()
            words = ("--resume", folder / "run", "--progress", "none") if begun else job
            if not begun:
                shutil.rmtree(folder / "run", ignore_errors=True)
                words = (*words, "--out", folder / "run")
            process = start(rng.choice(ranks), *words)
            done, code, said, ended = disturbed(process, rng.uniform(0.2, 1.2 * seconds), rng)
            story.append(f"{kind}: {done}, exit {code}")
            slowest = max(slowest, ended)
            if "Traceback" in said:
                return "a traceback", f"{story}\n{said}", slowest
        words = ("--resume", folder / "run", "--progress", "none")
        if not (folder / "run" / "config.json").exists():
            shutil.rmtree(folder / "run", ignore_errors=True)
            words = (*job, "--out", folder / "run")
        process = start(rng.choice(ranks), *words)
        out, err = process.communicate(timeout=300)
        if process.returncode != 0:
            return "lost", f"{story}\n{out}{err}", slowest
        if kind in REAL:
            wrong = miscounted(folder / "run", kind.endswith("server"))
            return ("counted right" if not wrong else "miscounted"), f"{story} {wrong}", slowest
        return ("the same" if last_line(out) == wanted else "different"), str(story), slowest
    except subprocess.TimeoutExpired as error:
        return "hung", f"{story} {error}", PATIENCE
    finally:
        for pid in below(process.pid) if process else ():
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


EVERY = KINDS | FAMILY | REAL


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--family", action="store_true", help="all algorithms in turn, not TRPO alone")
    args = parser.parse_args()
    result = kill(args.times, args.seed, args.at_once, args.family)
    return 0 if not result["wrong"] else 1


def kill(times, seed=0, at_once=1, family=False, most_seconds=float("inf")):
    """Kill runs and return what became of them; no new trial begins after `most_seconds`."""
    outcomes, kills, slowest, began = collections.Counter(), 0, 0.0, time.monotonic()
    by_kind, wrong, kinds = collections.Counter(), [], list(EVERY if family else KINDS)

    def one(seed):
        return (seed, *trial(seed, kinds, family)) if time.monotonic() - began < most_seconds else None

    with ThreadPoolExecutor(at_once) as pool:
        for done in filter(None, pool.map(one, range(seed, seed + times))):
            number, outcome, story, ended = done
            outcomes[outcome] += 1
            by_kind[kinds[number % len(kinds)] if family else "trpo"] += 1
            kills += story.count(" to ")
            slowest = max(slowest, ended)
            if outcome not in ("the same", "counted right"):
                wrong.append(f"seed {number}: {outcome}: {story}")
                print(wrong[-1], flush=True)
    runs = sum(outcomes.values())
    print(f"{runs} runs, {kills} kills: {dict(outcomes)}; the slowest end took {slowest:.1f} s", flush=True)
    return {
        "runs": runs, "kills": kills, "outcomes": dict(outcomes), "slowest_end": round(slowest, 1),
        "seconds": round(time.monotonic() - began), "kinds": dict(by_kind), "wrong": wrong,
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
