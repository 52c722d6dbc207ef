"""Measure this machine, predict larger ones from it, and check the prediction where it can be checked."""

import json
import os
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minitrpo.algorithms.options import whole
from minitrpo.commands.command_line import RootParser
from minitrpo.course.machine import BUSY, Others, busy_share
from minitrpo.course.scaling.formulas import INFINITE, Network, rounds
from minitrpo.course.scaling.model import RECORDED, Design, Inputs, Machine, iteration, load
from minitrpo.course.scaling.predict import Job, of_breaks, of_design, of_tables, table, weak
from minitrpo.course.speedup.experiment import by_turns, timed_run
from minitrpo.course.speedup.statistics import interval
from minitrpo.errors import BadInput
from minitrpo.experience.environments import describe
from minitrpo.experience.trust import trust
from minitrpo.parallel.this_process import RANK_VARIABLES, cores
from minitrpo.policies import Array
from minitrpo.run_folder.atomic_files import write_atomically
from minitrpo.supervision.mpiexec import flags
from minitrpo.supervision.program import command

STEPS, UPDATES, FIRST = 4096, 9, 4  # per update; in a run; of these, not counted
MANY = 8  # ranks, on fewer cores, too
AGAIN = 5  # simulations, whose episodes are drawn anew
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
    inputs = load(args.inputs)
    found, share = undisturbed(args.anyway, partial(compared, inputs, args.rounds, tell))
    print(f"{found}\n\nothers used {100 * share:.0f} % of the cores")


# --- predicted and measured seconds of an iteration, on as many ranks as this machine can start


class Run(NamedTuple):
    """What is predicted and measured: a run of whole episodes, all of whose ranks work."""

    environment: str
    ranks: int
    learner: str = "root"
    pool: str = "dynamic"

    @property
    def words(self) -> list[str]:
        """Return the arguments of train."""
        settings = {"env": self.environment, "learner": self.learner, "pool": self.pool, "preset": "episodes"}
        return [*flags(settings | {"steps_per_update": STEPS, "total_steps": STEPS * UPDATES}), "--oversubscribe"]


def runs(environments: list[str]) -> list[Run]:
    """Return what is compared: one rank, all cores and more of them, both learners and both pools."""
    several = sorted({2, cores(), cores() + 1, MANY})
    found = [Run(name, ranks) for name in environments for ranks in (1, *several)]
    found += [Run(name, ranks, "sharded") for name in environments for ranks in {2, cores(), MANY} if ranks > 1]
    return found + [Run(name, several[0], "root", "static") for name in environments]


def predicted(inputs: Inputs, run: Run, network: Network | None = None) -> float:
    """Return the simulated seconds of an iteration here; network: another, whose latency short messages have."""
    net, exchange = inputs.messages.network, inputs.messages.exchange
    if network is not None:
        net, exchange = network, exchange + 4 * rounds(run.ranks) * network.latency
    machine = Machine(net, cores(), exchange=exchange)
    task, design = inputs.task(run.environment), Design(run.learner, run.pool)
    drawn = [iteration(inputs, task, machine, design, run.ranks, STEPS, seed).seconds for seed in range(AGAIN)]
    return float(np.median(drawn))


def of_updates(columns: dict[str, Array]) -> Array:
    """Return the seconds of the counted iterations of a run; episodes never make STEPS exactly."""
    return columns["iteration_s"][FIRST:] * STEPS / columns["steps"][FIRST:]


def compared(inputs: Inputs, again: int, tell: Callable[[str], None]) -> str:
    """Return predicted and measured seconds as text. Raises JobFailed."""
    all_runs = runs(list(inputs.tasks))
    seconds: dict[Run, list[Array]] = {run: [] for run in all_runs}
    for number, run in by_turns(again, all_runs):
        seconds[run].append(of_updates(timed_run(run.ranks, run.words)))
        tell(f"round {number}, {run.environment}, {run.ranks} rank(s), {run.learner}: {seconds[run][-1].mean():.3g} s")
    return report(inputs, {run: np.concatenate(found) for run, found in seconds.items()})


def report(inputs: Inputs, seconds: dict[Run, Array]) -> str:
    """Return the comparison as a table in Markdown, and the median errors."""
    lines, errors = [], {}
    for run, found in seconds.items():
        simulated, middle, (low, high) = predicted(inputs, run), float(np.median(found)), interval(found)
        errors[run] = 100 * (simulated / middle - 1)
        what = (run.environment, f"{run.ranks}{'*' * (run.ranks > cores())}", run.learner, run.pool)
        lines.append((*what, f"{simulated:.3g}", f"{middle:.3g} ({low:.3g} to {high:.3g})", f"{errors[run]:+.0f} %"))
    head = ("", "ranks", "learner", "pool", "predicted, s", "measured, s (95 %)", "error")
    said = []
    for title, most in (("all", INFINITE), ("a core for every rank", cores())):
        some = [abs(error) for run, error in errors.items() if run.ranks <= most]
        said.append(f"median error, {title}, {len(some)} configurations: {np.median(some):.0f} %")
    return f"{table(head, lines, {0, 2, 3})}\n\n*{'; '.join(said)}; inputs {inputs.origin}. \\* more ranks than cores.*"
