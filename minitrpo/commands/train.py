"""Train a policy with any algorithm of the family, on as many ranks as mpiexec starts.

What every rank does is in `run`: `begin` checks everything and makes the run folder, `play` runs the loop, and the root
says what came of it.
"""

import os
from functools import partial
from pathlib import Path

from minitrpo.commands.command_line import job_of, words_of_every_run
from minitrpo.errors import Stopped, describe_error
from minitrpo.experience.trust import again
from minitrpo.parallel.comm import Comm, on_root
from minitrpo.reports.plots import learning_curve
from minitrpo.reports.progress import Progress, summary_writer
from minitrpo.run_folder.folder import check_free, release_locks, sha256
from minitrpo.run_folder.provenance import command as typed_command
from minitrpo.supervision.heartbeat import Heartbeat
from minitrpo.supervision.program import asked_to_stop, command, heed_terminations, ranks
from minitrpo.supervision.watchdog import guarded, status
from minitrpo.training.job import Job, one_by_one, recorded
from minitrpo.training.run_context import RunContext
from minitrpo.training.run_log import Show
from minitrpo.training.start import begin, run_loop


@command("train")
def main(name: str, words: list[str]) -> int:
    """Read the command line and launch the run, or that of each of --seeds."""
    start = Path.cwd()  # what the user brings may change it
    typed, rest = words_of_every_run(words, name)
    jobs = [] if typed.resume else one_by_one(job_of(typed, rest, name))
    with guarded(typed.stuck_after), ranks() as comm:
        if typed.resume:  # only the root's machine may have the folder
            jobs = [job_of(typed, rest, name, lambda path: on_root(comm, lambda: recorded(path)))]
        later = [Path(job.out) for job in jobs[1:] if job.out is not None]
        if later:
            on_root(comm, lambda: check_free(*later))
        for number, job in enumerate(jobs):
            if number and comm.broadcast(comm.rank == 0 and asked_to_stop()):
                left = ",".join(str(each.choice.common.seed) for each in jobs[number:])
                resume = typed_command("train", *words, "--seeds", left, ranks=comm.size, here=start)
                status.describe(resume=resume)
                raise Stopped(f"stopped by SIGTERM before seed {left.replace(',', ', ')}")
            os.chdir(start)
            with release_locks():
                run(job, comm)
    return 0


def run(job: Job, comm: Comm) -> None:
    """Do what every rank does: begin, run the loop, and let the root finish."""
    start = Path.cwd()
    check_display(job, comm)
    context = begin(job, comm)
    settings = context.settings
    replayable = (
        not context.choice.asynchronous or context.choice.algorithm_settings.transport == "events"
    )  # its parameters are kept
    inside = context.folder.path.is_relative_to(start) and context.folder.path != start
    path = str(context.folder.path.relative_to(start) if inside else context.folder.path)
    named = [*again(settings.env, "--env", start), *again(settings.algorithm, "--algorithm", start)]
    if core := getattr(context.choice.algorithm_settings, "core", ""):
        named += ["--core", core]
    status.describe(
        **status.job(),
        run=str(context.folder.path),
        replay=typed_command("replay", *named, path, here=start) if replayable else "",
        resume=typed_command("train", "--resume", path, *named, ranks=comm.size, here=start),
    )
    if comm.rank == 0:
        print(f"{settings.env}: {comm.size} rank(s), seed {settings.seed}, run folder {path}", flush=True)
    heed_terminations()
    heartbeat = Heartbeat(comm, job.stuck_after)
    run_loop(context, job, comm, display(context, job, comm))
    heartbeat.close()
    left_at = comm.broadcast(unfinished(context) if comm.rank == 0 and asked_to_stop() else 0)
    if left_at:
        raise Stopped(f"stopped by SIGTERM after update {left_at}, with a checkpoint")
    if comm.rank == 0:
        finish(context)


def check_display(job: Job, comm: Comm) -> None:
    """Raise BadInput on all ranks if the root cannot write what the job asks to see."""
    if job.log:
        on_root(comm, lambda: bool(summary_writer()))


def display(context: RunContext, job: Job, comm: Comm) -> Show:
    """Return what makes the display that the job asks for: lines or a bar, and TensorBoard's file."""
    shown = (context.choice.algorithm.chart or ())[:1]
    board = context.folder.path / job.log if job.log and comm.rank == 0 else None
    return partial(Progress, job.progress, context.settings.total_steps, shown=shown, board=board)


def unfinished(context: RunContext) -> int:
    """Return the update at which a run ended before its last step, 0 if it took all of them."""
    rows = context.folder.rows()
    whole = not rows or int(rows[-1]["env_steps"]) >= context.settings.total_steps
    return 0 if whole else int(rows[-1]["iteration"])


def finish(context: RunContext) -> None:
    """Draw the learning curve and print where everything is; the hash of theta comes last."""
    theta, rows = context.folder.load_checkpoint()["theta"], context.folder.rows()
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
