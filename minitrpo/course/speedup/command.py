"""Measure the speed-up of more ranks: trains on each number of ranks, in several rounds, and compares."""

import csv
import json
import os
import re
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.algorithms import registry
from minitrpo.algorithms.options import whole
from minitrpo.commands.command_line import RootParser, parse
from minitrpo.course.result_folder import gone_if_empty, new_folder
from minitrpo.course.speedup.experiment import by_turns, compared, timed_run
from minitrpo.course.speedup.statistics import interval, median_interval_of_rounds, speedup_interval_of_rounds
from minitrpo.errors import BadInput, JobFailed, shorten
from minitrpo.experience.environments import describe
from minitrpo.experience.trust import trust
from minitrpo.parallel.this_process import RANK_VARIABLES, cores
from minitrpo.parallel.timing import PHASES
from minitrpo.policies import Array
from minitrpo.reports.plots import BLUE, COLORS, GREY, RED
from minitrpo.run_folder.atomic_files import write_atomically
from minitrpo.run_folder.metrics_csv import SECONDS
from minitrpo.run_folder.provenance import provenance
from minitrpo.supervision.mpiexec import flags
from minitrpo.supervision.program import command
from minitrpo.training.run_context import check_ranks
from minitrpo.training.settings import algorithm_of, presets

SHOWN = ("iteration_s", "collect_s", "update_s")
COLUMNS = ("ranks", "round", "update", "steps", *SECONDS)
OURS = ("--out", "--resume", "--total-steps", "--steps-per-update", "--env", "--algorithm", "--preset", "--trace")
TRIAL = 2_000  # steps of each of the two updates that predict the time of all
Row = dict[str, float]


def make_parser(name: str) -> RootParser:
    """Return the command line."""
    parser = RootParser(prog=name, allow_abbrev=False, description=__doc__)
    parser.add_argument("--ranks", default=None, metavar="1,2,4", help="numbers of ranks (default: 1, 2, 4, ... cores)")
    parser.add_argument("--env", default="Reacher-v5", metavar="ID", help="default: Reacher-v5")
    parser.add_argument("--steps-per-update", type=whole, default=20_000, metavar="N", help="default: 20000")
    parser.add_argument("--weak", action="store_true", help="steps per update are per rank: the job grows")
    parser.add_argument("--updates", type=whole, default=5, metavar="N", help="timed updates in a run (default: 5)")
    parser.add_argument("--warm-up", type=whole, default=1, metavar="N", help="updates before them (default: 1)")
    parser.add_argument(
        "--rounds", type=whole, default=3, metavar="N", help="runs on each number of ranks (default: 3)"
    )
    parser.add_argument("--algorithm", default=registry.DEFAULT, metavar="NAME", help=f"default: {registry.DEFAULT}")
    parser.add_argument("--preset", help="preset of train (default: paper if the algorithm has one)")
    parser.add_argument("--out", metavar="DIR", help="folder to create (default: runs/speedup-ENV, numbered)")
    parser.add_argument("more", nargs="*", metavar="-- ARGUMENTS", help="further arguments of train, after --")
    return parser


def checked(args: Any) -> list[int]:
    """Return the numbers of ranks; BadInput, before anything runs, for what makes no sense."""
    if any(name in os.environ for name in RANK_VARIABLES):
        raise BadInput("run it with plain python: it starts mpiexec itself, on each number of ranks")
    for name, least in (("updates", 1), ("rounds", 1), ("steps_per_update", 1), ("warm_up", 0)):
        if getattr(args, name) < least:
            raise BadInput(f"--{name.replace('_', '-')} must be {least} or more, not {getattr(args, name)}")
    if args.updates * args.rounds < 2:
        raise BadInput("one measurement says nothing about its spread: --updates times --rounds must be 2 or more")
    for word in args.more:
        if word.partition("=")[0] in (*OURS, "--progress"):
            raise BadInput(f"{word} after --: speedup sets this option itself")
    powers = ",".join(str(2**k) for k in range(cores().bit_length()))
    text = f"{powers},{cores()}" if args.ranks is None else args.ranks
    if not all(re.fullmatch(r"\s*0*[1-9][0-9]{0,8}\s*", part) for part in text.split(",")):
        raise BadInput(f"--ranks must be positive integers with commas, such as 1,2,4, not {shorten(text)}")
    ranks = sorted({int(part) for part in text.split(",")})
    if ranks[0] != 1:
        raise BadInput(f"--ranks {text} must contain 1, the reference")
    if ranks[-1] > 1024:
        raise BadInput(f"--ranks {text}: more than 1024 would bring this machine down")
    trust(args.env, args.algorithm)
    settings = parse(train_arguments(args, 1)).choice.common
    for number in ranks:
        check_ranks(settings, number)
    describe(settings.env)
    return ranks


