"""Measure this machine, predict larger ones from it, and check the prediction where it can be checked."""

import json
import os
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from minitrpo.algorithms.options import whole
from minitrpo.commands.command_line import RootParser
from minitrpo.course.machine import BUSY, Others, busy_share
from minitrpo.course.scaling.formulas import Network
from minitrpo.course.scaling.inputs import RECORDED, load
from minitrpo.course.scaling.model import Machine
from minitrpo.course.scaling.predict import Job, of_breaks, of_design, of_tables, weak
from minitrpo.errors import BadInput
from minitrpo.experience.environments import describe
from minitrpo.experience.modules import trust
from minitrpo.parallel.launcher import RANK_VARIABLES
from minitrpo.run_folder.atomic_files import write_atomically
from minitrpo.supervision.program import command

ENVIRONMENTS = "Reacher-v5,HalfCheetah-v5,Hopper-v5,Humanoid-v5"


def positive(text: str) -> float:
    """Return a number above 0, or infinity."""
    value = float(text)
    if not value > 0:
        raise ValueError(text)
    return value


def make_parser(name: str) -> RootParser:
    """Return the command line."""
    parser = RootParser(prog=name, allow_abbrev=False, description=__doc__)
    tasks = parser.add_subparsers(dest="task", required=True, metavar="measure | predict | check")
    measure = tasks.add_parser("measure", help="seconds of all parts of an update, and of messages", allow_abbrev=False)
    measure.add_argument("--env", default=ENVIRONMENTS, metavar="IDS", help=f"with commas (default: {ENVIRONMENTS})")
    measure.add_argument("--steps-per-update", type=whole, default=8192, metavar="N", help="default: 8192")
    measure.add_argument("--updates", type=whole, default=10, metavar="N", help="that count (default: 10)")
    predict = tasks.add_parser("predict", help="a job on 1 to 100,000 ranks, simulated", allow_abbrev=False)
    predict.add_argument("--env", default="Humanoid-v5", metavar="ID", help="default: Humanoid-v5")
    predict.add_argument("--steps", type=positive, default=1e6, metavar="N", help="of the job (default: 1e6)")
    predict.add_argument("--steps-per-update", type=whole, default=50_000, metavar="N", help="default: 50000")
    predict.add_argument("--price", type=positive, default=0.04, metavar="X", help="dollars a core-hour (0.04)")
    of = "of the network (default: 2e-6 and 1e10: an InfiniBand of 100 Gbit/s)"
    predict.add_argument("--latency", type=positive, default=2e-6, metavar="X", help=f"seconds {of}")
    predict.add_argument("--bandwidth", type=positive, default=1e10, metavar="X", help=f"bytes a second {of}")
    day = "days from one failure of a core to the next (default: 64000, a node of 64 cores every 1,000 days)"
    predict.add_argument("--failures", type=positive, default=64_000.0, metavar="X", help=day)
    check = tasks.add_parser("check", help="predicted and measured seconds, on this machine", allow_abbrev=False)
    check.add_argument("--rounds", type=whole, default=2, metavar="N", help="runs of each (default: 2)")
    for each in (measure, check):
        each.add_argument("--anyway", action="store_true", help="on a busy machine, too; the result says so")
    for each in (measure, predict, check):
        each.add_argument("--inputs", type=Path, default=RECORDED, metavar="FILE", help="default: in the checkout")
    return parser


@command("scaling")
def main(name: str, words: list[str]) -> int:
    """Do one of the three."""
    if any(variable in os.environ for variable in RANK_VARIABLES):
        raise BadInput("run it with plain python: it starts mpiexec itself")
    args = make_parser(name).parse_args(words)
    tasks: dict[str, Callable[[Any], None]] = {"measure": measure, "predict": predict, "check": check}
    tasks[args.task](args)
    return 0


def tell(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


def refuse_if_busy(share: float, anyway: bool) -> None:
    """Raise BadInput if others use too large a part of the cores, unless it is to be done anyway."""
    if share > BUSY and not anyway:
        raise BadInput(
            f"other programs use {100 * share:.0f} % of the cores: their seconds would be in the numbers; "
            "end them, or say --anyway, which marks the result"
        )


def undisturbed(anyway: bool, work: Callable[[], Any]) -> tuple[Any, float]:
    """Return what `work` returns, and which part of the cores others used before and meanwhile. Raises BadInput."""
    share = busy_share(1.0)
    refuse_if_busy(share, anyway)
    others = Others()
    result = work()
    share = max(share, others.share())
    refuse_if_busy(share, anyway)
    return result, share


def measure(args: Any) -> None:
    """Measure and record."""
    from minitrpo.course.scaling.measuring import measured

    if args.inputs.is_dir():
        raise BadInput(f"--inputs {args.inputs} is a folder; it must be a file")
    environments = args.env.split(",")
    for environment in environments:
        trust(environment)
        describe(environment)
    content, share = undisturbed(
        args.anyway, partial(measured, environments, args.steps_per_update, args.updates, tell)
    )
    content["provenance"]["busy_share_of_others"] = share
    args.inputs.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(args.inputs, json.dumps(content).encode())
    print(f"written: {args.inputs}; {load(args.inputs).origin}")


def job_of(args: Any) -> Job:
    """Return what is to be predicted."""
    inputs = load(args.inputs)
    machine = Machine(Network(args.latency, 1 / args.bandwidth), None, 86_400 * args.failures)
    return Job(inputs, inputs.task(args.env), machine, args.steps, args.steps_per_update, args.price)


@cache
def recorded() -> Job:
    """Return what `predict` predicts from the recorded inputs."""
    return job_of(make_parser("scaling").parse_args(["predict"]))


def shown(what: str) -> str:
    """Return what a page shows of that: the table of the job, or that of its breaks."""
    job, made = recorded(), recorded().inputs.origin
    if what == "tables":
        return f"{of_tables(job)}\n\n*{job.title}: simulated, not measured; inputs {made}.*"
    return f"{of_breaks(job)}\n\n*Inputs {made}.*"


def predict(args: Any) -> None:
    """Print the tables."""
    job = job_of(args)
    print(f"{job.title}: simulated, not measured; inputs {job.inputs.origin}")
    for name, rows in job.tables.items():
        print(f"\n{name}\n\n{of_design(rows)}")
    print(f"\nEvery rank plays as many steps in each update.\n\n{weak(job)}")
    print(f"\nFrom how many ranks on is it a tenth of an iteration?\n\n{of_breaks(job)}")


def check(args: Any) -> None:
    """Print predicted and measured seconds."""
    from minitrpo.course.scaling.checking import compared

    inputs = load(args.inputs)
    found, share = undisturbed(args.anyway, partial(compared, inputs, args.rounds, tell))
    print(f"{found}\n\nothers used {100 * share:.0f} % of the cores")
