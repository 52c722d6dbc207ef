"""Train a policy with any algorithm of the family, on as many ranks as mpiexec starts."""

import os
import sys
from functools import partial
from pathlib import Path

from minitrpo.commands.cli import command
from minitrpo.commands.command_line import Arguments, parse
from minitrpo.commands.prepare import prepare
from minitrpo.commands.seeds import one_by_one
from minitrpo.errors import AlgorithmFailed, BadInput, Stopped, place_of, told
from minitrpo.experience.modules import again
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.shared_window import one_machine
from minitrpo.parallel.timing import write_chrome_trace
from minitrpo.reports.plots import learning_curve
from minitrpo.reports.progress import Progress, short
from minitrpo.run_folder.folder import check_free, let_go, sha256
from minitrpo.run_folder.provenance import command as typed_command
from minitrpo.supervision import status
from minitrpo.supervision.heartbeat import Heartbeat
from minitrpo.supervision.launch import launch, raise_on_all
from minitrpo.supervision.signals import asked_to_stop, heed_terminations
from minitrpo.supervision.watchdog import Watchdog
from minitrpo.training.asynchronous import run_asynchronous
from minitrpo.training.context import RunContext
from minitrpo.training.synchronous import run_synchronous


def run(arguments: Arguments, start: Path, comm: Comm, watchdog: Watchdog) -> None:
    """Do what every rank does: prepare, train, and let the root finish. start: where relative names begin."""
    out = sys.stdout
    context = prepare(arguments, comm, start)
    settings = context.settings
    path = os.path.relpath(context.folder.path, start) if context.folder.path.is_relative_to(start) else ""
    path = path or str(context.folder.path)
    named = [*again(settings.env, "--env", start), *again(settings.algorithm, "--algorithm", start)]
    status.describe(
        environment=settings.env,
        algorithm=settings.algorithm,
        run=str(context.folder.path),
        replay=typed_command("replay", *named, path, here=start) if can_be_played_again(context) else "",
        several_machines=not one_machine(comm),
        resume=typed_command("train", "--resume", path, *named, ranks=comm.size, here=start),
    )
    if comm.rank == 0:
        print(f"{settings.env}: {comm.size} rank(s), seed {settings.seed}, run folder {path}", flush=True)
    heed_terminations()
    heartbeat = Heartbeat(comm, watchdog, arguments.stuck_after)
    play(context, arguments, comm)
    heartbeat.close()
    left_at = comm.broadcast_object(unfinished(context) if comm.rank == 0 and asked_to_stop() else 0)
    if left_at:
        raise Stopped(f"stopped by SIGTERM after update {left_at}, with a checkpoint")
    if comm.rank == 0:
        sys.stdout = out  # an environment may have replaced it, and nobody would see the hash
        finish(context)


def play(context: RunContext, arguments: Arguments, comm: Comm) -> None:
    """Run the loop to its end, and write what every rank did when if that was asked for."""
    shown = (context.choice.algorithm.chart or ())[:1]
    show = partial(Progress, arguments.progress, context.settings.total_steps, shown=shown)
    loop = run_asynchronous if context.choice.asynchronous else run_synchronous
    try:
        timeline = loop(context, comm, show, arguments.trace, arguments.oversubscribe)
    except BadInput as error:  # what was asked for has been looked at: somebody raised it at work
        raise AlgorithmFailed(f"{told(error)}, {place_of(error)}") from error
    spans = comm.gather_objects(timeline.spans)
    if comm.rank == 0 and arguments.trace:
        write_chrome_trace(context.folder.path / "trace.json", spans)


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
    picture = draw(context)
    last = rows[-1] if rows else {"env_steps": 0, "time_s": 0.0}
    print(f"{last['env_steps']} steps in {float(last['time_s']):.1f} s, {result}; {picture}")
    print(f"theta sha256: {sha256(theta)}", flush=True)


def draw(context: RunContext) -> str:
    """Draw the learning curve; return where it is, or why it could not be drawn."""
    try:
        algorithm = context.choice.algorithm
        chart = algorithm.columns[:1] if algorithm.chart is None else algorithm.chart
        second = (algorithm.second_chart, algorithm.second_label)
        return str(learning_curve(context.folder, (chart, algorithm.chart_label), second))
    except Exception as error:  # a picture less is no failed run
        return f"no picture could be drawn: {told(error)}"


def with_seeds(words: list[str], seeds: str, ranks: int, start: Path) -> str:
    """Return a command line with other --seeds."""
    place = next(i for i, word in enumerate(words) if word.startswith("--seeds"))
    others = [*words[:place], *words[place + 1 + ("=" not in words[place]) :]]
    return typed_command("train", *others, "--seeds", seeds, ranks=ranks, here=start)


@command("train")
def main(name: str, words: list[str]) -> int:
    """Read the command line and launch the run."""
    start = Path.cwd()  # what the user brings may change it
    arguments = parse(words, name)
    jobs = one_by_one(arguments)

    def work(comm: Comm, watchdog: Watchdog) -> None:
        raise_on_all(comm, lambda: check_free([job.out for job in jobs], start) if comm.rank == 0 else None)
        for number, job in enumerate(jobs):
            if number and comm.broadcast_object(comm.rank == 0 and asked_to_stop()):
                left = ",".join(str(each.given["seed"]) for each in jobs[number:])
                status.describe(resume=with_seeds(words, left, comm.size, start))
                raise Stopped(f"stopped by SIGTERM before seed {left.replace(',', ', ')}")
            with let_go():
                run(job, start, comm, watchdog)

    return launch(work, name, arguments.stuck_after)
