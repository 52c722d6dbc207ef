"""Measure how much faster more ranks are: speedup.py --ranks 1,2,4 starts train.py on each, round after round."""

import csv
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.classroom import JobFailed, launch
from minitrpo.errors import BadInput
from minitrpo.experience.environments import describe
from minitrpo.parallel.ranks import RANK_VARIABLES
from minitrpo.parallel.speedup import cores, efficiency, interval, karp_flatt, speedup, speedup_interval
from minitrpo.runs.command_line import OneVoice, parse, whole
from minitrpo.runs.folder import RunFolder
from minitrpo.runs.plots import BLUE, GREEN, GREY, ORANGE, RED
from minitrpo.runs.start import provenance

PHASES = ("collect_s", "wait_s", "gather_s", "update_s", "iteration_s")
SHOWN = ("iteration_s", "collect_s", "update_s")
COLUMNS = ("ranks", "round", "update", "steps", *PHASES)
OURS = ("--out", "--resume", "--total-steps", "--steps-per-update", "--env", "--preset", "--trace", "--progress")
Row = dict[str, float]


def parser() -> OneVoice:
    """Return the command line."""
    made = OneVoice(prog="speedup.py", allow_abbrev=False, description=__doc__)
    made.add_argument("--ranks", default=None, metavar="1,2,4", help="numbers of ranks (default: 1, 2, 4, ... cores)")
    made.add_argument("--env", default="Reacher-v5", metavar="ID", help="default: Reacher-v5")
    made.add_argument("--steps-per-update", type=whole, default=20_000, metavar="N", help="default: 20000")
    made.add_argument("--weak", action="store_true", help="steps per update are for each rank: the job grows with them")
    made.add_argument("--updates", type=whole, default=5, metavar="N", help="timed updates in a run (default: 5)")
    made.add_argument("--warm-up", type=whole, default=1, metavar="N", help="updates before them (default: 1)")
    made.add_argument("--rounds", type=whole, default=3, metavar="N", help="runs on every number of ranks (default: 3)")
    made.add_argument("--preset", default="paper", help="preset of train.py (default: paper)")
    made.add_argument("--out", metavar="DIR", help="folder to create (default: runs/speedup-ENV, numbered)")
    made.add_argument("more", nargs="*", metavar="-- ARGUMENTS", help="further arguments of train.py, behind --")
    return made


def checked(asked: Any) -> list[int]:
    """Return the numbers of ranks; BadInput, before anything runs, for what cannot be meant."""
    if any(name in os.environ for name in RANK_VARIABLES):
        raise BadInput("run it with plain python: it starts mpiexec itself, on each number of ranks")
    for name, least in (("updates", 1), ("rounds", 1), ("steps_per_update", 1), ("warm_up", 0)):
        if getattr(asked, name) < least:
            raise BadInput(f"--{name.replace('_', '-')} must be {least} or more, not {getattr(asked, name)}")
    if asked.updates * asked.rounds < 2:
        raise BadInput("one measurement says nothing about its spread: --updates times --rounds must be 2 or more")
    for word in asked.more:
        if word.partition("=")[0] in OURS:
            raise BadInput(f"{word} behind --: speedup.py decides that itself, or has its own option for it")
    text = asked.ranks or ",".join(str(2**k) for k in range(cores().bit_length())) + f",{cores()}"
    if not all(part.strip().isdecimal() and int(part) > 0 for part in text.split(",")):
        raise BadInput(f"--ranks must be positive integers with commas, such as 1,2,4, not {text!r}")
    ranks = sorted({int(part) for part in text.split(",")})
    if ranks[0] != 1:
        raise BadInput(f"--ranks {text} lacks 1, with which the others are compared")
    describe(parse(train_arguments(asked, 1)).settings().env)
    return ranks


def train_arguments(asked: Any, ranks: int) -> list[str]:
    """Return what train.py is told on this number of ranks."""
    steps = asked.steps_per_update * (ranks if asked.weak else 1)
    total = steps * (asked.updates + asked.warm_up)
    named = {"--env": asked.env, "--preset": asked.preset, "--steps-per-update": steps, "--total-steps": total}
    return [*(str(word) for pair in named.items() for word in pair), "--progress", "none", *asked.more]


