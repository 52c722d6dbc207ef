"""minitrpo from Python: train, load and evaluate in the calling process, with exceptions instead of exit codes."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium

from minitrpo.commands.check import keeps_promises
from minitrpo.commands.command_line import trusted
from minitrpo.commands.plot import compare
from minitrpo.commands.train import check_display, display, draw
from minitrpo.errors import BadInput
from minitrpo.experience.evaluation import Evaluation
from minitrpo.experience.trust import name_of, standing_for, trust
from minitrpo.parallel.comm import on_root
from minitrpo.policies import Array
from minitrpo.reports import trained_policy
from minitrpo.reports.progress import LiveCurve
from minitrpo.reports.trained_policy import TrainedPolicy
from minitrpo.run_folder.folder import RunFolder, release_locks
from minitrpo.run_folder.provenance import in_notebook
from minitrpo.supervision.program import ranks
from minitrpo.training.job import make_job, settings_to_begin_with
from minitrpo.training.start import begin, run_loop

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
        """Return all settings by name; this and all other methods raise BadInput if there is no run."""
        return dict(folder_of(self).read_config()["settings"])

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of metrics.csv, one for each update, as numbers; NaN where a cell is empty."""
        return [{name: number(text) for name, text in row.items()} for row in folder_of(self).rows()]

    def plot(self, *others: "Run | str | Path") -> Any:
        """Draw the returns of this run and of others, as `minitrpo plot` does.

        Args:
            others: further runs, or their folders.

        Returns:
            A matplotlib Figure: a notebook shows it, and its method `savefig` writes it.

        """
        return compare([folder_of(run) for run in (self, *others)])

    def explain(self, episodes: int | None = None, *, env: Environment | None = None) -> Any:
        """Say why the run does not learn and where its time goes, as `minitrpo explain` prints it.

        Args:
            episodes: the number of episodes to play, by default few enough for 20 seconds.
            env: as for `load`.

        Returns:
            An Explanation, which prints as text and which a notebook shows with a picture.

        Raises:
            BadInput: as for `load`.

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
    """Train a policy in this process; under mpiexec all ranks make the same call and share the work.

    After KeyboardInterrupt the run can be resumed from its last checkpoint.

    Args:
        env: a Gymnasium id, or a class or function that makes an environment.
        algorithm: the name of an algorithm, or a class of your own.
        total_steps: the number of environment steps.
        seed: the seed of all random numbers.
        out: the new run folder, by default the next free runs/ENV-seedS-NN.
        resume: a run to continue, to the same bits; a larger total_steps extends it.
        progress: auto, bar, lines or none; in a notebook also plot, a learning curve that is updated during the run.
        settings: those of `minitrpo train --help`, for example steps_per_update=5000, hidden="32,32", preset="paper".

    Returns:
        The finished run.

    Raises:
        BadInput: an argument is wrong; it is a ValueError.
        EpisodeFailed: the environment failed; other exceptions of the environment or the algorithm are passed on.
        AlgorithmFailed: the algorithm returned something that cannot be used.

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
            job = make_job(asked, *settings_to_begin_with(asked))
            check_display(job, comm)
            context = begin(job, comm)
            path = context.folder.path
            if comm.rank == 0 and progress != "none":
                name, seed = context.settings.env, context.settings.seed
                print(f"{name}: {comm.size} rank(s), seed {seed}, run folder {os.path.relpath(path)}")
            curve = partial(LiveCurve, context.folder, context.settings.total_steps)
            show = (lambda _: curve()) if progress == "plot" else display(context, job, comm)
            run_loop(context, job, comm, show)
            if comm.rank == 0:
                draw(context)
            comm.barrier()
    return Run(path)


def load(run: "Run | str | Path", *, env: Environment | None = None) -> TrainedPolicy:
    """Return the policy of a run.

    Args:
        run: a run, or its folder.
        env: the class or function that makes the environment, if this process cannot import the one of the run.

    Returns:
        A policy: `policy(observation)` is the action that the environment's `step` takes.

    Raises:
        BadInput: there is no run, or it does not fit its environment.

    """
    folder = folder_of(run)
    with standing_for(handed_over(folder, env=env)):
        return trained_policy.trained(folder)


def evaluate(
    run: "Run | str | Path", episodes: int = 100, *, seed: int = 0, sample: bool = False, env: Environment | None = None
) -> Evaluation:
    """Play fresh episodes with the policy of a run, which takes its best action in every step.

    Under mpiexec all ranks make the same call and get the same numbers, for any number of ranks. If an environment has
    no time limit, an episode ends after 10,000 steps.

    Args:
        run: a run, or its folder.
        episodes: the number of episodes.
        seed: chooses the episodes; none begins in an initial state of the training.
        sample: draw actions as in training, instead of taking the best ones.
        env: as for `load`.

    Returns:
        An Evaluation: the `returns` of the episodes, their `mean` and its 95 % `interval`.

    Raises:
        BadInput: as for `load`.
        EpisodeFailed: the environment failed.

    """
    with ranks() as comm, release_locks():
        folder = on_root(comm, lambda: folder_of(run))
        with standing_for(handed_over(folder, env=env)):
            return trained_policy.evaluate(folder, episodes, seed, sample, comm)


def check(algorithm: str | type, env: Environment = "CartPole-v1", *, updates: int = 2, **settings: Any) -> bool:
    """Test whether an algorithm gives the same bits again and after a resume; print one line per test.

    All tests run in this process; `minitrpo check` also tests two ranks.

    Args:
        algorithm: a class of your own, or the name of an algorithm.
        env: as for `train`.
        updates: the number of updates of each test, at least 2.
        settings: as for `train`.

    Returns:
        Whether all tests pass.

    Raises:
        BadInput: nothing can be trained with these settings.

    """
    asked = {"env": named(env), "algorithm": named(algorithm), **settings}
    choice = make_job(asked, *settings_to_begin_with(asked)).choice
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
