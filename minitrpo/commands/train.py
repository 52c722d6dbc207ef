"""Train a policy with any algorithm of the family, on as many ranks as mpiexec starts.

What every rank does is in `run`: `prepare` checks everything and makes the run folder, `play` runs the loop, and the
root says what came of it.
"""

import os
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from minitrpo.algorithms.algorithm import Arrays
from minitrpo.algorithms.options import flag
from minitrpo.commands.command_line import Job, make_parser, one_by_one, parse, recorded
from minitrpo.contract import check_beginning
from minitrpo.core import load_core
from minitrpo.errors import AlgorithmFailed, BadInput, Stopped, describe_error, place_of
from minitrpo.experience.environments import EnvironmentSpec, describe
from minitrpo.experience.modules import again
from minitrpo.experience.rollouts import is_batched
from minitrpo.experience.vector_env import RESTLESS, closed_environments, repeats
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.timing import write_chrome_trace
from minitrpo.reports.plots import learning_curve
from minitrpo.reports.progress import Progress, summary_writer
from minitrpo.run_folder.checkpoint import newest
from minitrpo.run_folder.folder import RunFolder, check_free, release_locks, sha256
from minitrpo.run_folder.provenance import command as typed_command
from minitrpo.run_folder.provenance import provenance
from minitrpo.supervision import status
from minitrpo.supervision.exit_codes import command, on_all, on_root, ranks
from minitrpo.supervision.heartbeat import Heartbeat
from minitrpo.supervision.signals import asked_to_stop, heed_terminations
from minitrpo.supervision.watchdog import guarded
from minitrpo.training.context import RunContext, check_arrays, check_settings, counted, make_algorithm, working_size

# What only the loop with a barrier heeds
SYNCHRONOUS = ["requests", "pool", "envs_per_rank", "num_envs", "learner", "record_every", "first_states"]
SYNCHRONOUS += ["renew_first_states"]


@command("train")
def main(name: str, words: list[str]) -> int:
    """Read the command line and launch the run, or that of each of --seeds."""
    start = Path.cwd()  # what the user brings may change it
    first = make_parser(name).parse_known_args(words)[0]
    jobs = [] if first.resume else one_by_one(parse(words, name))
    with guarded(first.stuck_after), ranks() as comm:
        if first.resume:
            jobs = [parse(words, name, lambda path: on_root(comm, lambda: recorded(path)))]
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
    """Do what every rank does: prepare, train, and let the root finish."""
    start = Path.cwd()
    context = prepare(job, comm)
    settings = context.settings
    replayable = not context.choice.asynchronous or context.choice.own.transport == "events"  # its parameters are kept
    inside = context.folder.path.is_relative_to(start) and context.folder.path != start
    path = str(context.folder.path.relative_to(start) if inside else context.folder.path)
    named = [*again(settings.env, "--env", start), *again(settings.algorithm, "--algorithm", start)]
    if core := getattr(context.choice.own, "core", ""):
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
    play(context, job, comm)
    heartbeat.close()
    left_at = comm.broadcast(unfinished(context) if comm.rank == 0 and asked_to_stop() else 0)
    if left_at:
        raise Stopped(f"stopped by SIGTERM after update {left_at}, with a checkpoint")
    if comm.rank == 0:
        finish(context)


# --- before the first step


class Beginning(NamedTuple):
    """What the root sends to all ranks before a run begins."""

    asked: dict[str, Any]  # settings of the job on the root
    folder: RunFolder | None  # of the run to resume
    checkpoint: Arrays  # {} for a new run
    total_before: int  # --total-steps of the run to resume
    notes: list[str]


def prepare(job: Job, comm: Comm) -> RunContext:
    """Check everything a run needs and return it on every rank; BadInput on all of them before anything is written.

    It takes three messages: the root sends the settings, every rank answers whether it can play them, and the root,
    which alone writes, sends the run folder.
    """
    here, one = Path.cwd(), comm.one_machine()
    working = working_size(job.choice.common, comm, job.oversubscribe)
    status.describe(environment=job.choice.common.env, algorithm=job.choice.common.algorithm, several_machines=not one)
    begun = on_root(comm, lambda: begin(job))

    def settle(found: tuple[EnvironmentSpec, list[str]]) -> tuple[RunFolder, list[str]]:
        spec, notes = found
        notes = [*begun.notes, *without_effect(job, spec), *notes]
        copies = min(2, job.choice.copies(comm.size) + bool(job.choice.common.eval_every))
        well = is_batched(spec, job.choice.common.physics) or repeats(spec, copies=copies)
        notes += [] if well else [RESTLESS.format(spec.id)]
        made_with = provenance(comm.size) | {"repeats": well, "one_machine": one}
        if core := getattr(job.choice.own, "core", ""):
            made_with["core"] = load_core(here / core).record()
            notes += changed_core(begun.folder, made_with["core"])
        return written_folder(job, begun.folder, made_with, here), notes

    (spec, _), (folder, notes) = on_all(comm, lambda: suited(job, begun, comm, working, one), settle)
    return RunContext(job.choice, spec, folder, begun.checkpoint, tuple(notes))


def told(job: Job) -> dict[str, Any]:
    """Return all settings of a rank's job, without classes, which cannot be sent."""
    return vars(job) | {"choice": job.choice.flat()}


