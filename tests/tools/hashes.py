"""Whether a change of structure changes a bit: some 150 short runs, here and at another commit.

    make hashes                      the working copy beside the last commit
    make hashes AGAINST=762bb1e      beside another one

Every run ends with the sha256 of theta. It must be that of the other commit, and so must metrics.csv without its
seconds. The other commit is unpacked beside this one and plays on this machine, since bits differ between kinds of
processor; what it gave is kept in .hashes/ for the next time. All members of the family play on 1, 2 and 3 ranks and
across a resume; asynchronous ones by their event queue, whose order does not depend on the machine.
"""

import argparse
import csv
import hashlib
import json
import os
import platform
import subprocess
import sys
import tarfile
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from string import Template

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from minitrpo.algorithms.registry import ALGORITHMS  # noqa: E402

KEPT = ROOT / ".hashes"
TOTAL = "--total-steps"


def jobs():
    """Return (name, ranks, words) of the trial of every algorithm of the package, and of every run in hashes.txt."""
    trials = [f"{name} | 1 2 3 2>1 | --algorithm {name} {entry.trial}" for name, entry in ALGORITHMS.items()]
    lines = [*trials, *Path(__file__).with_suffix(".txt").read_text().splitlines()]
    short = dict(line.split(" = ", 1) for line in lines if " = " in line)
    rows = [Template(line).substitute(short).split("|") for line in lines if "|" in line and line[0] != "#"]
    common = short["COMMON"].split()
    return [(name.strip(), way, [*common, *words.split()]) for name, ways, words in rows for way in ways.split()]


def play(tree, name, way, words, folder):
    """Return what a run leaves: its hash and rows, or why there is none."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    places = os.pathsep.join([str(tree), str(tree / "mpi_scripts" / "own")])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": places, "PYTHONDONTWRITEBYTECODE": "1"}
    out = Path(folder) / f"{name} {way}".replace(" ", "_").replace(",", "").replace(">", "-")
    total = int(words[words.index(TOTAL) + 1])
    named = [words[i + j] for i, word in enumerate(words) if word in ("--algorithm", "--env") for j in (0, 1)]
    lines = [[*words, "--out", str(out)]]
    if ">" in way:
        lines[0] += [TOTAL, str(total // 2)]
        lines.append(["--resume", str(out), *named, TOTAL, str(total), "--progress", "none", "--oversubscribe"])
    for ranks, line in zip(way.split(">"), lines, strict=True):
        launcher = [] if ranks == "1" else ["mpiexec", "-n", ranks]
        command = [*launcher, sys.executable, str(tree / "mpi_scripts" / "train.py"), *line]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False,
                              timeout=300, stdin=subprocess.DEVNULL)  # fmt: skip
        if done.returncode:
            last = (done.stderr.splitlines() or ["silence"])[-1]
            return {"sha256": f"exit code {done.returncode}: {last}", "rows": []}
    with (out / "metrics.csv").open() as file:
        rows = [{k: v for k, v in row.items() if not k.endswith("_s")} for row in csv.DictReader(file)]
    return {"sha256": done.stdout.splitlines()[-1].removeprefix("theta sha256: "), "rows": rows}


def play_all(tree, title, every):
    """Return {run: what it leaves} of these jobs in a tree, so many side by side as there are cores."""
    began = time.monotonic()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(cores) as pool:
        futures = {f"{name}, {way}": pool.submit(play, tree, name, way, words, folder) for name, way, words in every}
        found = {}
        for number, (run, future) in enumerate(futures.items(), 1):
            found[run] = future.result()
            if sys.stdout.isatty() or number == len(futures):
                said = f"\r{title}: {number} of {len(futures)} runs, {time.monotonic() - began:.0f} s"
                print(said, end="" if number < len(futures) else "\n", flush=True)
    return found


def unpacked(commit, folder):
    """Return the tree of a commit, without its history."""
    packed = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return Path(folder)


def of_commit(commit, every):
    """Return the runs of a commit, played now or kept from an earlier time on this kind of processor."""
    sha = subprocess.run(["git", "rev-parse", "--verify", f"{commit}^{{commit}}"], cwd=ROOT, capture_output=True,
                         text=True, check=False).stdout.strip()  # fmt: skip
    if not sha:
        sys.exit(f"AGAINST={commit}: git knows no such commit")
    cpu = Path("/proc/cpuinfo")
    model = [line for line in cpu.read_text().splitlines() if "model name" in line][:1] if cpu.exists() else []
    libraries = [version(name) for name in ("numpy", "scipy", "autograd", "gymnasium", "mujoco")]
    machine = hashlib.sha256(json.dumps([platform.machine(), model, libraries]).encode()).hexdigest()
    file = KEPT / f"{sha[:12]}-{machine[:12]}.json"
    kept = json.loads(file.read_text()) if file.exists() else {}
    missing = [job for job in every if json.dumps(job) not in kept]
    if missing:
        with tempfile.TemporaryDirectory() as folder:
            found = play_all(unpacked(sha, folder), sha[:7], missing)
        kept |= {json.dumps(job): found[f"{job[0]}, {job[1]}"] for job in missing}
        KEPT.mkdir(exist_ok=True)
        file.write_text(json.dumps(kept))
    return {f"{job[0]}, {job[1]}": kept[json.dumps(job)] for job in every}


def difference(one, other):
    """Return in a line what differs between two runs, "" if nothing does; a run that fails counts, too."""
    if one["sha256"].startswith("exit code"):
        return one["sha256"]
    if one["sha256"] != other["sha256"]:
        return f"theta: {other['sha256'][:90]} became {one['sha256'][:90]}"
    if len(one["rows"]) != len(other["rows"]):
        return f"metrics.csv: {len(other['rows'])} rows became {len(one['rows'])}"
    for number, (row, before) in enumerate(zip(one["rows"], other["rows"], strict=True), 1):
        for column in dict.fromkeys([*before, *row]):
            if row.get(column) != before.get(column):
                return f"metrics.csv, row {number}, {column}: {before.get(column)} became {row.get(column)}"
    return ""


def disagreements(found):
    """Return a line for every job that does not end in the same theta on any ranks, fresh and resumed."""
    hashes = {}
    for run, left in found.items():
        name, _, way = run.rpartition(", ")
        hashes.setdefault(name, {})[way] = left["sha256"]
    return [
        f"{name}: {', '.join(of)} ranks: not the same bits" for name, of in hashes.items() if len({*of.values()}) > 1
    ]


def main():
    """Compare, print what differs, and exit with 1 if anything does."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", default="HEAD", metavar="COMMIT")
    parser.add_argument("--only", default="", metavar="TEXT", help="runs whose name has this in it")
    options = parser.parse_args()
    every = [job for job in jobs() if options.only in job[0]]
    before, now = of_commit(options.against, every), play_all(ROOT, "here", every)
    lines = disagreements(now)
    lines += [f"{run}: {what}" for run in now if (what := difference(now[run], before[run]))]
    print("\n".join(lines))
    print(f"{len(now)} runs beside {options.against}: " + (f"{len(lines)} differences" if lines else "all equal"))
    sys.exit(1 if lines else 0)


if __name__ == "__main__":
    main()