def train_arguments(args: Any, ranks: int) -> list[str]:
    """Return the arguments of train on this number of ranks."""
    steps = args.steps_per_update * (ranks if args.weak else 1)
    total = steps * (args.updates + args.warm_up)
    preset = args.preset or ("paper" if "paper" in presets(algorithm_of(args.algorithm)) else "default")
    named = {"algorithm": args.algorithm, "env": args.env, "preset": preset}
    return [*flags(named | {"steps_per_update": steps, "total_steps": total}), *args.more]


def foretold(args: Any, numbers: list[int]) -> str:
    """Return how long all will take, from a short run on one rank: if more ranks help fully, and if not at all."""
    small = {"steps_per_update": min(args.steps_per_update, TRIAL), "updates": 1, "warm_up": 1, "weak": False}
    began = time.perf_counter()
    trial = timed_run(1, train_arguments(Namespace(**vars(args) | small), 1))
    starting = time.perf_counter() - began - trial["iteration_s"].sum()
    update = trial["iteration_s"][-1] / trial["steps"][-1] * args.steps_per_update
    runs, updates = args.rounds * len(numbers), args.rounds * (args.updates + args.warm_up)
    alone = [updates * update * (ranks if args.weak else 1) for ranks in numbers]
    shared = [seconds / min(ranks, cores()) for seconds, ranks in zip(alone, numbers, strict=True)]
    least, most = (readable(runs * starting + sum(seconds)) for seconds in (shared, alone))
    span = least if least == most else f"{least} to {most}"
    seen = f"{update:.2g} s per update on one rank, {starting:.2g} s to start"
    return f"this will take about {span}: {runs} runs (from a short trial: {seen})"


