"""Train a policy with any algorithm of the family, on as many ranks as mpiexec starts."""

import os
import sys
from pathlib import Path

from minitrpo.errors import BadInput, told
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.timing import write_chrome_trace
from minitrpo.parallel.watchdog import Watchdog
from minitrpo.runs.asynchronous import run_asynchronous
from minitrpo.runs.barrier import run_barrier
from minitrpo.runs.command_line import Arguments, parse, refuse
from minitrpo.runs.context import RunContext
from minitrpo.runs.folder import sha256
from minitrpo.runs.launch import launch
from minitrpo.runs.plots import learning_curve
from minitrpo.runs.provenance import command, program
from minitrpo.runs.start import prepare

START = Path.cwd()  # an environment may change the working directory


def run(arguments: Arguments, comm: Comm, watchdog: Watchdog) -> None:
    """Do what every rank does: prepare, train, and let the root finish."""
    context = prepare(arguments, comm, watchdog)
    settings = context.settings
    path = os.path.relpath(context.folder.path, START) if context.folder.path.is_relative_to(START) else ""
    path = path or str(context.folder.path)
    watchdog.describe(
        env=settings.env,
        seed=settings.seed,
        run=str(context.folder.path),
        replay=command("replay", path),
        resume=command("train", "--resume", path, ranks=comm.size),
    )
    if comm.rank == 0:
        print(f"{settings.env}: {comm.size} rank(s), seed {settings.seed}, run folder {path}", flush=True)
    loop = run_asynchronous if context.choice.asynchronous else run_barrier
    timeline = loop(context, comm, arguments.progress, watchdog.status, arguments.trace, arguments.oversubscribe)
    spans = comm.gather_objects(timeline.spans)
    if comm.rank == 0:
        if arguments.trace:
            write_chrome_trace(context.folder.path / "trace.json", spans)
        finish(context)


def finish(context: RunContext) -> None:
    """Draw the learning curve and print where everything is; the hash of theta comes last."""
    folder = context.folder
    theta = folder.load_checkpoint()["theta"]
    rows = folder.rows()
    returns = [float(row["mean_return"]) for row in rows if int(row["episodes"])]  # a segment may end no episode
    result = f"last mean return {returns[-1]:.2f}" if returns else "no episode ended"
    try:
        algorithm = context.choice.algorithm
        chart = getattr(algorithm, "chart", algorithm.columns[:1])
        picture = str(learning_curve(folder, chart, getattr(algorithm, "chart_label", "")))
    except Exception as error:  # a picture less is no failed run
        picture = f"no picture could be drawn: {told(error)}"
    last = rows[-1] if rows else {"env_steps": 0, "time_s": 0.0}
    print(f"{last['env_steps']} steps in {float(last['time_s']):.1f} s, {result}; {picture}")
    print(f"theta sha256: {sha256(theta)}", flush=True)


def main(words: list[str] | None = None) -> int:
    """Read the command line and launch the run."""
    name = program("train")
    try:
        arguments = parse(sys.argv[1:] if words is None else words, name)
    except BadInput as error:
        return refuse(name, error)
    return launch(lambda comm, watchdog: run(arguments, comm, watchdog), name, arguments.stuck_after)
