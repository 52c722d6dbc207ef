"""Before the loop: a command line becomes settings, a checked environment and a run folder on every rank."""

from pathlib import Path
from typing import Any

from minitrpo.algorithms.interface import Plan
from minitrpo.errors import BadInput
from minitrpo.experience.environments import EnvironmentSpec, describe
from minitrpo.parallel.comm import Comm
from minitrpo.policies import Array
from minitrpo.runs.actor import check_ranks
from minitrpo.runs.command_line import Arguments
from minitrpo.runs.context import RunContext, make_algorithm
from minitrpo.runs.folder import RunFolder
from minitrpo.runs.launch import raise_on_all
from minitrpo.runs.learner import OWN
from minitrpo.runs.provenance import provenance
from minitrpo.runs.settings import FIRST, LAST, Choice


def prepare(arguments: Arguments, comm: Comm) -> RunContext:
    """Check everything a run needs and return it on every rank; BadInput on all of them before anything is written."""
    recorded, checkpoint = comm.broadcast_object(raise_on_all(comm, lambda: _load(arguments, comm)))
    choice = raise_on_all(comm, lambda: arguments.resumed(recorded) if arguments.resume else arguments.choice())
    spec = raise_on_all(comm, lambda: _suited(choice, comm))
    path = comm.broadcast_object(raise_on_all(comm, lambda: _folder(arguments, choice, comm)))
    return RunContext(choice, spec, RunFolder(Path(path)), checkpoint)


def _load(arguments: Arguments, comm: Comm) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the settings and the checkpoint of the run to resume, on the root; empty for a new run."""
    if comm.rank != 0 or arguments.resume is None:
        return {}, {}
    folder = RunFolder.open(arguments.resume)
    return folder.read_config()["settings"], folder.load_checkpoint()


def _suited(choice: Choice, comm: Comm) -> EnvironmentSpec:
    """Return what the environment offers; BadInput if it, the ranks or the algorithm cannot do what is asked."""
    check_ranks(choice.common, comm.size)
    spec = describe(choice.common.env)
    name = f"--algorithm {choice.common.algorithm}"
    try:
        algorithm, _ = make_algorithm(choice, spec)
        plan, state = algorithm.plan(), algorithm.state()
    except BadInput:
        raise
    except Exception as error:
        where = "" if error.__traceback__ is None else _place(error)
        raise BadInput(f"{name} cannot begin: {type(error).__name__}: {error}{where}") from error
    if not isinstance(plan, Plan):
        raise BadInput(f"{name}: plan() returned {type(plan).__name__}; it must return a Plan(theta)")
    if not isinstance(state, dict) or "theta" not in state:
        raise BadInput(f"{name}: state() must return a dict of arrays with theta among them")
    taken = [key for key in state if key.startswith((OWN, "unfinished_"))]
    if taken:
        raise BadInput(f"{name}: state() has {taken[0]!r}; names that begin with {OWN} are the run's own")
    return spec


def _place(error: BaseException) -> str:
    """Return where an error was raised, for one line."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f" ({Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno})"


def _folder(arguments: Arguments, choice: Choice, comm: Comm) -> str:
    """Return the run folder, made if this run is new, on the root."""
    if comm.rank != 0 or arguments.resume is not None:
        return arguments.resume or ""
    columns = (*FIRST, *choice.algorithm.columns, *LAST)
    folder = RunFolder.create(arguments.out, choice.common.env, choice.common.seed, columns)
    folder.write_config(choice, provenance(comm.size))
    return str(folder.path)
