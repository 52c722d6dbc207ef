"""Measure this machine, predict larger ones from it, and check the prediction where it can be checked."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minitrpo.commands.cli import command
from minitrpo.commands.command_line import RootParser, whole
from minitrpo.course.scaling.formulas import INFINITE, Network
from minitrpo.course.scaling.inputs import RECORDED, Inputs, load, save
from minitrpo.errors import BadInput
from minitrpo.parallel.launcher import RANK_VARIABLES
from minitrpo.supervision.jobs import JobFailed
from minitrpo.supervision.stderr import say

ENVIRONMENTS = "Reacher-v5,HalfCheetah-v5,Hopper-v5,Humanoid-v5"
SIMULATED = "simulated, not measured"


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
    predict.add_argument("--slow", type=float, default=0.0, metavar="X", help="fraction of ranks at half speed")
    memory = "GB of rank 0's machine (default: 256)"
    predict.add_argument("--memory", type=positive, default=256.0, metavar="X", help=memory)
    check = tasks.add_parser("check", help="predicted beside measured seconds, on this machine", allow_abbrev=False)
    kept = "compare with what benchmarks and the author of 2016 recorded, and train nothing"
    check.add_argument("--recorded", action="store_true", help=kept)
    check.add_argument("--rounds", type=whole, default=2, metavar="N", help="runs of each (default: 2)")
    for each in (measure, check):
        each.add_argument("--anyway", action="store_true", help="on a busy machine, too; the result says so")
    for each in (measure, predict, check):
        each.add_argument("--inputs", type=Path, default=RECORDED, metavar="FILE", help="default: in the checkout")
    for each in (predict, check):
        each.add_argument("--out", type=Path, metavar="FILE", help="write the result as JSON; predict: a .png, too")
        each.add_argument("--page", type=Path, metavar="FILE", help="write its tables into a page, docs/scaling.md")
    return parser


@command("scaling")
def main(name: str, words: list[str]) -> int:
    """Do one of the three."""
    if any(variable in os.environ for variable in RANK_VARIABLES):
        raise BadInput("run it with plain python: it starts mpiexec itself")
    try:
        import simpy  # noqa: F401 - part of the course's extra
    except ImportError as error:
        raise BadInput("it needs simpy: pip install simpy, or pip install '.[course]'") from error
    args = make_parser(name).parse_args(words)
    tasks: dict[str, Callable[[Any], int]] = {"measure": measure, "predict": predict, "check": check}
    try:
        return tasks[args.task](args)
    except JobFailed as error:
        say(f"{name}: {error}")
        return 1


def measure(args: Any) -> int:
    """Measure and record."""
    from minitrpo.course.scaling.measuring import measured, refuse_if_busy
    from minitrpo.experience.environments import describe
    from minitrpo.experience.modules import trust

    environments = args.env.split(",")
    for environment in environments:
        trust(environment)
        describe(environment)
    share = refuse_if_busy(args.anyway)
    content = measured(environments, args.steps_per_update, args.updates, lambda text: print(text, flush=True))
    content["provenance"]["busy_share_of_others"] = share
    save(args.inputs, content)
    print(f"written: {args.inputs}; {told(load(args.inputs))}")
    return 0


def told(inputs: Inputs) -> str:
    """Return in a few words where inputs come from, and whether their seconds are to be trusted."""
    from minitrpo.course.machine import BUSY

    made, share = inputs.provenance, inputs.provenance.get("busy_share_of_others", 0.0)
    busy = f", while others used {100 * share:.0f} % of the cores: do not trust the seconds" if share > BUSY else ""
    return f"measured on {made['cores']} cores, {made['machine'].partition(', ')[2]}, {made['date'][:10]}{busy}"


def predict(args: Any) -> int:
    """Print the tables."""
    from minitrpo.course.scaling import page
    from minitrpo.course.scaling.model import DESIGNS, MENDED, Machine
    from minitrpo.course.scaling.others import lines
    from minitrpo.course.scaling.predict import RANKS, Job, best_batch, breaks, predicted, table

    if not 0 <= args.slow <= 1:
        raise BadInput(f"--slow is a fraction, 0 to 1, not {args.slow:g}")
    inputs = load(args.inputs)
    job = Job(inputs.task(args.env), args.steps, args.steps_per_update, args.price)
    machine = Machine(Network(args.latency, 1 / args.bandwidth), None, 86_400 * args.failures, args.slow)
    print(f"{args.env}, {args.steps:,.0f} steps; inputs {told(inputs)}")
    content: dict[str, Any] = {"provenance": inputs.provenance, "settings": {k: str(v) for k, v in vars(args).items()}}
    tables = {name: [predicted(inputs, job, machine, d, ranks) for ranks in RANKS] for name, d in DESIGNS.items()}
    tables["the same, batches that grow"] = [best_batch(inputs, job, machine, MENDED, ranks) for ranks in RANKS]
    for title, rows in tables.items():
        print(f"\n{title} ({SIMULATED})", *table(rows), sep="\n")
        content[title] = [{**vars(row), "one": dict(row.one.parts()), "bottleneck": row.bottleneck[0]} for row in rows]
    episodes = max(1, round(job.batch / float(job.task.lengths.mean())))
    print(f"\nwithout a barrier, or without samples, {episodes:,} episodes a generation ({SIMULATED})")
    print(*lines(job.task, machine, RANKS, episodes), sep="\n")
    each = 1_000
    found = breaks(inputs, job.task, machine, each, 1e9 * args.memory, round(job.steps / job.batch))
    print(f"\na tenth of an iteration, as the package is, {each:,} steps a rank ({SIMULATED}): from ... ranks")
    for cost, at in found.items():
        print(f"  {cost:38s} {'not up to 100,000' if at == INFINITE else f'{at:,.0f}'}")
    title = f"{job.steps:,.0f} steps of {args.env}"
    if args.page:
        page.put(args.page, "predicted", page.of_tables(title, tables, told(inputs)))
        page.put(args.page, "breaks", page.of_breaks(found, each, told(inputs)))
    if args.out:
        save(args.out, content | {"breaks": {k: None if v == INFINITE else v for k, v in found.items()}})
        from minitrpo.course.scaling.drawing import draw

        draw(title, tables, args.out.with_suffix(".png"))
    return 0


def check(args: Any) -> int:
    """Print predicted beside measured."""
    from minitrpo.course.scaling import page
    from minitrpo.course.scaling.checking import compared, report
    from minitrpo.course.scaling.measuring import refuse_if_busy

    if args.recorded:
        return check_recorded(args)
    inputs = load(args.inputs)
    share = refuse_if_busy(args.anyway)
    rows = compared(inputs, args.rounds, lambda text: print(text, flush=True))
    print(f"inputs {told(inputs)}")
    if share > 0:
        print(f"others used {100 * share:.0f} % of the cores when it began")
    print(*report(rows), sep="\n")
    if args.page:
        summary = [line for line in report(rows) if line.startswith("median error")]
        page.put(args.page, "checked", page.of_comparison(rows, summary, told(inputs)))
    if args.out:
        save(args.out, {"inputs": inputs.provenance, "busy_share_of_others": share, "rows": [vars(r) for r in rows]})
    return 0


def check_recorded(args: Any) -> int:
    """Print what one rank's recorded seconds predict for several, beside theirs."""
    from minitrpo.course.scaling import page, recorded
    from minitrpo.course.scaling.checking import report

    ours, seed = recorded.all_rows(), [*recorded.of_the_seed(4), *recorded.of_the_seed(5)]
    print(*report(ours), "", *report(seed), sep="\n")
    if args.page:
        page.put(args.page, "recorded", page.of_recorded({**by_machine(ours), **by_machine(seed)}))
    if args.out:
        save(args.out, {"rows": [vars(row) for row in (*ours, *seed)]})
    return 0


def by_machine(rows: list[Any]) -> dict[str, list[Any]]:
    """Return rows by what stands behind their environment's name."""
    found: dict[str, list[Any]] = {}
    for row in rows:
        found.setdefault(row.environment.partition(", ")[2], []).append(row)
    return found
