"""Before the loop: a command line becomes settings, a checked environment and a run folder on every rank."""

from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.errors import AlgorithmFailed, BadInput, told
from minitrpo.experience.determinism import differences
from minitrpo.experience.environments import EnvironmentSpec, describe
from minitrpo.experience.physics import is_batched
from minitrpo.experience.status import Doing, RankStatus
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.shared_window import one_machine
from minitrpo.parallel.watchdog import Watchdog
from minitrpo.policies import Array
from minitrpo.runs.actor import check_ranks, check_requests, without_effect
from minitrpo.runs.asynchronous import transport_of
from minitrpo.runs.carried import changed, copied
from minitrpo.runs.checkpoints import check_arrays, check_settings, iteration_of, recorded_settings
from minitrpo.runs.command_line import Arguments
from minitrpo.runs.context import RunContext, make_algorithm
from minitrpo.runs.folder import RunFolder
from minitrpo.runs.guarded import Guarded
from minitrpo.runs.launch import raise_on_all
from minitrpo.runs.learner import OWN, check_plan, checked_state
from minitrpo.runs.log import LOG
from minitrpo.runs.provenance import provenance
from minitrpo.runs.settings import Choice
from minitrpo.runs.workers import check_shared


def prepare(arguments: Arguments, comm: Comm, watchdog: Watchdog, here: Path | None = None) -> RunContext:
    """Check everything a run needs and return it on every rank; BadInput on all of them before anything is written.

    here: where relative names begin, by default the working directory, which an environment may change.
    """
    here = here or Path.cwd()
    told = comm.gather_objects(arguments.words)
    raise_on_all(comm, lambda: check_alike(told))
    folder = raise_on_all(comm, lambda: _opened(arguments, comm, here))
    settings, checkpoint, notes = comm.broadcast_object(raise_on_all(comm, lambda: _loaded(folder)))
    choice = raise_on_all(comm, lambda: arguments.resumed(settings) if arguments.resume else arguments.choice())
    common = choice.common
    raise_on_all(comm, lambda: check_to_come(common.total_steps, checkpoint, arguments))
    about = {"env": common.env, "seed": common.seed, "first_states": common.first_states}
    watchdog.describe(**about, algorithm=common.algorithm)
    spec = raise_on_all(comm, lambda: _suited(choice, checkpoint, comm, watchdog.status))
    if choice.asynchronous:
        shares_memory = one_machine(comm)
        transport = raise_on_all(comm, lambda: transport_of(choice, shares_memory))
        if not shares_memory and transport != choice.own.transport:
            notes.append(f"note: the ranks are on several machines, which share no memory: --transport {transport}")
    notes += without_effect(arguments.given, choice)
    if comm.rank == 0 and not arguments.resume and not is_batched(spec, choice.common.physics):
        notes += differences(spec, watchdog.status)
    folder = raise_on_all(comm, lambda: _folder(arguments, choice, comm, folder, here))
    path = comm.broadcast_object(str(folder.path) if folder else "")
    return RunContext(choice, spec, folder or RunFolder(Path(path)), checkpoint, tuple(notes))


def check_to_come(total: int, checkpoint: dict[str, Array], arguments: Arguments) -> None:
    """Raise BadInput if a resumed run is to end before the steps that it has taken."""
    taken = checkpoint.get(OWN + "counters", np.zeros(0))[1:]
    if "total_steps" in arguments.given and taken.size == 1 and total < taken[0]:
        raise BadInput(f"--total-steps {total} is less than the {taken[0]} that the run to resume has taken")


def check_alike(told: list[tuple[str, ...]]) -> None:
    """Raise BadInput if a launcher gave one rank another command line than the root."""
    other = next((rank for rank, words in enumerate(told) if words != told[0]), 0)
    if other:
        raise BadInput(f"rank {other} was given other options than rank 0: start all ranks with the same command line")


def _opened(arguments: Arguments, comm: Comm, here: Path) -> RunFolder | None:
    """Return the folder of the run to resume, kept from other runs, on the root."""
    if comm.rank != 0 or arguments.resume is None:
        return None
    folder = RunFolder.open(arguments.resume, here)
    folder.lock()
    return folder


def _loaded(folder: RunFolder | None) -> tuple[dict[str, Any], dict[str, Array], list[str]]:
    """Return settings and checkpoint of the run to resume, and what is to be said of it, on the root."""
    if folder is None:
        return {}, {}, []
    choice = recorded_settings(folder)
    folder.check_files()
    checkpoint, note = folder.checkpoint()
    if checkpoint:
        check_settings(choice, checkpoint, folder)
    iteration = iteration_of(checkpoint)
    beyond = folder.check_log(iteration, choice.columns, choice.common.record_every, checkpoint.get(LOG))
    steps = {int(row["iteration"]): int(row["env_steps"]) for row in folder.rows() if row["ranks"]}
    if iteration and steps[iteration] != int(checkpoint[OWN + "counters"][1]):
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


def _suited(choice: Choice, checkpoint: dict[str, Array], comm: Comm, status: RankStatus) -> EnvironmentSpec:
    """Return what the environment offers; BadInput if it, the ranks or the algorithm cannot do what is asked."""
    check_ranks(choice.common, comm.size)
    spec = describe(choice.common.env, status)
    name = f"--algorithm {choice.common.algorithm}"
    try:
        with status.at(Doing.BEGINNING):
            algorithm = Guarded(make_algorithm(choice, spec)[0], status, [])
        state = checked_state(algorithm.state())
        if choice.asynchronous:
            check_shared(state, algorithm)
        else:
            plan = algorithm.plan()
            check_plan(plan, np.shape(state["theta"]))
            check_requests(choice.common, plan)
            algorithm.restore(copied(state))
            lost = changed(state, algorithm.state())
            if lost:
                raise AlgorithmFailed(f"restore() does not bring back {lost!r} of state()")
    except (BadInput, KeyboardInterrupt):
        raise
    except AlgorithmFailed as error:
        raise BadInput(f"{name}: {error}") from error
    except BaseException as error:
        where = "" if error.__traceback__ is None else _place(error)
        raise BadInput(f"{name} cannot begin: {told(error)}{where}") from error
    taken = [key for key in state if key.startswith((OWN, "unfinished_"))]
    if taken:
        raise BadInput(f"{name}: state() has {taken[0]!r}; names that begin with {OWN} are the run's own")
    if checkpoint:
        check_arrays(checkpoint, algorithm, spec, choice)
    return spec


def _place(error: BaseException) -> str:
    """Return where an error was raised, for one line."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f" ({Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno})"


def _folder(arguments: Arguments, choice: Choice, comm: Comm, folder: RunFolder | None, here: Path) -> RunFolder | None:
    """Return the run folder, made if this run is new, on the root."""
    if comm.rank != 0:
        return None
    if folder is not None:
        (folder.path / "failure.txt").unlink(missing_ok=True)  # of the run before: its ranks would be mute
        config = folder.read_config()
        folder.write_config(choice, config["provenance"], [*config["resumed"], provenance(comm.size)])
        return folder
    folder = RunFolder.create(arguments.out, choice.common.env, choice.common.seed, choice.columns, here)
    folder.write_config(choice, provenance(comm.size))
    return folder
