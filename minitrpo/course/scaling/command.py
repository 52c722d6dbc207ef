"""Measure this machine, predict larger ones from it, and check the prediction where it can be checked."""

import argparse
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from minitrpo.algorithms.options import whole
from minitrpo.commands.command_line import RootParser
from minitrpo.course.machine import BUSY, Others
from minitrpo.course.scaling.formulas import INFINITE, Network
from minitrpo.course.scaling.inputs import RECORDED, Inputs, load, save
from minitrpo.errors import BadInput
from minitrpo.parallel.launcher import RANK_VARIABLES
from minitrpo.run_folder.provenance import pip_install
from minitrpo.supervision.exit_codes import command

ENVIRONMENTS = "Reacher-v5,HalfCheetah-v5,Hopper-v5,Humanoid-v5"
SIMULATED = "simulated, not measured"


def positive(text: str) -> float:
    """Return a number above 0, or infinity."""
    value = float(text)
    if not value > 0:
        raise ValueError(text)
    return value


def numbers(text: str) -> tuple[float, float]:
    """Return two numbers above 0, with a comma."""
    first, second = text.split(",")
    return positive(first), positive(second)


def file(text: str) -> Path:
    """Return the path of a file that is there or can be; argparse's own error if a folder has the name."""
    if not text or Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is a folder; it must be a file")
    return Path(text)


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
    predict.add_argument("--slow", type=float, default=0.0, metavar="X", help="fraction of ranks at half speed")
    paused = "seconds of a rank's work between two pauses of a second (default: never)"
    predict.add_argument("--pauses", type=positive, default=INFINITE, metavar="X", help=paused)
    memory = "GB of rank 0's machine (default: 256)"
    predict.add_argument("--memory", type=positive, default=256.0, metavar="X", help=memory)
    check = tasks.add_parser("check", help="predicted and measured seconds, on this machine", allow_abbrev=False)
    check.add_argument("--rounds", type=whole, default=2, metavar="N", help="runs of each (default: 2)")
    cable = "also over two hosts with such a cable between them, milliseconds and Mbit/s; root, in a checkout"
    check.add_argument("--hosts", type=numbers, metavar="MS,MBIT", help=cable)
    for each in (measure, check):
        each.add_argument("--anyway", action="store_true", help="on a busy machine, too; the result says so")
    for each in (measure, predict, check):
        each.add_argument("--inputs", type=file, default=RECORDED, metavar="FILE", help="default: in the checkout")
    for each in (predict, check):
        each.add_argument("--out", type=file, metavar="FILE", help="write the result as JSON; predict: a .png, too")
    check.add_argument("--page", type=file, metavar="FILE", help="write its table into a page, experiments/tables.md")
    return parser


@command("scaling")
def main(name: str, words: list[str]) -> int:
    """Do one of the three."""
    if any(variable in os.environ for variable in RANK_VARIABLES):
        raise BadInput("run it with plain python: it starts mpiexec itself")
    try:
        import simpy  # noqa: F401 - part of the course's extra
    except ImportError as error:
        raise BadInput(f"it needs simpy: {pip_install('simpy')}") from error
    args = make_parser(name).parse_args(words)
    tasks: dict[str, Callable[[Any], int]] = {"measure": measure, "predict": predict, "check": check}
    return tasks[args.task](args)


def measure(args: Any) -> int:
    """Measure and record."""
    from minitrpo.course.scaling.measuring import measured, refuse_if_busy
    from minitrpo.experience.environments import describe
    from minitrpo.experience.modules import trust

    environments = args.env.split(",")
    for environment in environments:
        trust(environment)
        describe(environment)
    before, others = refuse_if_busy(args.anyway), Others()
    content = measured(environments, args.steps_per_update, args.updates, lambda text: print(text, flush=True))
    share = max(before, refuse_if_busy(args.anyway, others.share()))
    content["provenance"]["busy_share_of_others"] = share
    save(args.inputs, content)
    print(f"written: {args.inputs}; {told(load(args.inputs))}")
    return 0


def told(inputs: Inputs) -> str:
    """Return in a few words where inputs come from, and whether their seconds are to be trusted."""
    made, share = inputs.provenance, inputs.provenance.get("busy_share_of_others", 0.0)
    busy = f", while others used {100 * share:.0f} % of the cores: do not trust the seconds" if share > BUSY else ""
    return f"measured on {made['cores']} cores, {made['machine'].partition(', ')[2]}, {made['date'][:10]}{busy}"


class Simulated(NamedTuple):
    """A job on 1 to 100,000 ranks: {design: a prediction for each number of ranks}, and {design: {cost: ranks}}."""

    inputs: Inputs
    job: Any
    machine: Any
    title: str
    tables: dict[str, list[Any]]
    breaks: dict[str, dict[str, float]]


