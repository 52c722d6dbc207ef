"""How a run begins: every way to train, from a command, from Python or from a test, begins here, on all ranks alike.

`begin` checks everything, makes the run folder or opens the one to resume, and returns a `RunContext`; `run_loop` then
runs the loop of the algorithm.
"""

from pathlib import Path
from typing import Any, NamedTuple

from minitrpo.algorithms.algorithm import Arrays
from minitrpo.algorithms.options import flag
from minitrpo.algorithms.user_classes import check_beginning
from minitrpo.core import load_core
from minitrpo.errors import AlgorithmFailed, BadInput, describe_error, place_of
from minitrpo.experience.environments import EnvironmentSpec, describe
from minitrpo.experience.repeatability import RESTLESS, repeats
from minitrpo.experience.rollouts import is_batched
from minitrpo.experience.vector_env import closed_environments
from minitrpo.parallel.comm import Comm, on_all, on_root
from minitrpo.parallel.timing import write_chrome_trace
from minitrpo.run_folder.folder import RunFolder, newest
from minitrpo.run_folder.provenance import provenance
from minitrpo.supervision.watchdog import status
from minitrpo.training import synchronous
from minitrpo.training.asynchronous import loop as asynchronous
from minitrpo.training.job import Job
from minitrpo.training.run_context import (
    RunContext,
    check_arrays,
    check_settings,
    counted,
    make_algorithm,
    working_ranks,
)
from minitrpo.training.run_log import Show

LOOPS: dict[str, Any] = {"synchronous": synchronous, "asynchronous": asynchronous}


class Resumed(NamedTuple):
    """What all ranks receive about the run to resume; for a new run it is None, {}, 0 and ()."""

    folder: RunFolder | None
    checkpoint: Arrays
    total_before: int  # --total-steps of the run before
    notes: tuple[str, ...]


def begin(job: Job, comm: Comm) -> RunContext:
    """Check everything that a run needs, and make its folder.

    Only the root reads and writes files of the run. All ranks raise BadInput if one of them cannot do what is asked,
    before anything is written.

    Args:
        job: the run that is asked for; all ranks must have the same.
        comm: all ranks.

    Returns:
        Where the run begins, the same on every rank.

    Raises:
        BadInput: the job makes no sense, or its environment, algorithm or folder cannot be used.

    """
    here, one_machine, settings = Path.cwd(), comm.one_machine(), job.choice.common
    working, count = working_ranks(settings, comm, job.oversubscribe)
    status.describe(environment=settings.env, algorithm=settings.algorithm, several_machines=not one_machine)
    # 1. the root opens the run to resume, and sends what it was asked for
    asked, resumed = on_root(comm, lambda: (sendable(job), open_resumed(job)))
    # 2. every rank makes the environment and the algorithm, and says whether it can play
    spec = on_all(comm, lambda: rehearse(job, asked, resumed, comm.rank))
    loop = LOOPS[job.choice.algorithm.loop]
    notes = on_all(comm, lambda: loop.check(job.choice, comm.size, count, one_machine))
    # 3. the root makes the folder
    folder, more = on_root(comm, lambda: write_folder(job, resumed, spec, provenance(comm.size), one_machine, here))
    return RunContext(job.choice, spec, folder, resumed.checkpoint, (*resumed.notes, *more, *notes), working)


def run_loop(context: RunContext, job: Job, comm: Comm, show: Show) -> None:
    """Run the loop to its end on every rank, and write what every rank did when if that was asked for.

    Args:
        context: where the run begins.
        job: the run that is asked for.
        comm: all ranks.
        show: makes the root's display.

    """
    try:
        with closed_environments():
            loop = LOOPS[context.choice.algorithm.loop]
            timeline = loop.run(context, comm, show, job.trace)
    except (BadInput, SystemExit) as error:  # the job was checked before: an algorithm raised this while it trained
        raise AlgorithmFailed(f"{describe_error(error)}, {place_of(error)}") from error
    spans = comm.gather(timeline.spans)
    if comm.rank == 0 and job.trace:
        write_chrome_trace(context.folder.path / "trace.json", spans)