def measure(asked: Any, numbers: list[int]) -> list[Row]:
    """Return a row for every timed update. Every round visits all numbers of ranks, every other one backwards."""
    rows = []
    for number in range(1, asked.rounds + 1):
        for ranks in numbers if number % 2 else reversed(numbers):
            new = one_run(asked, ranks, number)
            rows += new
            all_s, collect_s, update_s = (float(np.median([row[p] for row in new])) for p in SHOWN)
            said = f"{all_s:.3g} s per update: {collect_s:.3g} s collecting, {update_s:.3g} s learning"
            print(f"round {number} of {asked.rounds}, {ranks} rank(s): {said}", flush=True)
    return rows


def one_run(asked: Any, ranks: int, number: int) -> list[Row]:
    """Return the timed updates of one run on these ranks; its folder is not kept."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        launch(ranks, "train.py", "--out", run, *train_arguments(asked, ranks), timeout=3600)
        c = RunFolder(run).columns()
    steps = np.diff(c["env_steps"], prepend=0.0)
    if len(steps) < asked.warm_up + min(2, asked.updates):
        raise JobFailed(f"longer episodes ended the run after {len(steps)} update(s): ask for more --updates")
    rows = [{"ranks": ranks, "round": number, "update": i + 1, "steps": int(n)} for i, n in enumerate(steps)]
    return [row | {p: round(c[p][i], 6) for p in PHASES} for i, row in enumerate(rows)][asked.warm_up :]


def summary(rows: list[Row], weak: bool) -> list[dict[str, Any]]:
    """Return what is to be reported for each number of ranks. Weak: the work grows, so speed is steps per second."""
    found, base = [], np.zeros(0)
    for ranks in sorted({int(row["ranks"]) for row in rows}):
        here = {phase: np.array([row[phase] for row in rows if row["ranks"] == ranks]) for phase in ("steps", *PHASES)}
        cost = here["iteration_s"] / (here["steps"] if weak else 1)
        base = base if found else cost
        line: dict[str, Any] = {"ranks": ranks, "oversubscribed": ranks > cores()}
        line |= {f"median_{phase}": float(np.median(here[phase])) for phase in PHASES}
        line |= {"interval_s": interval(here["iteration_s"]), "speedup": speedup(base, cost)}
        line["speedup_interval"] = speedup_interval(base, cost) if found else (1.0, 1.0)
        line["efficiency"] = efficiency(line["speedup"], ranks)
        line["karp_flatt"] = karp_flatt(line["speedup"], ranks) if found and not weak else None
        found.append(line)
    return found


def table(lines: list[dict[str, Any]]) -> str:
    """Return the summary as text."""
    text = ["ranks  s/update      95 % interval  speed-up  95 % interval  efficiency  Karp-Flatt"]
    for line in lines:
        times, factors = (f"{low:.3g} to {high:.3g}" for low, high in (line["interval_s"], line["speedup_interval"]))
        share = "-" if line["karp_flatt"] is None else f"{line['karp_flatt']:.3f}"
        text.append(
            f"{line['ranks']:4d}{'*' if line['oversubscribed'] else ' '}  {line['median_iteration_s']:8.3g}"
            f"  {times:>17}  {line['speedup']:8.2f}  {factors:>13}  {line['efficiency']:10.2f}  {share:>10}"
        )
    if lines[-1]["oversubscribed"]:
        text.append(f"* oversubscribed: more ranks than the {cores()} core(s) here; says nothing of more cores")
    return "\n".join(text)


def draw(lines: list[dict[str, Any]], title: str, path: Path) -> None:
    """Draw time per phase, speed-up, efficiency and Karp-Flatt share against ranks."""
    from matplotlib import pyplot as plt

    plt.switch_backend("Agg")
    figure, axes = plt.subplots(2, 2, figsize=(11, 7.5), constrained_layout=True)
    figure.suptitle(title)
    ranks, measured, spent = (np.array([line[key] for line in lines]) for key in ("ranks", "speedup", "efficiency"))
    bottom, shares = np.zeros(len(lines)), [line["karp_flatt"] for line in lines[1:] if line["karp_flatt"] is not None]
    for phase, color in zip(PHASES[:-1], (BLUE, ORANGE, RED, GREEN), strict=True):
        heights = np.array([line[f"median_{phase}"] for line in lines])
        axes[0, 0].bar(ranks.astype(str), heights, bottom=bottom, color=color, label=phase.removesuffix("_s"))
        bottom += heights
    axes[0, 0].set(xlabel="ranks", ylabel="median seconds per update, on rank 0", ylim=(0, 1.25 * bottom.max()))
    axes[0, 0].legend(ncols=4, loc="upper center")
    bars = np.abs(np.array([line["speedup_interval"] for line in lines]).T - measured)
    axes[0, 1].plot(ranks, ranks, "--", color=GREY, label="ideal")
    axes[0, 1].errorbar(ranks, measured, bars, fmt="o-", color=BLUE, capsize=4, label="measured, 95 % interval")
    axes[1, 0].plot(ranks, spent, "o-", color=BLUE, label="measured")
    axes[1, 1].plot(ranks[1:] if shares else [], shares, "o-", color=RED, label="measured" if shares else "not defined")
    labels = ("speed-up", "efficiency = speed-up / ranks", "Karp-Flatt serial share")
    for axis, label in zip(axes.flat[1:], labels, strict=True):
        axis.set(xlabel="ranks", ylabel=label, xlim=(0.5, ranks[-1] + 0.5), xticks=ranks)
        axis.set_ylim(0, max(1.05, axis.get_ylim()[1]))
        if ranks[-1] > cores():
            axis.axvspan(cores() + 0.25, ranks[-1] + 0.5, color=GREY, alpha=0.15, label=f"more than {cores()} core(s)")
        axis.grid(alpha=0.3)
        axis.legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def new_folder(asked: Any) -> Path:
    """Return a new folder for the results; BadInput if --out holds something or cannot be made."""
    name = f"speedup-{asked.env.rpartition(':')[2].replace('/', '-')}{'-weak' if asked.weak else ''}"
    free = (Path("runs") / f"{name}-{number:02d}" for number in range(1, 10_000))
    path = Path(asked.out) if asked.out else next(path for path in free if not path.exists())
    try:
        path.mkdir(parents=True, exist_ok=True)
        taken = any(path.iterdir())
    except OSError as error:
        raise BadInput(f"cannot make {path}: {error.strerror}; choose another --out") from error
    if taken:
        raise BadInput(f"--out {path} exists and is not empty: choose another folder")
    return path


def write(folder: Path, asked: Any, rows: list[Row], load: tuple[float, ...]) -> None:
    """Write speedup.csv, speedup.json and speedup.png, and print the table."""
    with (folder / "speedup.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    lines = summary(rows, asked.weak)
    made = {**provenance(1), "usable_cores": cores(), "load_before": load, "load_after": os.getloadavg()}
    told = {"settings": vars(asked), "provenance": made, "summary": lines}
    (folder / "speedup.json").write_text(json.dumps(told, indent=2) + "\n")
    steps = f"{asked.steps_per_update:,} steps per update{' and rank' if asked.weak else ''}"
    draw(lines, f"{asked.env}, {steps}, {cores()} cores", folder / "speedup.png")
    print(table(lines))
    print(f"load average before: {load[0]:.1f}; {folder / 'speedup.csv'}, .json, .png")


def main() -> int:
    """Measure and report."""
    made, load = parser(), os.getloadavg()
    asked = made.parse_args()
    try:
        numbers = checked(asked)
        folder = new_folder(asked)
    except BadInput as error:
        made.error(str(error))
    if load[0] > cores() / 2:
        print(
            f"note: load average {load[0]:.1f} on {cores()} core(s): other work is running and will be in the numbers"
        )
    try:
        write(folder, asked, measure(asked, numbers), load)
    except JobFailed as error:
        print(f"speedup.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