def simulated(args: Any) -> Simulated:
    """Return what `predict` predicts."""
    from minitrpo.course.scaling.designs import COLUMNS, DESIGNS, MENDED, Machine
    from minitrpo.course.scaling.predict import RANKS, STEPS_EACH, Job, best_batch, breaks, predicted

    if not 0 <= args.slow <= 1:
        raise BadInput(f"--slow is a fraction, 0 to 1, not {args.slow:g}")
    inputs = load(args.inputs)
    job = Job(inputs.task(args.env), args.steps, args.steps_per_update, args.price)
    network = Network(args.latency, 1 / args.bandwidth)
    machine = Machine(network, None, 86_400 * args.failures, args.slow, args.pauses)
    tables = {name: [predicted(inputs, job, machine, d, ranks) for ranks in RANKS] for name, d in DESIGNS.items()}
    tables["the same, best batch"] = [best_batch(inputs, job, machine, MENDED, ranks) for ranks in RANKS]
    rest = (STEPS_EACH, 1e9 * args.memory, round(job.steps / job.batch))
    found = {name: breaks(inputs, job.task, machine, *rest, design) for name, design in COLUMNS.items()}
    return Simulated(inputs, job, machine, f"{job.steps:,.0f} steps of {args.env}", tables, found)


@cache
def recorded() -> Simulated:
    """Return what `predict` predicts from the recorded inputs."""
    return simulated(make_parser("scaling").parse_args(["predict"]))


def shown(what: str) -> str:
    """Return what a page shows of that: the table of the job, or that of its breaks."""
    from minitrpo.course.scaling.page import of_breaks, of_tables
    from minitrpo.course.scaling.predict import STEPS_EACH

    one, made = recorded(), told(recorded().inputs)
    lines = of_tables(one.title, one.tables, made) if what == "tables" else of_breaks(one.breaks, STEPS_EACH, made)
    return "\n".join(lines)


def predict(args: Any) -> int:
    """Print the tables."""
    from minitrpo.course.scaling.others import lines
    from minitrpo.course.scaling.page import keep, ranks_of
    from minitrpo.course.scaling.predict import RANKS, STEPS_EACH, table, weak

    inputs, job, machine, title, tables, found = simulated(args)
    episodes = max(1, round(job.batch / job.task.lengths.mean()))
    print(f"{title}; inputs {told(inputs)}")
    for name, rows in tables.items():
        print(f"\n{name} ({SIMULATED})", *table(rows), sep="\n")
    each = f"{STEPS_EACH:,} steps per rank and update ({SIMULATED})"
    print(f"\n{each}", *weak(inputs, job, machine, STEPS_EACH), sep="\n")
    print(f"\nwithout a barrier, or without samples, {episodes:,} episodes a generation ({SIMULATED})")
    print(*lines(job.task, machine, RANKS, episodes), sep="\n")
    print(f"\na tenth of an iteration, {each}: from ... ranks ({', '.join(found)})")
    for cost in found["now"]:
        print(f"  {cost:30s} {'  '.join(f'{ranks_of(each[cost]):>9s}' for each in found.values())}")
    if args.out:
        ends = {name: {c: None if at == INFINITE else at for c, at in each.items()} for name, each in found.items()}
        keep(args, title, tables, {"provenance": inputs.provenance, "breaks": ends})
    return 0


def check(args: Any) -> int:
    """Print predicted and measured seconds."""
    from minitrpo.course.scaling import page
    from minitrpo.course.scaling.checking import compared, report
    from minitrpo.course.scaling.hosts import Cable, over_hosts
    from minitrpo.course.scaling.measuring import refuse_if_busy

    if args.page:
        page.text_with_place(args.page, "checked")
    inputs = load(args.inputs)
    before = refuse_if_busy(args.anyway)
    rows = compared(inputs, args.rounds, lambda text: print(text, flush=True))
    if args.hosts:
        rows += over_hosts(inputs, Cable(*args.hosts), args.rounds, lambda text: print(text, flush=True))
    print(f"inputs {told(inputs)}", *report(rows), sep="\n")
    share = max(before, *(row.others for row in rows))
    print(f"others used up to {100 * share:.0f} % of the cores")
    refuse_if_busy(args.anyway, share)
    if args.page:
        summary = [line for line in report(rows) if line.startswith("median error")]
        page.put(args.page, "checked", page.of_comparison(rows, summary, told(inputs)))
    if args.out:
        save(args.out, {"inputs": inputs.provenance, "busy_share_of_others": share, "rows": [vars(r) for r in rows]})
    return 0
