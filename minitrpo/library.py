"""minitrpo from Python: train, load and evaluate in the process that calls them, exceptions instead of exit codes."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
from threadpoolctl import threadpool_limits

from minitrpo.commands.cli import check_folder
from minitrpo.commands.command_line import Job, beginning, make_job, new_job
from minitrpo.commands.prepare import prepare
from minitrpo.commands.train import draw, play
from minitrpo.errors import BadInput, shorten
from minitrpo.experience.modules import name_of, standing_for, trust
from minitrpo.parallel.comm import Comm, connect
from minitrpo.policies import Array
from minitrpo.reports import trained
from minitrpo.reports.trained import Evaluation, TrainedPolicy
from minitrpo.run_folder.folder import RunFolder, release_locks
from minitrpo.run_folder.provenance import in_notebook
from minitrpo.supervision.launch import explain, raise_on_all
from minitrpo.supervision.stderr import say

Environment = str | type[gymnasium.Env[Any, Any]] | Callable[..., gymnasium.Env[Any, Any]]

COMMANDS_ONLY = {"seeds": "call train once for each seed", "stuck_after": "a hang can only be ended from outside"}


@dataclass(frozen=True)
class Run:
    """A run that was trained: `path` is its folder, which the commands take, too."""

    path: Path

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | os.PathLike):
            raise BadInput(f"a run is the folder of one, not {shorten(self.path)}")
        object.__setattr__(self, "path", Path(self.path))  # its name alone will do

    @property
    def settings(self) -> dict[str, Any]:
        """Return all settings by name; BadInput, here and below, if there is no run."""
        return dict(folder_of(self).read_config()["settings"])

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of metrics.csv, one for each update, as numbers; NaN where a cell is empty."""
        return [{name: number(text) for name, text in row.items()} for row in folder_of(self).rows()]

    def plot(self, *others: "Run | str | Path") -> Any:
        """Return a matplotlib Figure of this run's returns, and of others over it, as `minitrpo plot` draws them.

        A notebook shows it; `savefig` writes it.
        """
        from minitrpo.commands.plot import compare

        return compare([folder_of(run) for run in (self, *others)])

    def columns(self) -> dict[str, Array]:
        """Return the same as an array for each column of numbers."""
        return folder_of(self).columns()


def train(
    env: Environment | None = None,
    *,
    algorithm: str | type | None = None,
    total_steps: int | None = None,
    seed: int | None = None,
    out: str | Path | None = None,
    resume: "Run | str | Path | None" = None,
    progress: str = "auto",
    **settings: Any,
) -> Run:
    """Train a policy in this process, and return the run.

    env: a Gymnasium id, or a class or function that makes an environment. algorithm: a name of the family, or your own
    class. total_steps: of the environment. out: the run folder to make, by default the next free runs/ENV-seedS-NN.
    resume: a run to go on with, to the bit; give total_steps if it is to take more. progress: auto, bar, lines or none.
    settings: those of `minitrpo train --help`, as in steps_per_update=5000, hidden="32,32", preset="paper".

    Under mpiexec all ranks call it, alike, and share the work. BadInput (a ValueError) if something makes no sense;
    EpisodeFailed, AlgorithmFailed; what else the environment's module or the algorithm raises comes as it is. After
    KeyboardInterrupt the run is whole up to its last checkpoint, and can be resumed.
    """
    given = {"total_steps": total_steps, "seed": seed} | settings
    with in_this_process() as comm:
        for name, why in COMMANDS_ONLY.items():
            if name in settings:
                raise BadInput(f"{name} is for the command line: {why}")
        asked = {name: value for name, value in given.items() if value is not None} | {"progress": how_shown(progress)}
        asked |= {} if out is None else {"out": name_of_folder("out", out)}
        things: dict[str, Any] = {}
        if resume is None:
            names = {"env": named(env), "algorithm": named(algorithm)}
            asked |= {key: name for key, name in names.items() if name is not None}
            job = new_job(asked, *beginning(asked))
        else:
            folder = raise_on_all(comm, lambda: folder_of(resume))
            things = handed_over(folder, env, algorithm)
            job = make_job(asked | {"resume": str(folder.path)})
        with standing_for(things):
            return Run(trained_in(job, comm))


