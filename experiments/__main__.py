"""Run experiments, draw them, print their verdicts, and write the pages that show them."""

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from experiments import pages, pictures
from experiments.harness import FULL, QUICK, Busy, Experiment, run
from experiments.registry import EXPERIMENTS, find
from minitrpo.algorithms.options import whole
from minitrpo.commands.command_line import RootParser
from minitrpo.errors import BadInput, JobFailed
from minitrpo.parallel.this_process import RANK_VARIABLES
from minitrpo.supervision.program import command

IDS = "experiments, such as S1 F2L, or a group of them, such as claims; all"


@command("experiments")
def main(name: str, words: list[str]) -> int:
    """Do what `python -m experiments` says."""
    parser = RootParser(prog="experiments", allow_abbrev=False, description=__doc__)
    parser.add_argument("task", choices=["list", *TASKS, "page"], help="page writes all tables and pictures of pages")
    return do(parser, words)


@command("figures")
def figures(name: str, words: list[str]) -> int:
    """Do what `mpi_scripts/figures.py` says: run what is missing of some claims, draw it, print the verdict."""
    about = "Measure what the papers, posts and slides claim, draw it and print the verdict; list names all claims."
    parser = RootParser(prog="figures.py", allow_abbrev=False, description=about)
    parser.add_argument("--only", dest="task", choices=TASKS, help="one of the three tasks, not all")
    return do(parser, words)


def do(parser: RootParser, words: list[str]) -> int:
    """Do one task, or all; the exit code is 1 if something could not be measured."""
    parser.add_argument("ids", nargs="*", metavar="ID", help=IDS)
    parser.add_argument("--quick", action="store_true", help="few seeds and short runs: minutes instead of hours")
    of = "of each run whose experiment does not set them; as many runs at a time as cores allow"
    parser.add_argument("--ranks", type=whole, default=1, metavar="N", help=f"{of} (default: 1)")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="for runs and pictures (default: in the checkout)")
    if any(variable in os.environ for variable in RANK_VARIABLES):
        raise BadInput("run it with plain python: it starts mpiexec itself")
    args = parser.parse_args(words)
    if not 1 <= args.ranks <= 1024:
        raise BadInput(f"--ranks must be 1 to 1024, not {args.ranks}")
    if args.folder:
        args.folder.mkdir(parents=True, exist_ok=True)
    if "list" in (args.task, *args.ids):
        print("\n".join(f"{each.name:16} {each.state():26} {each.title}" for each in EXPERIMENTS.values()))
        return 0
    if args.task == "page":
        print(*pages.write(), sep="\n")
        return 0
    if not args.ids and args.task not in ("plot", "judge"):
        raise BadInput("name an experiment, such as S1; list names them")
    some, kind = find(args.ids or ["all"]), QUICK if args.quick else FULL
    tasks = [args.task] if args.task else TASKS
    return max(TASKS[task](experiment, kind, args) for task in tasks for experiment in some)


def run_missing(experiment: Experiment, kind: str, args: Any) -> int:
    """Run what is missing; on a busy machine leave it out if it is about seconds, and say so."""
    try:
        run(experiment, kind, args.ranks, args.folder, partial(print, flush=True))
    except (Busy, JobFailed) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def plot(experiment: Experiment, kind: str, args: Any) -> int:
    """Draw the recorded runs, if they have a picture."""
    if experiment.draw and (runs := experiment.runs(kind, args.folder)):
        print(pictures.draw(experiment, kind, runs, args.folder), flush=True)
    return 0


def judge(experiment: Experiment, kind: str, args: Any) -> int:
    """Print what the recorded runs say."""
    runs = experiment.runs(kind, args.folder)
    print(experiment.report(experiment, runs) if runs else f"{experiment.name}: no run is recorded", end="\n\n")
    return 0


TASKS: dict[str, Callable[[Experiment, str, Any], int]] = {"run": run_missing, "plot": plot, "judge": judge}

if __name__ == "__main__":
    raise SystemExit(main())
