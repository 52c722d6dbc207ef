"""Train a policy with any algorithm of the family, on as many ranks as mpiexec starts."""

import os
import sys
from functools import partial
from pathlib import Path

from minitrpo.commands.cli import command
from minitrpo.commands.command_line import Job, one_by_one, parse
from minitrpo.commands.prepare import prepare
from minitrpo.errors import AlgorithmFailed, BadInput, Stopped, describe_error, place_of
from minitrpo.experience.modules import again
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.timing import write_chrome_trace
from minitrpo.reports.plots import learning_curve
from minitrpo.reports.progress import Progress
from minitrpo.run_folder.folder import release_locks, sha256
from minitrpo.run_folder.provenance import command as typed_command
from minitrpo.supervision import status
from minitrpo.supervision.heartbeat import Heartbeat
from minitrpo.supervision.launch import launch
from minitrpo.supervision.signals import asked_to_stop, heed_terminations
from minitrpo.supervision.watchdog import Watchdog
from minitrpo.training.context import RunContext


def run(job: Job, start: Path, comm: Comm, watchdog: Watchdog, outs: tuple[str | None, ...]) -> None:
    """Do what every rank does: prepare, train, and let the root finish. start, outs: see `prepare`."""
    out = sys.stdout
    context = prepare(job, comm, start, outs)
    settings = context.settings
    replayable = not context.choice.asynchronous or context.choice.own.transport == "events"  # its parameters are kept
    path = os.path.relpath(context.folder.path, start) if context.folder.path.is_relative_to(start) else ""
    path = path or str(context.folder.path)
    named = [*again(settings.env, "--env", start), *again(settings.algorithm, "--algorithm", start)]
    status.describe(
        **status.job(),
        run=str(context.folder.path),
        replay=typed_command("replay", *named, path, here=start) if replayable else "",
        resume=typed_command("train", "--resume", path, *named, ranks=comm.size, here=start),
    )
    if comm.rank == 0:
        print(f"{settings.env}: {comm.size} rank(s), seed {settings.seed}, run folder {path}", flush=True)
    heed_terminations()
    heartbeat = Heartbeat(comm, watchdog, job.stuck_after)
    play(context, job, comm)
    heartbeat.close()
    left_at = comm.broadcast_object(unfinished(context) if comm.rank == 0 and asked_to_stop() else 0)
    if left_at:
        raise Stopped(f"stopped by SIGTERM after update {left_at}, with a checkpoint")
    if comm.rank == 0:
        sys.stdout = out  # an environment may have replaced it, and nobody would see the hash
        finish(context)


def play(context: RunContext, job: Job, comm: Comm) -> None:
    """Run the loop to its end, and write what every rank did when if that was asked for."""
    shown = (context.choice.algorithm.chart or ())[:1]
    show = partial(Progress, job.progress, context.settings.total_steps, shown=shown)
    try:
        timeline = context.choice.loop.run(context, comm, show, job.trace, job.oversubscribe)
    except BadInput as error:  # what was asked for has been looked at: somebody raised it at work
        raise AlgorithmFailed(f"{describe_error(error)}, {place_of(error)}") from error
    spans = comm.gather_objects(timeline.spans)
    if comm.rank == 0 and job.trace:
        write_chrome_trace(context.folder.path / "trace.json", spans)


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
    result = f"last mean return {returns[-1]:.5g}" if returns else "no episode ended"
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
        return f"no picture could be drawn: {describe_error(error)}"


@command("train")
def main(name: str, words: list[str]) -> int:
    """Read the command line and launch the run, or that of each of --seeds."""
    start = Path.cwd()  # what the user brings may change it
    asked = parse(words, name)
    jobs = one_by_one(asked)

    def work(comm: Comm, watchdog: Watchdog) -> None:
        for number, job in enumerate(jobs):
            if number and comm.broadcast_object(comm.rank == 0 and asked_to_stop()):
                left = ",".join(str(each.choice.common.seed) for each in jobs[number:] if each.choice)
                resume = typed_command("train", *words, "--seeds", left, ranks=comm.size, here=start)
                status.describe(resume=resume)
                raise Stopped(f"stopped by SIGTERM before seed {left.replace(',', ', ')}")
            with release_locks():
                run(job, start, comm, watchdog, () if number else tuple(each.out for each in jobs))

    return launch(work, name, asked.stuck_after)
