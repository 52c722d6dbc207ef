"""Run experiments, draw them, print their verdicts, and write the pages that show them."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any, NoReturn

from experiments import pages, pictures
from experiments.harness import FULL, QUICK, Busy, Experiment, run
from experiments.registry import EXPERIMENTS, find
from minitrpo.algorithms.options import whole
from minitrpo.errors import BadInput, JobFailed
from minitrpo.parallel.launcher import RANK_VARIABLES

IDS = "experiments, such as S1 F2L, or a group of them, such as claims; all"


class Parser(argparse.ArgumentParser):
    """An argument parser that raises BadInput."""

    def error(self, message: str) -> NoReturn:
        """Raise BadInput with one line."""
        raise BadInput(f"{message}; see --help")


def parser_of(name: str, description: str | None) -> Parser:
    """Return what both command lines share."""
    parser = Parser(prog=name, allow_abbrev=False, description=description)
    parser.add_argument("--quick", action="store_true", help="few seeds and short runs: minutes instead of hours")
    of = "of each run whose experiment does not set them; as many runs at a time as cores allow"
    parser.add_argument("--ranks", type=whole, default=1, metavar="N", help=f"{of} (default: 1)")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="for runs and pictures (default: in the checkout)")
    return parser


def main() -> int:
    """Do what `python -m experiments` says."""
    parser = parser_of("experiments", __doc__)
    parser.add_argument("task", choices=["list", *TASKS, "page"], help="page writes all tables and pictures of pages")
    parser.add_argument("ids", nargs="*", metavar="ID", help=IDS)
    return guarded(parser, sys.argv[1:])


def figures(words: list[str] | None = None) -> int:
    """Do what `mpi_scripts/figures.py` says: run what is missing of some claims, draw it, print the verdict."""
    parser = parser_of("figures.py", "Measure what the papers, posts and slides claim, draw it and print the verdict.")
    parser.add_argument("ids", nargs="+", metavar="ID", help=f"{IDS}; or list, which names them")
    parser.add_argument("--only", choices=["measure", "plot", "judge"], help="one of the three tasks, not all")
    return guarded(parser, sys.argv[1:] if words is None else words)


def guarded(parser: Parser, words: list[str]) -> int:
    """Return the exit code of a command: 2 for what the user can correct on the command line."""
    try:
        if any(variable in os.environ for variable in RANK_VARIABLES):
            raise BadInput("run it with plain python: it starts mpiexec itself")
        args = parser.parse_args(words)
        if not 1 <= args.ranks <= 1024:
            raise BadInput(f"--ranks must be 1 to 1024, not {args.ranks}")
        if args.folder:
            args.folder.mkdir(parents=True, exist_ok=True)
        return do(parser.prog, args)
    except BadInput as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{parser.prog}: {error.filename}: {error.strerror}; choose another --folder", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{parser.prog}: interrupted; the same command goes on", file=sys.stderr)
        return 130


def do(name: str, args: Any) -> int:
    """Do one task, or all; the exit code is 1 if something could not be measured."""
    if "list" in (getattr(args, "task", None), *args.ids):
        print("\n".join(f"{each.name:10} {state(each):26} {each.title}" for each in EXPERIMENTS.values()))
        return 0
    if getattr(args, "task", None) == "page":
        print(*pages.write(), sep="\n")
        return 0
    some = find(args.ids or ["all"])
    if "task" in args:
        chosen = [args.task]
    else:
        chosen = [{"measure": "run"}.get(args.only, args.only)] if args.only else [*TASKS]
    if chosen == ["run"] and not args.ids:
        raise BadInput("name an experiment: python -m experiments run S1; list names them")
    return max([TASKS[task](name, some, QUICK if args.quick else FULL, args) for task in chosen])


def state(experiment: Experiment) -> str:
    """Return what is known of an experiment, in a few words."""
    runs, missing = experiment.runs(), len(experiment.missing())
    text = experiment.verdict(experiment, runs) if runs else "not measured"
    return f"{text}{f' ({missing} missing)' if runs and missing else ''}"


def run_all(name: str, some: list[Experiment], kind: str, args: Any) -> int:
    """Run what is missing; on a busy machine leave out what is about seconds, and say so."""
    code = 0
    for experiment in {each.home or each.name: each for each in some}.values():
        try:
            run(experiment, kind, args.ranks, args.folder, lambda text: print(text, flush=True))
        except (Busy, JobFailed) as error:
            print(f"{name}: {error}", file=sys.stderr)
            code = 1
    return code


def judge_all(name: str, some: list[Experiment], kind: str, args: Any) -> int:
    """Print what the recorded runs say."""
    for experiment in some:
        runs = experiment.runs(kind, args.folder)
        print(experiment.report(experiment, runs) if runs else f"{experiment.name}: no run is recorded")
    return 0


def plot_all(name: str, some: list[Experiment], kind: str, args: Any) -> int:
    """Draw the recorded runs of what has a picture."""
    for experiment in some:
        if not experiment.draw:
            print(f"{experiment.name} has no picture: python -m experiments judge {experiment.name}")
        elif runs := experiment.runs(kind, args.folder):
            print(pictures.draw(experiment, kind, runs, args.folder), flush=True)
    return 0


TASKS = {"run": run_all, "plot": plot_all, "judge": judge_all}

if __name__ == "__main__":
    raise SystemExit(main())
