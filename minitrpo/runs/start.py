"""Before the loop: a command line becomes settings, a checked environment and a run folder on every rank."""

from pathlib import Path
from typing import Any

from minitrpo.errors import AlgorithmFailed, BadInput, told
from minitrpo.experience.determinism import differences
from minitrpo.experience.environments import EnvironmentSpec, describe
from minitrpo.experience.physics import is_batched
from minitrpo.experience.status import RankStatus
from minitrpo.parallel.comm import Comm
from minitrpo.parallel.shared_window import one_machine
from minitrpo.parallel.watchdog import Watchdog
from minitrpo.policies import Array
from minitrpo.runs.actor import check_ranks
from minitrpo.runs.asynchronous import check_shared, transport_of
from minitrpo.runs.checkpoints import check_arrays, check_settings, iteration_of, recorded_settings
from minitrpo.runs.command_line import Arguments
from minitrpo.runs.context import RunContext, make_algorithm
from minitrpo.runs.folder import RunFolder
from minitrpo.runs.launch import raise_on_all
from minitrpo.runs.learner import OWN, check_plan, checked_state
from minitrpo.runs.provenance import provenance
from minitrpo.runs.settings import Choice


def prepare(arguments: Arguments, comm: Comm, watchdog: Watchdog) -> RunContext:
    """Check everything a run needs and return it on every rank; BadInput on all of them before anything is written."""
    here = Path.cwd()  # an environment may change it
    folder = raise_on_all(comm, lambda: _opened(arguments, comm))
    settings, checkpoint, note = comm.broadcast_object(raise_on_all(comm, lambda: _loaded(folder)))
    choice = raise_on_all(comm, lambda: arguments.resumed(settings) if arguments.resume else arguments.choice())
    watchdog.describe(env=choice.common.env, seed=choice.common.seed)
    spec = raise_on_all(comm, lambda: _suited(choice, checkpoint, comm, watchdog.status))
    if choice.asynchronous:
        shares_memory = one_machine(comm)
        raise_on_all(comm, lambda: transport_of(choice, shares_memory))
    notes = [note] if note else []
    if comm.rank == 0 and not arguments.resume and not is_batched(spec, choice.common.physics):
        notes += differences(spec, watchdog.status)
    folder = raise_on_all(comm, lambda: _folder(arguments, choice, comm, folder, here))
    path = comm.broadcast_object(str(folder.path) if folder else "")
    return RunContext(choice, spec, folder or RunFolder(Path(path)), checkpoint, tuple(notes))


def _opened(arguments: Arguments, comm: Comm) -> RunFolder | None:
    """Return the folder of the run to resume, kept from other runs, on the root."""
    if comm.rank != 0 or arguments.resume is None:
        return None
    folder = RunFolder.open(arguments.resume)
    folder.lock()
    return folder


def _loaded(folder: RunFolder | None) -> tuple[dict[str, Any], dict[str, Array], str]:
    """Return settings and checkpoint of the run to resume, and what is to be said of it, on the root."""
    if folder is None:
        return {}, {}, ""
    choice = recorded_settings(folder)
    checkpoint, note = folder.checkpoint()
    if checkpoint:
        check_settings(choice, checkpoint, folder)
    iteration = iteration_of(checkpoint)
    folder.check_log(iteration, choice.columns, choice.common.record_every)
    steps = {int(row["iteration"]): int(row["env_steps"]) for row in folder.rows() if row["ranks"]}
    if iteration and steps[iteration] != int(checkpoint[OWN + "counters"][1]):
        raise BadInput(f"{folder.path}: metrics.csv and checkpoint.npz count other steps: one of the two was changed")
    if not checkpoint and folder.rows():
        raise BadInput(f"{folder.path} has updates in metrics.csv, but no checkpoint: there is nothing to go on from")
    if not checkpoint:
        note = "note: the run to resume had not got as far as its first checkpoint; it begins again"
    return choice.flat(), checkpoint, note


def _suited(choice: Choice, checkpoint: dict[str, Array], comm: Comm, status: RankStatus) -> EnvironmentSpec:
    """Return what the environment offers; BadInput if it, the ranks or the algorithm cannot do what is asked."""
    check_ranks(choice.common, comm.size)
    spec = describe(choice.common.env, status)
    name = f"--algorithm {choice.common.algorithm}"
    try:
        algorithm, _ = make_algorithm(choice, spec)
        state = checked_state(algorithm.state())
        if choice.asynchronous:
            check_shared(state, algorithm)
        else:
            check_plan(algorithm.plan(), state["theta"].shape)
            algorithm.restore(state)
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
