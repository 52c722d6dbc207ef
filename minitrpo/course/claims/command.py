"""Measure again what the seeds claim: train what is missing, draw it, and say which claims hold."""

import os
import sys
from collections.abc import Iterable
from typing import Any

from minitrpo.algorithms.options import whole
from minitrpo.commands.command_line import RootParser
from minitrpo.course.claims.claim import FULL, QUICK, Claim
from minitrpo.course.claims.measuring import Busy, measure
from minitrpo.course.claims.page import draw, listing, report, write_page
from minitrpo.course.claims.registry import find
from minitrpo.course.claims.store import Place, place_in, recorded
from minitrpo.errors import BadInput, JobFailed
from minitrpo.parallel.launcher import RANK_VARIABLES
from minitrpo.supervision.exit_codes import command

TASKS = ("measure", "plot", "judge")


def make_parser(name: str) -> RootParser:
    """Return the command line."""
    parser = RootParser(prog=name, allow_abbrev=False, description=__doc__)
    parser.add_argument(
        "claims", nargs="+", metavar="ID", help="claims, such as S1 F2L; all; or list, which names them"
    )
    parser.add_argument("--quick", action="store_true", help="few seeds and short runs: minutes, not hours")
    told = "of each run, where the claim does not say; as many runs at a time as cores allow"
    parser.add_argument("--ranks", type=whole, default=1, metavar="N", help=f"{told} (default: 1)")
    parser.add_argument("--only", choices=TASKS, help="one of the three tasks, not all")
    parser.add_argument("--folder", metavar="DIR", help="for runs, pictures and page (default: in the checkout)")
    return parser


@command("figures")
def main(name: str, words: list[str]) -> int:
    """Measure, draw and judge; the exit code is 1 if something could not be measured."""
    if any(variable in os.environ for variable in RANK_VARIABLES):
        raise BadInput("run it with plain python: it starts mpiexec itself")
    args = make_parser(name).parse_args(words)
    if not 1 <= args.ranks <= 1024:
        raise BadInput(f"--ranks must be 1 to 1024, not {args.ranks}")
    if [word.lower() for word in args.claims] != ["list"]:
        find(args.claims)
    place = place_in(args.folder)
    if [word.lower() for word in args.claims] == ["list"]:
        print(listing(place))
        return 0
    claims = find(args.claims)
    tasks = (args.only,) if args.only else TASKS
    code = measure_all(name, place, claims, args) if "measure" in tasks else 0
    show(place, claims, args, tasks)
    return code


def measure_all(name: str, place: Place, claims: list[Claim], args: Any) -> int:
    """Measure what is missing; a claim about seconds on a busy machine is left out, and said."""
    code = 0
    for claim in dict(zip((claim.home for claim in claims), claims, strict=True)).values():
        try:
            measure(place, claim, kind_of(args), args.ranks, lambda text: print(text, flush=True))
        except (Busy, JobFailed) as error:
            print(f"{name}: {error}", file=sys.stderr)
            code = 1
    return code


def show(place: Place, claims: list[Claim], args: Any, tasks: Iterable[str]) -> None:
    """Draw and judge what is recorded, and write the page anew."""
    for claim in claims:
        runs = recorded(place, claim, kind_of(args))
        if not runs:
            print(f"{claim.name}: no run is recorded")
            continue
        if "judge" in tasks:
            print(report(claim, runs))
        if "plot" in tasks:
            print(f"    {draw(place, claim, kind_of(args), runs)}", flush=True)
    if "plot" in tasks:
        write_page(place)
        print(place.page)


def kind_of(args: Any) -> str:
    """Return which set was asked for."""
    return QUICK if args.quick else FULL
