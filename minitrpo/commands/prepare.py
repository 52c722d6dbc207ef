"""Before the loop: a command line becomes settings, a checked environment and a run folder on every rank."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from minitrpo.algorithms.algorithm import Arrays, Context
from minitrpo.commands.command_line import Arguments
from minitrpo.commands.named_again import trusted
from minitrpo.contract import check_beginning
from minitrpo.errors import AlgorithmFailed, BadInput, place_of, told
from minitrpo.experience.determinism import differences
from minitrpo.experience.environments import EnvironmentSpec, describe
from minitrpo.experience.make_vector_env import is_batched
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.shared_window import one_machine
from minitrpo.run_folder.folder import RunFolder
from minitrpo.run_folder.metrics_log import LOG
from minitrpo.run_folder.provenance import provenance
from minitrpo.supervision import status
from minitrpo.supervision.launch import raise_on_all
from minitrpo.training.asynchronous import transport_of
from minitrpo.training.context import RunContext, check_ranks, check_requests, counted, make_algorithm
from minitrpo.training.notes import without_effect
from minitrpo.training.resume import check_arrays, check_settings, recorded_settings
from minitrpo.training.settings import Choice


def prepare(arguments: Arguments, comm: Comm, here: Path | None = None) -> RunContext:
    """Check everything a run needs and return it on every rank; BadInput on all of them before anything is written.

    here: where relative names begin, by default the working directory, which an environment may change.
    """
    here = here or Path.cwd()
    all_words = comm.gather_objects(arguments.words)
    raise_on_all(comm, lambda: check_alike(all_words))
    folder = raise_on_all(comm, lambda: _opened(arguments, comm, here))
    settings, checkpoint, notes = comm.broadcast_object(raise_on_all(comm, lambda: _loaded(folder)))
    choice = raise_on_all(comm, lambda: arguments.resumed(settings) if arguments.resume else arguments.choice())
    common = choice.common
    notes = [*notes, *raise_on_all(comm, lambda: check_to_come(common.total_steps, checkpoint, arguments))]
    status.describe(environment=common.env, algorithm=common.algorithm)
    spec = raise_on_all(comm, lambda: _suited(choice, settings, checkpoint, comm))
    if choice.asynchronous:
        shares_memory = one_machine(comm)
        transport = raise_on_all(comm, lambda: transport_of(choice, shares_memory, comm.size))
        if not shares_memory and transport != choice.own.transport:
            notes.append(f"note: the ranks are on several machines, which share no memory: --transport {transport}")
    given = arguments.given
    notes += without_effect(given, choice, spec, comm.size)
    if comm.rank == 0 and not arguments.resume and not is_batched(spec, choice.common.physics):
        notes += differences(spec)
    folder = raise_on_all(comm, lambda: _folder(arguments, choice, comm, folder, here))
    path = comm.broadcast_object(str(folder.path) if folder else "")
    return RunContext(choice, spec, folder or RunFolder(Path(path)), checkpoint, tuple(notes))


def check_to_come(total: int, checkpoint: Arrays, arguments: Arguments) -> list[str]:
    """Raise BadInput if a resumed run is to end before the steps that it has taken; return a note if none are left."""
    _, taken = counted(checkpoint)
    if "total_steps" in arguments.given and total < taken:
        raise BadInput(f"--total-steps {total} is less than the {taken} that the run to resume has taken")
    whole = f"note: the run has taken its {taken} steps; --total-steps with a larger number goes on"
    return [whole] if arguments.resume and checkpoint and taken >= total else []


def check_schedules(given: Context, recorded: dict[str, Any], choice: Choice) -> None:
    """Raise BadInput if a resumed run is to have another length, with which something has fallen already."""
    total, before = choice.common.total_steps, recorded.get("total_steps", choice.common.total_steps)
    if given.scheduled and total != before:
        raise BadInput(
            f"--total-steps {total}: {choice.common.algorithm} has a schedule that ends with the run, after {before} "
            "steps, so more would make another run of it: leave it out, or start a new run (with --anneal none, or "
            "--anneal-steps N, a run can be given more steps later)"
        )


def check_alike(all_words: list[tuple[str, ...]]) -> None:
    """Raise BadInput if a launcher gave one rank another command line than the root."""
    other = next((rank for rank, words in enumerate(all_words) if words != all_words[0]), 0)
    if other:
        raise BadInput(f"rank {other} was given other options than rank 0: start all ranks with the same command line")


def _opened(arguments: Arguments, comm: Comm, here: Path) -> RunFolder | None:
    """Return the folder of the run to resume, kept from other runs, on the root."""
    if comm.rank != 0 or arguments.resume is None:
        return None
    folder = RunFolder.open(arguments.resume, here)
    folder.lock()
    return trusted(folder, SimpleNamespace(**arguments.given))


def _loaded(folder: RunFolder | None) -> tuple[dict[str, Any], Arrays, list[str]]:
    """Return settings and checkpoint of the run to resume, and what is to be said of it, on the root."""
    if folder is None:
        return {}, {}, []
    choice = recorded_settings(folder)
    folder.check_files()
    checkpoint, note = folder.checkpoint()
    if checkpoint:
        check_settings(choice, checkpoint, folder)
    iteration, taken = counted(checkpoint)
    beyond = folder.check_log(iteration, choice.columns, choice.common.record_every, checkpoint.get(LOG))
    steps = {int(row["iteration"]): int(row["env_steps"]) for row in folder.rows() if row["ranks"]}
    if iteration and steps[iteration] != taken:
        raise BadInput(f"{folder.path}: metrics.csv and checkpoint.npz count other steps: one of the two was changed")
    if not checkpoint and folder.rows():
        raise BadInput(f"{folder.path} has updates in metrics.csv, but no checkpoint: there is nothing to go on from")
    if not checkpoint:
        note = "note: the run to resume had not got as far as its first checkpoint; it begins again"
    notes = [note] if note else []
    if beyond and checkpoint:
        notes.append(
            f"note: metrics.csv has {beyond} row(s) after update {iteration}, the last in the checkpoint: dropped"
        )
    return choice.flat(), checkpoint, notes


def _suited(choice: Choice, recorded: dict[str, Any], checkpoint: Arrays, comm: Comm) -> EnvironmentSpec:
    """Return what the environment offers; BadInput if it, the ranks or the algorithm cannot do what is asked.

    recorded: the settings of the run to resume, {} if there is none.
    """
    check_ranks(choice.common, comm.size)
    spec = describe(choice.common.env)
    name = f"--algorithm {choice.common.algorithm}"
    try:
        with status.at("begin"):
            algorithm, given = make_algorithm(choice, spec)
        check_schedules(given, recorded, choice)
        plan = check_beginning(algorithm)
        if plan is not None:
            check_requests(choice.common, plan)
    except (BadInput, KeyboardInterrupt):
        raise
    except AlgorithmFailed as error:
        raise BadInput(f"{name}: {error}") from error
    except BaseException as error:
        raise BadInput(f"{name} cannot begin: {told(error)} ({place_of(error)})") from error
    if checkpoint:
        check_arrays(checkpoint, algorithm, spec, choice)
    return spec


def _folder(arguments: Arguments, choice: Choice, comm: Comm, folder: RunFolder | None, here: Path) -> RunFolder | None:
    """Return the run folder, made if this run is new, on the root."""
    if comm.rank != 0:
        return None
    if folder is not None:
        try:
            (folder.path / "failure.txt").unlink(missing_ok=True)  # of the run before: its ranks would be mute
        except OSError as error:
            raise BadInput(
                f"cannot write to {folder.path}: {error.strerror}; copy the run to a place of yours"
            ) from error
        config = folder.read_config()
        folder.write_config(choice.flat(), config["provenance"], [*config["resumed"], provenance(comm.size)])
        return folder
    folder = RunFolder.create(arguments.out, choice.common.env, choice.common.seed, choice.columns, here)
    folder.write_config(choice.flat(), provenance(comm.size))
    return folder
