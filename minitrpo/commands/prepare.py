"""Before the loop: a job becomes settings, a checked environment and a run folder on every rank.

Three messages do it: the root says what the run is, every rank whether it can play it, and the root, which alone
writes, where it is written.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from minitrpo.algorithms.algorithm import Arrays, Context
from minitrpo.commands.command_line import Job, trusted
from minitrpo.contract import check_beginning
from minitrpo.errors import AlgorithmFailed, BadInput, describe_error, place_of
from minitrpo.experience.environments import EnvironmentSpec, describe
from minitrpo.experience.rollouts import is_batched
from minitrpo.experience.vector_env import differences
from minitrpo.parallel.comm import Comm
from minitrpo.run_folder.folder import RunFolder, check_free
from minitrpo.run_folder.provenance import provenance
from minitrpo.supervision import status
from minitrpo.training.context import RunContext, check_requests, counted, make_algorithm
from minitrpo.training.notes import without_effect
from minitrpo.training.resume import check_arrays, check_settings, recorded_settings
from minitrpo.training.settings import Choice, chosen

Result = TypeVar("Result")


class Beginning(NamedTuple):
    """What the root says of a run before it begins."""

    job: Job
    settings: dict[str, Any]  # all, by name
    folder: RunFolder | None  # of the run to resume
    checkpoint: Arrays  # {} for a new run
    total_before: int  # --total-steps of the run to resume
    notes: tuple[str, ...]


def prepare(job: Job, comm: Comm, here: Path | None = None, outs: tuple[str | None, ...] = ()) -> RunContext:
    """Check everything a run needs and return it on every rank; BadInput on all of them before anything is written.

    here: where relative names begin, by default the working directory, which an environment may change. outs: the
    folders of all runs that are to be made, this one's first.
    """
    here = here or Path.cwd()
    one = comm.one_machine()
    begun = from_root(comm, lambda: begin(job, here, outs))
    names = {"environment": begun.settings["env"], "algorithm": begun.settings["algorithm"]}
    status.describe(**names, several_machines=not one)
    found, reason = attempt(lambda: suited(job, begun, comm, one))
    reasons = [*filter(None, comm.gather(reason))]

    def settle() -> tuple[RunFolder, tuple[str, ...]]:
        if reasons or found is None:
            raise BadInput(reasons[0])
        choice, spec = found
        notes = [*begun.notes, *without_effect(job.given, choice, spec, comm.size)]
        notes += choice.loop.check(choice, comm.size, one)
        if not job.resume and not is_batched(spec, choice.common.physics):
            notes += differences(spec)
        return written_folder(job, begun.folder, choice, comm.size, here), tuple(notes)

    folder, notes = from_root(comm, settle)
    choice, spec = cast(tuple[Choice, EnvironmentSpec], found)
    return RunContext(choice, spec, folder, begun.checkpoint, notes)


def from_root(comm: Comm, work: Callable[[], Result]) -> Result:
    """Return on every rank what `work` returns on the root; BadInput on all, if it raises that."""
    result, reason = comm.broadcast(attempt(work) if comm.rank == 0 else None)
    if reason:
        raise BadInput(reason)
    return cast(Result, result)


def attempt(work: Callable[[], Result]) -> tuple[Result | None, str]:
    """Return what `work` returns, and "", or None and the text of the BadInput that it raises."""
    try:
        return work(), ""
    except BadInput as error:
        return None, str(error)


def begin(job: Job, here: Path, outs: tuple[str | None, ...]) -> Beginning:
    """Return what the root says of a run: of a new one, or of the one to resume, kept from other runs."""
    asked = replace(job, choice=None)  # whose class is not to travel
    if job.choice is not None:
        check_free(list(outs), here)
        return Beginning(asked, job.choice.flat(), None, {}, 0, ())
    folder = RunFolder.open(cast(str, job.resume), here)
    folder.lock()
    trusted(folder, job.given)
    recorded = recorded_settings(folder)
    checkpoint, notes = loaded(folder, recorded)
    choice, (_, taken) = job.resumed(recorded), counted(checkpoint)
    total, before = choice.common.total_steps, recorded.common.total_steps
    if total < min(before, taken):
        raise BadInput(f"--total-steps {total} is less than the {taken} that the run to resume has taken")
    if checkpoint and taken >= total:
        notes.append(f"note: the run has taken its {taken} steps; --total-steps with a larger number goes on")
    return Beginning(asked, choice.flat(), folder, checkpoint, before, tuple(notes))


def loaded(folder: RunFolder, choice: Choice) -> tuple[Arrays, list[str]]:
    """Return the checkpoint of the run to resume, and what is to be said of it; BadInput if they do not fit."""
    checkpoint, note = folder.checkpoint()
    notes = [note] if note else []
    if checkpoint:
        check_settings(choice, checkpoint, folder)
    iteration, taken = counted(checkpoint)
    beyond = folder.check_log(iteration, taken, choice.columns, choice.common.record_every)
    if not checkpoint and folder.rows():
        raise BadInput(f"{folder.path} has updates in metrics.csv, but no checkpoint: there is nothing to go on from")
    if not checkpoint:
        notes = ["note: the run to resume had not got as far as its first checkpoint; it begins again"]
    elif beyond:
        notes.append(
            f"note: metrics.csv has {beyond} row(s) after update {iteration}, the last in the checkpoint: dropped"
        )
    return checkpoint, notes


def suited(job: Job, begun: Beginning, comm: Comm, one: bool) -> tuple[Choice, EnvironmentSpec]:
    """Return all settings, and what the environment offers; BadInput if this rank cannot do what is asked.

    one: whether all ranks are on one machine.
    """
    if replace(job, choice=None) != begun.job:
        raise BadInput(f"rank {comm.rank} was given other options than rank 0: start all ranks with the same ones")
    choice = job.choice or chosen(begun.settings)
    spec = describe(choice.common.env)
    name = f"--algorithm {choice.common.algorithm}"
    try:
        with status.at("begin"):
            algorithm, given = make_algorithm(choice, spec)
        if job.resume:
            check_schedules(given, begun.total_before, choice)
        plan = check_beginning(algorithm)
        if plan is not None:
            check_requests(choice.common, plan)
    except (BadInput, KeyboardInterrupt):
        raise
    except AlgorithmFailed as error:
        raise BadInput(f"{name}: {error}") from error
    except BaseException as error:
        raise BadInput(f"{name} cannot begin: {describe_error(error)} ({place_of(error)})") from error
    if begun.checkpoint:
        check_arrays(begun.checkpoint, algorithm, spec, choice)
    choice.loop.check(choice, comm.size, one)
    return choice, spec


def check_schedules(given: Context, before: int, choice: Choice) -> None:
    """Raise BadInput if a resumed run is to have another length, with which something has fallen already."""
    if given.scheduled and choice.common.total_steps != before:
        raise BadInput(
            f"--total-steps {choice.common.total_steps}: {choice.common.algorithm} has a schedule that ends with the "
            f"run, after {before} steps, so more would make another run of it: leave it out, or start a new run (with "
            "--anneal none, or --anneal-steps N, a run can be given more steps later)"
        )


def written_folder(job: Job, folder: RunFolder | None, choice: Choice, ranks: int, here: Path) -> RunFolder:
    """Return the run folder, with its settings in it; made if the run is new."""
    if folder is None:
        folder = RunFolder.create(job.out, choice.common.env, choice.common.seed, choice.columns, here)
        folder.write_config(choice.flat(), provenance(ranks))
        return folder
    try:
        (folder.path / "failure.txt").unlink(missing_ok=True)  # of the run before: its ranks would be mute
    except OSError as error:
        raise BadInput(f"cannot write to {folder.path}: {error.strerror}; copy the run to a place of yours") from error
    config = folder.read_config()
    folder.write_config(choice.flat(), config["provenance"], [*config["resumed"], provenance(ranks)])
    return folder
