"""minitrpo from Python: train, load and evaluate in the calling process, with exceptions instead of exit codes."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium

from minitrpo.commands.check import keeps_promises
from minitrpo.commands.command_line import beginning, make_job, trusted
from minitrpo.commands.plot import LiveCurve, compare
from minitrpo.commands.train import draw, play, prepare
from minitrpo.errors import BadInput
from minitrpo.experience.modules import name_of, standing_for, trust
from minitrpo.parallel.comm import on_root
from minitrpo.policies import Array
from minitrpo.reports import trained
from minitrpo.reports.trained import Evaluation, TrainedPolicy
from minitrpo.run_folder.folder import RunFolder, release_locks
from minitrpo.run_folder.provenance import in_notebook
from minitrpo.supervision.program import ranks

Environment = str | type[gymnasium.Env[Any, Any]] | Callable[..., gymnasium.Env[Any, Any]]


@dataclass(frozen=True)
class Run:
    """A finished run: `path` is its folder, which all commands accept."""

    path: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))  # its name alone will do

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def settings(self) -> dict[str, Any]:
        """Return all settings by name; BadInput (also below) if there is no run."""
        return dict(folder_of(self).read_config()["settings"])

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of metrics.csv, one for each update, as numbers; NaN where a cell is empty."""
        return [{name: number(text) for name, text in row.items()} for row in folder_of(self).rows()]

    def plot(self, *others: "Run | str | Path") -> Any:
        """Return a matplotlib Figure of the returns of this run and of others, as `minitrpo plot` draws them.

        A notebook shows it; `savefig` writes it.
        """
        return compare([folder_of(run) for run in (self, *others)])

    def explain(self, episodes: int | None = None, *, env: Environment | None = None) -> Any:
        """Return why the run does not learn and where its time goes, as `minitrpo explain` prints it.

        episodes: number to play, by default few enough for 20 seconds. env, BadInput: as for `load`.
        """
        from minitrpo.reports.explain import explain

        folder = folder_of(self)
        with standing_for(handed_over(folder, env=env)):
            return explain(folder, episodes)

    def columns(self) -> dict[str, Array]:
        """Return the rows of metrics.csv as one array per column."""
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

    env: a Gymnasium id, or a class or function that makes an environment. algorithm: the name of an algorithm, or your
    own class. total_steps: environment steps. out: the new run folder, by default the next free runs/ENV-seedS-NN.
    resume: a run to continue, to the same bits; total_steps extends it. progress: auto, bar, lines or none; in a
    notebook also plot, a learning curve that is updated during the run.
    settings: those of `minitrpo train --help`, for example steps_per_update=5000, hidden="32,32", preset="paper".

    Under mpiexec all ranks make the same call and share the work. Raises BadInput (a ValueError) for a wrong argument,
    EpisodeFailed and AlgorithmFailed; other exceptions of your environment or algorithm are passed on. After
    KeyboardInterrupt the run can be resumed from its last checkpoint.
    """
    given = settings | {"total_steps": total_steps, "seed": seed, "out": None if out is None else os.fspath(out)}
    asked = {name: value for name, value in given.items() if value is not None}
    if progress == "plot" and not in_notebook():
        raise BadInput("progress='plot' draws in the cell of a notebook: use progress='lines' here")
    progress = "bar" if progress == "auto" and in_notebook() else progress  # which is no terminal
    asked["progress"] = "none" if progress == "plot" else progress
    with ranks() as comm, release_locks():
        if for_commands := {"seeds", "stuck_after"} & asked.keys():
            raise BadInput(f"{', '.join(sorted(for_commands))}: only for the command line; call train once per seed")
        things: dict[str, Any] = {}
        if resume is None:
            names = {"env": named(env), "algorithm": named(algorithm)}
            asked |= {key: name for key, name in names.items() if name is not None}
        else:
            folder = on_root(comm, lambda: folder_of(resume))
            things = handed_over(folder, env=env, algorithm=algorithm)
            asked |= {"resume": str(folder.path)}
        with standing_for(things):
            job = make_job(asked, *beginning(asked))
            context = prepare(job, comm)
            path = context.folder.path
            if comm.rank == 0 and progress != "none":
                name, seed = context.settings.env, context.settings.seed
                print(f"{name}: {comm.size} rank(s), seed {seed}, run folder {os.path.relpath(path)}")
            play(context, job, comm, (lambda _: LiveCurve(context)) if progress == "plot" else None)
            if comm.rank == 0:
                draw(context)
            comm.barrier()
    return Run(path)


def load(run: "Run | str | Path", *, env: Environment | None = None) -> TrainedPolicy:
    """Return the policy of a run: `policy(observation)` is the action that the environment's `step` takes.

    env: the class or function, where the run was trained on one that this process cannot import. BadInput if there is
    no run, or if it does not fit its environment.
    """
    folder = folder_of(run)
    with standing_for(handed_over(folder, env=env)):
        return trained.trained(folder)


def evaluate(
    run: "Run | str | Path", episodes: int = 100, *, seed: int = 0, sample: bool = False, env: Environment | None = None
) -> Evaluation:
    """Return the `mean` of the `returns` of fresh episodes, with its 95 % `interval`; best actions.

    seed: chooses the episodes; none begins in an initial state of the training. sample: draw actions as in training.
    If an environment has no time limit, an episode ends after 10,000 steps.
    env: as for `load`. Under mpiexec all ranks make the same call and get the same numbers, for any number of ranks.
    BadInput as for `load`; EpisodeFailed if the environment fails.
    """
    with ranks() as comm, release_locks():
        folder = on_root(comm, lambda: folder_of(run))
        with standing_for(handed_over(folder, env=env)):
            return trained.evaluate(folder, episodes, seed, sample, comm)


def check(algorithm: str | type, env: Environment = "CartPole-v1", *, updates: int = 2, **settings: Any) -> bool:
    """Test whether an algorithm gives the same bits again and after a resume; print one line per test.

    Returns whether all tests pass. algorithm: your own class. env, settings: as for `train`. updates: at least 2.
    All tests run in this process; `minitrpo check` also tests two ranks.
    """
    asked = {"env": named(env), "algorithm": named(algorithm), **settings}
    choice = make_job(asked, *beginning(asked)).choice
    with ranks():
        return keeps_promises(choice, updates, alone=True)


def folder_of(run: "Run | str | Path") -> RunFolder:
    """Return the folder of a run; BadInput if there is none."""
    return RunFolder.open(os.fspath(run))


def named(thing: Any) -> Any:
    """Return the name of a class or function, and a name as it is; BadInput for an environment that is made already."""
    if isinstance(thing, gymnasium.Env):
        raise BadInput("env is an environment that was made already: hand over its id, its class, or what makes it")
    if isinstance(thing, gymnasium.vector.VectorEnv):
        raise BadInput(f"env steps many at once: hand over what makes one of them, and num_envs={thing.num_envs}")
    if isinstance(thing, str):
        trust(thing)
    return thing if thing is None or isinstance(thing, str) else name_of(thing)


def handed_over(folder: RunFolder, **given: Any) -> dict[str, Any]:
    """Return what a run's own names are to stand for; BadInput if the caller hands over another name."""
    trusted(folder, {key: thing for key, thing in given.items() if isinstance(thing, str)})
    settings = folder.read_config()["settings"]
    return {settings[key]: thing for key, thing in given.items() if not isinstance(thing, str | None)}


def number(text: str) -> Any:
    """Return a cell of metrics.csv as an int or a float; as text where it is a word."""
    for kind in (int, float):
        try:
            return kind(text or "nan")
        except ValueError:
            continue
    return text
