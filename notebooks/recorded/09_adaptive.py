"""Record what lecture 09a shows: fixed and adapted settings, two environments, five seeds each, one process a run.

    nice -n 10 python notebooks/recorded/09_adaptive.py [ARM ...]
    python notebooks/recorded/09_adaptive.py steps

writes 09_adaptive.csv (a row per update) and 09_adaptive.json (settings, versions, machine) beside this file. About 20
minutes of processor time; two runs at a time. With names of arms only these are recorded, and the others' rows stay.
The second writes "steps" in 09_adaptive.json: four numbers of steps per update, from the recorded runs of claim S1.
"""

import csv
import json
import re
import resource
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np

from minitrpo.course.statistics import mean_interval
from minitrpo.run_folder.folder import RunFolder
from minitrpo.run_folder.provenance import provenance

HERE = Path(__file__).parent
TRAIN = HERE.parent.parent / "mpi_scripts" / "train.py"
SEEDS = range(5)
EVERYWHERE = ["--steps-per-update", "2000", "--adapt-window", "5"]
ENVIRONMENTS = {
    "Reacher-v5": ["--total-steps", "100000"],
    "Swimmer-v5": ["--total-steps", "150000", "--discount", "0.9999"],
}
ARMS = {
    "fixed, max-KL 0.005": ["--max-kl", "0.005"],
    "fixed, max-KL 0.01": ["--max-kl", "0.01"],
    "fixed, 1,000 steps, max-KL 0.01": ["--steps-per-update", "1000", "--max-kl", "0.01"],
    "both, margin 0": ["--max-kl", "0.005", "--adapt", "both", "--margin", "0"],
    "both, margin 0.05": ["--max-kl", "0.005", "--adapt", "both", "--margin", "0.05"],
}
COLUMNS = ("env_steps", "mean_return", "steps_per_update", "max_kl")


def record(seed: int, env: str, arm: str) -> list[list[object]]:
    """Train once and return the rows of the run."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        options = ["--preset", "episodes", "--seed", str(seed), "--out", str(out), "--progress", "none"]
        command = [sys.executable, str(TRAIN), "--env", env, *EVERYWHERE, *ENVIRONMENTS[env], *ARMS[arm], *options]
        subprocess.run(command, check=True, capture_output=True)
        rows = RunFolder(out).rows()
    print(f"{env}, {arm}, seed {seed}: {len(rows)} updates, last return {rows[-1]['mean_return']}", flush=True)
    return [[env, arm, seed, *(f"{float(row[c]):.6g}" for c in COLUMNS)] for row in rows]


def kept(arms: list[str]) -> tuple[list[list[str]], dict[str, object]]:
    """Return the rows of the other arms, and what made them."""
    if len(arms) == len(ARMS):
        return [], {}
    with (HERE / "09_adaptive.csv").open() as file:
        rows = [row for row in list(csv.reader(file))[1:] if row[1] not in arms]
    return rows, json.loads((HERE / "09_adaptive.json").read_text())["made_by"]


def steps() -> None:
    """Write the mean returns of ten seeds, with 95 % intervals, of four numbers of steps per update."""
    sys.path.insert(0, str(HERE.parent.parent))
    from experiments.claims import CLAIMS

    arms: dict[str, dict[str, list[float]]] = {}
    for (arm, _), runs in CLAIMS["S1"].runs().items():
        curves = [run["curves"] for run in runs]
        update, seen = curves[0]["iteration"], curves[0]["env_steps"]
        some = (update <= 60) | (seen <= 300_000)
        found = [mean_interval(column) for column in np.transpose([curve["mean_return"][some] for curve in curves])]
        numbers = zip(("mean", "low", "high"), np.transpose(found).round(2), strict=True)
        arms[arm] = {"update": update[some].tolist(), "env_steps": seen[some].tolist()}
        arms[arm] |= {name: values.tolist() for name, values in numbers}
    about = {"from": "experiments/data/claims, claim S1", "seeds": len(runs), "date": runs[0]["date"]}
    about |= {"machine": runs[0]["machine"]["machine"], "version": runs[0]["version"]}
    write({"steps": about | {"arms": arms}})


def write(new: dict[str, object]) -> None:
    """Change some of what 09_adaptive.json says; its curves have a line each."""
    path = HERE / "09_adaptive.json"
    text = json.dumps((json.loads(path.read_text()) if path.exists() else {}) | new, indent=2)
    path.write_text(re.sub(r"\[([-\d.,\s]+)\]", lambda found: f"[{' '.join(found[1].split())}]", text) + "\n")


def main() -> None:
    """Record arms with every seed and write the two files."""
    arms = sys.argv[1:] or list(ARMS)
    (rows, made_by), new = kept(arms), provenance(1)
    runs = list(product(SEEDS, ENVIRONMENTS, arms))  # seeds outermost: the arms share what the machine is busy with
    with ThreadPoolExecutor(2) as pool:
        recorded = list(pool.map(record, *zip(*runs, strict=True)))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    new["processor_minutes"] = round((used.ru_utime + used.ru_stime) / 60, 1)
    with (HERE / "09_adaptive.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["env", "arm", "seed", *COLUMNS])
        writer.writerows([*rows, *(row for some in recorded for row in some)])
    about = {
        "everywhere": EVERYWHERE,
        "environments": ENVIRONMENTS,
        "arms": ARMS,
        "seeds": list(SEEDS),
        "made_by": {**made_by, **dict.fromkeys(arms, new)},
    }
    write(about)


if __name__ == "__main__":
    steps() if sys.argv[1:] == ["steps"] else main()
