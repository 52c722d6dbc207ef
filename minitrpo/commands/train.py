"""Train a policy with any algorithm of the family, on as many ranks as mpiexec starts."""

import os
from pathlib import Path

from minitrpo.errors import Stopped, told
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.pulse import Pulse
from minitrpo.parallel.shared_window import one_machine
from minitrpo.parallel.timing import write_chrome_trace
from minitrpo.parallel.watchdog import Watchdog
from minitrpo.runs.asynchronous import run_asynchronous
from minitrpo.runs.barrier import run_barrier
from minitrpo.runs.command_line import Arguments, parse
from minitrpo.runs.context import RunContext
from minitrpo.runs.entrance import command
from minitrpo.runs.folder import sha256
from minitrpo.runs.launch import launch
from minitrpo.runs.plots import learning_curve
from minitrpo.runs.progress import short
from minitrpo.runs.provenance import command as typed_command
from minitrpo.runs.start import prepare
from minitrpo.runs.stopping import asked_to_stop, heed_terminations


def run(arguments: Arguments, comm: Comm, watchdog: Watchdog, start: Path) -> None:
    """Do what every rank does: prepare, train, and let the root finish. start: where relative names begin."""
    context = prepare(arguments, comm, watchdog, start)
    settings = context.settings
    path = os.path.relpath(context.folder.path, start) if context.folder.path.is_relative_to(start) else ""
    path = path or str(context.folder.path)
    watchdog.describe(
        env=settings.env,
        algorithm=settings.algorithm,
        seed=settings.seed,
        first_states=settings.first_states,
        run=str(context.folder.path),
        replay=typed_command("replay", path, here=start) if can_be_played_again(context) else "",
        several_machines=not one_machine(comm),
        resume=typed_command("train", "--resume", path, ranks=comm.size, here=start),
    )
    if comm.rank == 0:
        print(f"{settings.env}: {comm.size} rank(s), seed {settings.seed}, run folder {path}", flush=True)
    heed_terminations()
    pulse = Pulse(comm, watchdog, arguments.stuck_after)
    loop = run_asynchronous if context.choice.asynchronous else run_barrier
    timeline = loop(context, comm, arguments.progress, watchdog.status, arguments.trace, arguments.oversubscribe)
    pulse.close()
    spans = comm.gather_objects(timeline.spans)
    if comm.rank == 0 and arguments.trace:
        write_chrome_trace(context.folder.path / "trace.json", spans)
    left_at = comm.broadcast_object(unfinished(context) if comm.rank == 0 and asked_to_stop() else 0)
    if left_at:
        raise Stopped(f"stopped by SIGTERM after update {left_at}, with a checkpoint")
    if comm.rank == 0:
        finish(context)


def can_be_played_again(context: RunContext) -> bool:
    """Return whether somebody keeps the parameters with which an episode was played."""
    return not context.choice.asynchronous or bool(context.choice.own.transport == "events")


def unfinished(context: RunContext) -> int:
    """Return the update at which a run ended before its last step, 0 if it took all of them."""
    rows = context.folder.rows()
    whole = not rows or int(rows[-1]["env_steps"]) >= context.settings.total_steps
    return 0 if whole else int(rows[-1]["iteration"])


def finish(context: RunContext) -> None:
    """Draw the learning curve and print where everything is; the hash of theta comes last."""
    folder = context.folder
    theta = folder.load_checkpoint()["theta"]
    rows = folder.rows()
    returns = [float(row["mean_return"]) for row in rows if int(row["episodes"])]  # a segment may end no episode
    result = f"last mean return {short(returns[-1])}" if returns else "no episode ended"
    try:
        algorithm = context.choice.algorithm
        chart = getattr(algorithm, "chart", algorithm.columns[:1])
        picture = str(learning_curve(folder, chart, getattr(algorithm, "chart_label", "")))
    except Exception as error:  # a picture less is no failed run
        picture = f"no picture could be drawn: {told(error)}"
    last = rows[-1] if rows else {"env_steps": 0, "time_s": 0.0}
    print(f"{last['env_steps']} steps in {float(last['time_s']):.1f} s, {result}; {picture}")
    print(f"theta sha256: {sha256(theta)}", flush=True)


@command("train")
def main(name: str, words: list[str]) -> int:
    """Read the command line and launch the run."""
    start = Path.cwd()  # what the user brings may change it
    arguments = parse(words, name)
    return launch(lambda comm, watchdog: run(arguments, comm, watchdog, start), name, arguments.stuck_after)