# --- the parts of `begin`


def sendable(job: Job) -> dict[str, Any]:
    """Return all that a job asks for, without classes, which cannot be sent."""
    return vars(job) | {"choice": job.choice.flat()}


def open_resumed(job: Job) -> Resumed:
    """Return the run to resume, whose folder is locked from here on; BadInput if it cannot go on."""
    if job.resume is None:
        return Resumed(None, {}, 0, ())
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
    return Resumed(folder, checkpoint, before, tuple(notes))


def rehearse(job: Job, asked: dict[str, Any], resumed: Resumed, rank: int) -> EnvironmentSpec:
    """Return what the environment offers; BadInput if this rank cannot do what the root was asked for.

    The algorithm that is made here only tries its methods; the run makes a new one.
    """
    if sendable(job) != asked:
        raise BadInput(f"rank {rank} has other options than rank 0: start all ranks with the same options")
    choice, settings = job.choice, job.choice.common
    spec = describe(settings.env)
    name = f"--algorithm {settings.algorithm}"
    try:
        with status.at("begin"):
            algorithm, algorithm_context = make_algorithm(choice, spec)
        plan = check_beginning(algorithm)
    except (BadInput, KeyboardInterrupt):
        raise
    except AlgorithmFailed as error:
        raise BadInput(f"{name}: {error}") from error
    except BaseException as error:
        raise BadInput(f"{name} cannot begin: {describe_error(error)} ({place_of(error)})") from error
    if plan is not None and plan.episodes is not None and settings.segments:
        raise BadInput(f"--requests segments: {settings.algorithm} needs whole episodes; use --requests episodes")
    if job.resume and algorithm_context.scheduled and settings.total_steps != resumed.total_before:
        raise BadInput(
            f"--total-steps {settings.total_steps}: {settings.algorithm} has a schedule that ends with the run, after "
            f"{resumed.total_before} steps, so it cannot be extended: leave it out, or start a new run (runs with "
            "--anneal none or --anneal-steps N can be extended)"
        )
    if resumed.checkpoint:
        check_arrays(resumed.checkpoint, algorithm, spec, choice)
    return spec


def write_folder(
    job: Job, resumed: Resumed, spec: EnvironmentSpec, made_with: dict[str, Any], one_machine: bool, here: Path
) -> tuple[RunFolder, list[str]]:
    """Return the run folder, with its settings in it, and what is to be said before the first update.

    Args:
        job: the run that is asked for.
        resumed: the run to resume, if there is one.
        spec: what the environment offers.
        made_with: what the run is made with: versions, machine, command.
        one_machine: whether all ranks are on one machine.
        here: the folder in which a new run folder is made.

    """
    choice, settings, folder = job.choice, job.choice.common, resumed.folder
    reasons = choice.without_effect(actions=spec.kind)
    notes = [f"note: {flag(name)} has no effect {why}" for name, why in reasons.items() if name in job.named]
    repeatable = is_batched(spec, settings.physics)
    if not repeatable:
        copies = choice.copies(made_with["ranks"]) + bool(settings.eval_every)
        repeatable = repeats(spec, copies=min(2, copies))
    if not repeatable:
        notes.append(RESTLESS.format(spec.id))
    made_with = made_with | {"repeats": repeatable, "one_machine": one_machine}
    if core := getattr(choice.algorithm_settings, "core", ""):
        made_with["core"] = load_core(here / core).record()
    if folder is None:
        folder = RunFolder.create(job.out, settings.env, settings.seed, choice.columns, here)
        folder.write_config(choice.flat(), made_with)
        return folder, notes
    config = folder.read_config()
    if core and config["provenance"].get("core") != made_with["core"]:
        notes.append("note: core.py has changed since the run began, so it does not go on to the same bits")
    folder.write_config(choice.flat(), config["provenance"], [*config["resumed"], made_with])
    return folder, notes