def readable(seconds: float) -> str:
    """Return a time as 40 s or 12 min."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def measure(args: Any, numbers: list[int]) -> list[Row]:
    """Return a row for every timed update."""
    rows = []
    for number, ranks in by_turns(args.rounds, numbers):
        new = one_run(args, ranks, number)
        rows += new
        all_s, collect_s, update_s = (float(np.median([row[p] for row in new])) for p in SHOWN)
        text = f"{all_s:.3g} s per update: {collect_s:.3g} s collecting, {update_s:.3g} s learning"
        print(f"round {number} of {args.rounds}, {ranks} rank(s): {text}", flush=True)
    return rows


def one_run(args: Any, ranks: int, number: int) -> list[Row]:
    """Return the timed updates of one run on these ranks."""
    c = timed_run(ranks, train_arguments(args, ranks))
    count = len(c["steps"])
    if count < args.warm_up + min(2, args.updates):
        raise JobFailed(f"longer episodes ended the run after {count} update(s): ask for more --updates")
    rows = [{"ranks": ranks, "round": number, "update": i + 1, "steps": int(c["steps"][i])} for i in range(count)]
    return [row | {name: round(c[name][i], 6) for name in SECONDS} for i, row in enumerate(rows)][args.warm_up :]


def summary(rows: list[Row], weak: bool) -> list[dict[str, Any]]:
    """Return what is to be reported for each number of ranks. Weak: the work grows, so speed is steps per second.

    Intervals are over rounds, because updates of one run are no independent measurements; with one round, over updates.
    """
    lines: list[dict[str, Any]] = []
    base: list[Array] = []
    for ranks in sorted({int(row["ranks"]) for row in rows}):
        some = [row for row in rows if row["ranks"] == ranks]
        here = {name: np.array([row[name] for row in some]) for name in ("steps", *SECONDS)}
        cost = by_round(some, here["iteration_s"] / (here["steps"] if weak else 1))
        base = base or cost
        line: dict[str, Any] = {"ranks": ranks, "oversubscribed": ranks > cores()}
        line |= {f"median_{name}": float(np.median(here[name])) for name in SECONDS}
        line |= {"interval_s": interval(here["iteration_s"])}
        line |= compared(np.concatenate(base), np.concatenate(cost), ranks)
        if len(cost) > 1:
            line["interval_s"] = median_interval_of_rounds(by_round(some, here["iteration_s"]))
        if len(cost) > 1 and ranks > 1:
            line["speedup_interval"] = speedup_interval_of_rounds(base, cost)
        lines.append(line | {"karp_flatt": None} if weak else line)
    return lines


def by_round(rows: list[Row], values: Array) -> list[Array]:
    """Return the values of each round, in the order of the rounds; values: (n,), one for each row."""
    numbers = np.array([row["round"] for row in rows])
    return [values[numbers == number] for number in np.unique(numbers)]


def table(lines: list[dict[str, Any]]) -> str:
    """Return the summary as text."""
    text = ["ranks  s/update      95 % interval  speed-up  95 % interval  efficiency  Karp-Flatt"]
    for line in lines:
        times, factors = (f"{low:.3g} to {high:.3g}" for low, high in (line["interval_s"], line["speedup_interval"]))
        serial = "-" if line["karp_flatt"] is None else f"{line['karp_flatt']:.3f}"
        text.append(
            f"{line['ranks']:4d}{'*' if line['oversubscribed'] else ' '}  {line['median_iteration_s']:8.3g}"
            f"  {times:>17}  {line['speedup']:8.2f}  {factors:>13}  {line['efficiency']:10.2f}  {serial:>10}"
        )
    if lines[-1]["oversubscribed"]:
        text.append(f"* oversubscribed: more ranks than the {cores()} core(s) here; not a prediction for more cores")
    return "\n".join(text)


def draw(lines: list[dict[str, Any]], title: str, path: Path) -> None:
    """Draw time per phase, speed-up, efficiency and Karp-Flatt fraction against ranks."""
    from matplotlib import pyplot as plt

    plt.switch_backend("Agg")
    figure, axes = plt.subplots(2, 2, figsize=(11, 7.5), constrained_layout=True)
    figure.suptitle(title)
    ranks, measured, spent = (np.array([line[key] for line in lines]) for key in ("ranks", "speedup", "efficiency"))
    bottom, serial = np.zeros(len(lines)), [line["karp_flatt"] for line in lines[1:] if line["karp_flatt"] is not None]
    for phase in PHASES:
        heights = np.array([line[f"median_{phase}_s"] for line in lines])
        axes[0, 0].bar(ranks.astype(str), heights, bottom=bottom, color=COLORS[phase], label=phase)
        bottom += heights
    axes[0, 0].set(xlabel="ranks", ylabel="median seconds per update, on rank 0", ylim=(0, 1.25 * bottom.max()))
    axes[0, 0].legend(ncols=4, loc="upper center")
    bars = np.abs(np.array([line["speedup_interval"] for line in lines]).T - measured)
    axes[0, 1].plot(ranks, ranks, "--", color=GREY, label="ideal")
    axes[0, 1].errorbar(ranks, measured, bars, fmt="o-", color=BLUE, capsize=4, label="measured, 95 % interval")
    axes[1, 0].plot(ranks, spent, "o-", color=BLUE, label="measured")
    axes[1, 1].plot(ranks[1:] if serial else [], serial, "o-", color=RED, label="measured" if serial else "not defined")
    labels = ("speed-up", "efficiency = speed-up / ranks", "Karp-Flatt serial fraction")
    for axis, label in zip(axes.flat[1:], labels, strict=True):
        axis.set(xlabel="ranks", ylabel=label, xlim=(0.5, ranks[-1] + 0.5), xticks=ranks)
        axis.set_ylim(0, max(1.05, axis.get_ylim()[1]))
        if ranks[-1] > cores():
            axis.axvspan(cores() + 0.25, ranks[-1] + 0.5, color=GREY, alpha=0.15, label=f"more than {cores()} core(s)")
        axis.grid(alpha=0.3)
        axis.legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def write(folder: Path, args: Any, rows: list[Row], load: tuple[float, ...]) -> None:
    """Write speedup.csv, speedup.json and speedup.png, and print the table."""
    with (folder / "speedup.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    lines = summary(rows, args.weak)
    origin = {**provenance(), "usable_cores": cores(), "load_before": load, "load_after": os.getloadavg()}
    payload = {"settings": vars(args), "provenance": origin, "summary": lines}
    write_atomically(folder / "speedup.json", (json.dumps(payload, indent=2) + "\n").encode())
    steps = f"{args.steps_per_update:,} steps per update{' and rank' if args.weak else ''}"
    draw(lines, f"{args.algorithm} on {args.env}, {steps}, {cores()} cores", folder / "speedup.png")
    print(table(lines))
    print(f"load average before: {load[0]:.1f}; {folder / 'speedup.csv'}, .json, .png")


@command("speedup")
def main(name: str, words: list[str]) -> int:
    """Measure and report."""
    load = os.getloadavg()
    args = make_parser(name).parse_args(words)
    numbers = checked(args)
    env = args.env.rpartition(":")[2].replace("/", "-")
    folder = new_folder(args.out, f"speedup-{env}{'-weak' if args.weak else ''}")
    if load[0] > cores() / 2:
        print(
            f"note: load average {load[0]:.1f} on {cores()} core(s): other work is running and will be in the numbers"
        )
    with gone_if_empty(folder):
        print(foretold(args, numbers), flush=True)
        write(folder, args, measure(args, numbers), load)
    return 0