def load(run: "Run | str | Path", *, env: Environment | None = None) -> TrainedPolicy:
    """Return the policy of a run: `policy(observation)` is the action that the environment's `step` takes.

    env: the class or function, where the run was trained on one that this process cannot import. BadInput if there is
    no run, or if it does not fit its environment.
    """
    with in_this_process():
        folder = folder_of(run)
        with standing_for(handed_over(folder, env, None)):
            return trained.trained(folder)


def evaluate(
    run: "Run | str | Path", episodes: int = 100, *, seed: int = 0, sample: bool = False, env: Environment | None = None
) -> Evaluation:
    """Return how well a run does in fresh episodes, by its best actions: `mean`, `interval` (95 %), `returns`.

    seed: another one gives other episodes; none begins as one in training did. sample: draw actions as in training.
    An environment without a time limit is left after 10,000 steps.
    env: as for `load`. Under mpiexec all ranks call it, and get the same numbers, which do not depend on how many they
    are. BadInput as for `load`; EpisodeFailed if the environment fails.
    """
    with in_this_process() as comm:
        folder = raise_on_all(comm, lambda: folder_of(run))
        with standing_for(handed_over(folder, env, None)):
            return trained.evaluate(folder, episodes, seed, sample, comm)


def trained_in(job: Job, comm: Comm) -> Path:
    """Do what every rank does, and return the run folder."""
    context = prepare(job, comm)
    settings, folder = context.settings, context.folder
    if comm.rank == 0 and job.progress != "none":
        print(f"{settings.env}: {comm.size} rank(s), seed {settings.seed}, run folder {os.path.relpath(folder.path)}")
    play(context, job, comm)
    if comm.rank == 0:
        draw(context)
    comm.barrier()
    return folder.path


@contextmanager
def in_this_process() -> Iterator[Comm]:
    """Yield the ranks that this process is one of, and leave it as it was: no lock, BLAS's threads as before.

    A failure of one rank among several ends all of them: the others would wait for it.
    """
    comm = connect()
    try:
        check_folder()
        with release_locks(), threadpool_limits(1):
            yield comm
    except BadInput:  # on all ranks alike
        raise
    except BaseException as error:
        if comm.size > 1:
            say(f"minitrpo: rank {comm.rank} {explain(error)}")
            comm.abort(1)
            sys.exit(1)
        raise
    comm.close()


def folder_of(run: "Run | str | Path") -> RunFolder:
    """Return the folder of a run; BadInput if there is none."""
    return RunFolder.open(name_of_folder("run", run.path if isinstance(run, Run) else run))


def name_of_folder(what: str, path: Any) -> str:
    """Return a path as text; BadInput for what is none."""
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else path
    if not isinstance(name, str) or not name or "\0" in name:
        raise BadInput(f"{what} must be the name of a folder, as text or a Path, not {shorten(path)}")
    return name


def named(thing: Any) -> Any:
    """Return the name of a class or function, and a name as it is; BadInput for an environment that is made already."""
    if isinstance(thing, gymnasium.Env):
        raise BadInput("env is an environment that was made already: hand over its id, its class, or what makes it")
    if isinstance(thing, str):
        trust(thing)
    return thing if thing is None or isinstance(thing, str) else name_of(thing)


def handed_over(folder: RunFolder, env: Any, algorithm: Any) -> dict[str, Any]:
    """Return what a run's own names are to stand for; BadInput if the caller hands over another name."""
    settings, things = folder.read_config()["settings"], {}
    for key, thing in (("env", env), ("algorithm", algorithm)):
        if isinstance(thing, str) and thing != settings.get(key):
            raise BadInput(f"{key} {thing!r} differs from the {settings.get(key)!r} of the run: leave it out")
        if isinstance(thing, str):
            trust(thing)
        elif thing is not None:
            things[settings[key]] = thing
    return things


def how_shown(progress: str) -> str:
    """Return how progress is shown: in a notebook as a bar, which is no terminal; not at all if nobody can see it."""
    if sys.stdout is None or getattr(sys.stdout, "closed", False):
        return "none"
    return "bar" if progress == "auto" and in_notebook() else progress


def number(text: str) -> Any:
    """Return a cell of metrics.csv as an int or a float; as text where it is a word."""
    for kind in (int, float):
        try:
            return kind(text or "nan")
        except ValueError:
            continue
    return text
