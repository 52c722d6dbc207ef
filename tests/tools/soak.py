"""What only time shows: kills over the whole family, and whether 8 ranks keep their memory and their files.

    python tests/tools/soak.py --kills 300 --seconds 3600    (make soak KILLS=300 SECONDS=3600)

The first part kills runs of every algorithm in turn (kills.py). The second trains on 8 ranks for so many seconds, asks
each rank's process every few of them for its memory and its files, and fits a line through the last two thirds.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import kills
import numpy as np
from record import TRAIN, Table, environment, keep, unavailable

JOBS = {
    "trpo": ("--env", "Hopper-v5"),
    "episodes": ("--env", "Hopper-v5", "--preset", "episodes", "--steps-per-update", "5000"),
    "a3c": ("--env", "Pendulum-v1", "--algorithm", "a3c", "--transport", "server"),
}
HOUR = 3600.0
FLAT_SHARE = 0.02  # of a rank's memory may come in the time that was watched


def look(process):
    """Return what a process holds: (KiB of memory of its own, files, threads); None if it has gone."""
    try:
        place = Path(f"/proc/{process}")
        lines = (place / "smaps_rollup").read_text().splitlines()
        held = {line.split()[0]: int(line.split()[1]) for line in lines[1:]}
        own = held["Private_Clean:"] + held["Private_Dirty:"]
        return own, len(os.listdir(place / "fd")), len(os.listdir(place / "task"))
    except (OSError, IndexError, KeyError, ValueError):
        return None


def ranks_of(launcher):
    """Return {rank: process} of a job."""
    family = kills.below(launcher)
    ours = {pid for pid, (_, command, _) in family.items() if "minitrpo train" in command and "mpiexec" not in command}
    return {family[pid][2]: pid for pid in ours if family[pid][0] not in ours}


def watch(name, ranks, seconds, every):
    """Train for so many seconds and return the samples of every rank, (T, ranks, 3), their times, and the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        words = [*JOBS[name], "--total-steps", "1000000000000", "--out", f"{folder}/run", "--progress", "none"]
        command = ["mpiexec", "-n", str(ranks), sys.executable, *TRAIN, *words, "--oversubscribe"]
        with (Path(folder) / "said").open("w") as said:
            job = subprocess.Popen(
                command, env=environment(), stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
            )
        try:
            samples, times, began = [], [], time.monotonic()
            while time.monotonic() - began < seconds and job.poll() is None:
                time.sleep(every)
                found = ranks_of(job.pid)
                held = [look(found[rank]) for rank in sorted(found)]
                if len(held) == ranks and None not in held and (Path(folder) / "run" / "checkpoint.npz").exists():
                    samples.append(held)
                    times.append(time.monotonic() - began)
            job.send_signal(signal.SIGTERM)
            code = job.wait(120)
        finally:
            for process in kills.below(job.pid):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        rows = (Path(folder) / "run" / "metrics.csv").read_text().splitlines()
        steps = int(dict(zip(rows[0].split(","), rows[-1].split(","), strict=True))["env_steps"]) if rows[1:] else 0
        size = sum(file.stat().st_size for file in (Path(folder) / "run").iterdir())
        text = (Path(folder) / "said").read_text()
        return np.array(samples, float), np.array(times), code, len(rows) - 1, steps, size, text


def slope(times, values):
    """Return the slope of a line through the last two thirds, per hour."""
    late = times >= times[0] + (times[-1] - times[0]) / 3
    return float(np.polyfit(times[late] - times[0], values[late], 1)[0] * HOUR)


def soak(table, name, ranks, seconds):
    """Watch one job and add a line to the table; return what was measured."""
    samples, times, code, updates, steps, size, said = watch(name, ranks, seconds, max(1.0, seconds / 240))
    if len(samples) < 6:
        table.add(f"{name} on {ranks} ranks", False, f"only {len(samples)} samples: {said[-500:]}")
        return {}
    memory, files, threads = (samples[:, :, i] for i in range(3))
    hours = (times[-1] - times[0]) * 2 / 3 / HOUR
    slopes = [slope(times, memory[:, rank]) / 1024 for rank in range(ranks)]
    leaks = [slope(times, files[:, rank]) for rank in range(ranks)]
    grown = max(slopes[rank] * hours / (memory[:, rank].mean() / 1024) for rank in range(ranks))
    # a file more or less is one that was just being written
    well = grown < FLAT_SHARE and max(leaks) * hours < 1 and code == 143
    seen = (
        f"{updates} updates, {steps:,} steps; memory per rank {memory[-1].min() / 1024:.0f} to "
        f"{memory[-1].max() / 1024:.0f} MiB, slope {min(slopes):+.2f} to {max(slopes):+.2f} MiB an hour; files "
        f"{files[-1].min():.0f} to {files[-1].max():.0f}, slope {min(leaks):+.2f} to {max(leaks):+.2f} an hour; "
        f"ended by SIGTERM with {code}"
    )
    table.add(f"{name}, {ranks} ranks, {seconds:.0f} s", well, seen)
    return {
        "job": name, "ranks": ranks, "watched_s": round(times[-1] - times[0], 1), "samples": len(samples),
        "updates": updates, "env_steps": steps, "run_folder_bytes": size, "exit_code": code,
        "memory_MiB_first": (memory[0] / 1024).round(1).tolist(),
        "memory_MiB_last": (memory[-1] / 1024).round(1).tolist(),
        "memory_slope_MiB_per_hour": np.round(slopes, 3).tolist(), "files_last": files[-1].tolist(),
        "files_slope_per_hour": np.round(leaks, 3).tolist(), "threads_last": threads[-1].tolist(),
    }  # fmt: skip


def main():
    """Do both parts, or the one that is asked for, and keep the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=300, help="runs to be killed; 0: none")
    parser.add_argument("--at-once", type=int, default=1, help="of those that are killed")
    parser.add_argument("--seconds", type=float, default=3600.0, help="how long 8 ranks are watched; 0: not at all")
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--job", choices=JOBS, default="trpo")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if not Path("/proc/self/smaps_rollup").exists():
        unavailable("there is no /proc/PID/smaps_rollup, from which memory and files are read (Linux has it)")
    table = Table()
    if args.kills:
        done = kills.kill(args.kills, args.seed, args.at_once, family=True)
        seen = f"{done['kills']} kills of {len(done['kinds'])} kinds of runs; {done['outcomes']}"
        table.add(f"{done['runs']} runs killed at random", not done["wrong"], seen, slowest_end_s=done["slowest_end"])
        keep("kills", table.rows)
    if args.seconds:
        soak(table, args.job, args.ranks, args.seconds)
        keep("soak", table.rows[-1:])
    return 0 if table.well else 1


if __name__ == "__main__":
    sys.exit(main())
