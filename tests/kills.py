"""Kill runs at random instants, resume them, compare: python tests/kills.py --times 100. By hand: it takes a while.

Every trial starts train.py on 1 to 3 ranks, sends a signal to one of its processes (or to all), sees that everything
ends, resumes on another number of ranks, perhaps kills that, too, and compares the last line with that of a run which
nobody disturbed.
"""

import argparse
import collections
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

TRAIN = str(Path(__file__).parent.parent / "mpi_scripts" / "train.py")
JOB = ("--env", "CartPole-v1", "--steps-per-update", "500", "--total-steps", "8000", "--progress", "none")
KINDS = {"episodes": (), "segments": ("--requests", "segments", "--num-envs", "4"),
         "every 3": ("--checkpoint-every", "3")}  # fmt: skip
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


def trial(seed, wanted, seconds):
    """Return (outcome, what was done, slowest end)."""
    rng, folder = random.Random(seed), Path(tempfile.mkdtemp(prefix="kills-"))
    kind, story, slowest = rng.choice(list(KINDS)), [], 0.0
    try:
        for _ in range(rng.choice((1, 1, 2))):
            begun = (folder / "run" / "config.json").exists()
            words = ("--resume", folder / "run", "--progress", "none") if begun else (*JOB, *KINDS[kind])
            if not begun:
                shutil.rmtree(folder / "run", ignore_errors=True)
                words = (*words, "--out", folder / "run")
            process = start(rng.randint(1, 3), *words)
            done, code, said, ended = disturbed(process, rng.uniform(0.2, 1.2 * seconds), rng)
            story.append(f"{kind}: {done}, exit {code}")
            slowest = max(slowest, ended)
            if "Traceback" in said:
                return "a traceback", f"{story}\n{said}", slowest
        words = ("--resume", folder / "run", "--progress", "none")
        if not (folder / "run" / "config.json").exists():
            shutil.rmtree(folder / "run", ignore_errors=True)
            words = (*JOB, *KINDS[kind], "--out", folder / "run")
        process = start(rng.randint(1, 3), *words)
        out, err = process.communicate(timeout=300)
        if process.returncode != 0:
            return "lost", f"{story}\n{out}{err}", slowest
        return ("the same" if last_line(out) == wanted[kind] else "different"), str(story), slowest
    except subprocess.TimeoutExpired as error:
        return "hung", f"{story} {error}", PATIENCE
    finally:
        for pid in below(process.pid):
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--at-once", type=int, default=1)
    args = parser.parse_args()
    wanted, began = {}, time.monotonic()
    for kind, words in KINDS.items():
        with tempfile.TemporaryDirectory() as folder:
            wanted[kind] = last_line(start(1, *JOB, *words, "--out", f"{folder}/run").communicate()[0])
    seconds = (time.monotonic() - began) / len(KINDS)
    print(f"an undisturbed run takes {seconds:.1f} s: {wanted}", flush=True)
    outcomes, kills, slowest = collections.Counter(), 0, 0.0
    with ThreadPoolExecutor(args.at_once) as pool:
        jobs = pool.map(lambda seed: (seed, *trial(seed, wanted, seconds)), range(args.seed, args.seed + args.times))
        for seed, outcome, story, ended in jobs:
            outcomes[outcome] += 1
            kills += story.count(" to ")
            slowest = max(slowest, ended)
            if outcome != "the same":
                print(f"seed {seed}: {outcome}: {story}", flush=True)
    print(f"{args.times} runs, {kills} kills: {dict(outcomes)}; the slowest end took {slowest:.1f} s")
    return 0 if set(outcomes) <= {"the same"} else 1


if __name__ == "__main__":
    sys.exit(main())