def begin(job: Job) -> Beginning:
    """Return what the root sends about a new run, or about the run to resume, whose folder it locks."""
    if job.log:
        summary_writer()
    if job.resume is None:
        return Beginning(told(job), None, {}, 0, [])
    folder, choice = RunFolder.open(job.resume), job.choice
    folder.lock()
    checkpoint, note = newest(folder.path)
    if checkpoint:
        check_settings(choice, checkpoint, folder)
    elif folder.rows():
        raise BadInput(f"{folder.path} has updates in metrics.csv but no checkpoint: it cannot be resumed")
    (iteration, taken), total = counted(checkpoint), choice.common.total_steps
    beyond = folder.check_log(iteration, taken, choice.columns, choice.common.record_every)
    before = folder.read_config()["settings"]["total_steps"]
    if total < min(before, taken):
        raise BadInput(f"--total-steps {total} is less than the {taken} steps that the run has taken")
    notes = [note] if note else []
    if not checkpoint:
        notes = ["note: the run has no checkpoint yet; it begins again"]
    elif beyond:
        notes += [
            f"note: metrics.csv has {beyond} row(s) after update {iteration}, the last in the checkpoint: dropped"
        ]
    if checkpoint and taken >= total:
        notes += [f"note: the run has taken its {taken} steps; a larger --total-steps extends it"]
    return Beginning(told(job), folder, checkpoint, before, notes)


def suited(
    job: Job, begun: Beginning, comm: Comm, working: int, one_machine: bool
) -> tuple[EnvironmentSpec, list[str]]:
    """Return what the environment offers, and what the loop has to say; BadInput if this rank cannot do what is asked.

    The algorithm that is made for this is tried, and not the one that will run.
    """
    if told(job) != begun.asked:
        raise BadInput(f"rank {comm.rank} has other options than rank 0: start all ranks with the same options")
    choice, settings = job.choice, job.choice.common
    spec = describe(settings.env)
    name = f"--algorithm {settings.algorithm}"
    try:
        with status.at("begin"):
            algorithm, given = make_algorithm(choice, spec)
        plan = check_beginning(algorithm)
    except (BadInput, KeyboardInterrupt):
        raise
    except AlgorithmFailed as error:
        raise BadInput(f"{name}: {error}") from error
    except BaseException as error:
        raise BadInput(f"{name} cannot begin: {describe_error(error)} ({place_of(error)})") from error
    if plan is not None and plan.episodes is not None and settings.segments:
        raise BadInput(f"--requests segments: {settings.algorithm} needs whole episodes; use --requests episodes")
    if job.resume and given.scheduled and settings.total_steps != begun.total_before:
        raise BadInput(
            f"--total-steps {settings.total_steps}: {settings.algorithm} has a schedule that ends with the run, after "
            f"{begun.total_before} steps, so it cannot be extended: leave it out, or start a new run (runs with "
            "--anneal none or --anneal-steps N can be extended)"
        )
    if begun.checkpoint:
        check_arrays(begun.checkpoint, algorithm, spec, choice)
    return spec, choice.loop.check(choice, comm.size, working, one_machine)


def without_effect(job: Job, spec: EnvironmentSpec) -> list[str]:
    """Return a note for every given setting that has no effect in this run."""
    s, own = job.choice.common, job.choice.own
    idle = dict.fromkeys(("pool", "envs_per_rank") if s.segments else ("num_envs",), f"--requests {s.requests}")
    idle |= {} if s.first_states else {"renew_first_states": "--first-states 0"}
    if job.choice.asynchronous:
        idle |= dict.fromkeys(SYNCHRONOUS, f"--algorithm {s.algorithm}, which is asynchronous")
        if own.transport != "events":
            idle |= dict.fromkeys(("workers", "delay_jitter"), f"--transport {own.transport}")
    idle |= {} if s.eval_every else {"eval_episodes": "--eval-every 0"}
    idle |= {} if s.filter == "running" else {"filter_clip": f"--filter {s.filter}"}
    idle |= {"initial_log_std": f"{spec.id}, whose actions are discrete"} if spec.discrete else {}
    idle |= own.idle() if hasattr(own, "idle") else {}
    return [f"note: {flag(name)} has no effect with {reason}" for name, reason in idle.items() if name in job.given]


def changed_core(folder: RunFolder | None, core: dict[str, Any]) -> list[str]:
    """Return a note if a run goes on with other functions of --core than it began with."""
    if folder is None or folder.read_config()["provenance"].get("core") == core:
        return []
    return ["note: core.py has changed since the run began, so it does not go on to the same bits"]


def written_folder(job: Job, folder: RunFolder | None, made_with: dict[str, Any], here: Path) -> RunFolder:
    """Return the run folder, with its settings in it; made in the folder `here` if the run is new."""
    choice = job.choice
    if folder is None:
        folder = RunFolder.create(job.out, choice.common.env, choice.common.seed, choice.columns, here)
        folder.write_config(choice.flat(), made_with)
        return folder
    config = folder.read_config()
    folder.write_config(choice.flat(), config["provenance"], [*config["resumed"], made_with])
    return folder


# --- the loop, and after it


def play(context: RunContext, job: Job, comm: Comm, show: Any = None) -> None:
    """Run the loop to its end, and write what every rank did when if that was asked for; show: else the job's own."""
    shown = (context.choice.algorithm.chart or ())[:1]
    board = context.folder.path / job.log if job.log and comm.rank == 0 else None
    show = show or partial(Progress, job.progress, context.settings.total_steps, shown=shown, board=board)
    try:
        with closed_environments():
            timeline = context.choice.loop.run(context, comm, show, job.trace, job.oversubscribe)
    except (BadInput, SystemExit) as error:  # what was asked for has been looked at: an algorithm raised it at work
        raise AlgorithmFailed(f"{describe_error(error)}, {place_of(error)}") from error
    spans = comm.gather(timeline.spans)
    if comm.rank == 0 and job.trace:
        write_chrome_trace(context.folder.path / "trace.json", spans)


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
