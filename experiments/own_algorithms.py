"""The examples of an algorithm of one's own in mpi_scripts/own, as typed, five seeds each."""

import contextlib
import io
import sys
from pathlib import Path

import numpy as np

from experiments.harness import Arm, Experiment, Job, Measured, Runs, Size, alone
from experiments.tables import markdown as table
from minitrpo.commands.train import main as train
from minitrpo.run_folder.folder import RunFolder

FOLDER = Path(__file__).parents[1] / "mpi_scripts" / "own"
sys.path.append(str(FOLDER))  # train looks for the module of --algorithm there
EXAMPLES = {
    "ES": ("CartPole-v1", "--algorithm evolution_strategies:ES"),
    "Impala": ("CartPole-v1", "--algorithm impala:Impala --transport events"),
    "SAC": ("Pendulum-v1", "--algorithm sac:SAC"),
}
LAST = 0.1  # of a run, over which its final return is the mean


def trained(job: Job, folder: Path) -> Measured:
    """Return the mean training return over the last tenth of a run, and its steps."""
    with contextlib.redirect_stdout(io.StringIO()):
        train([*job.words, "--seed", str(job.seed), "--out", str(folder / "run"), "--progress", "none"])
    columns = RunFolder(folder / "run").columns()
    steps = columns["env_steps"]
    late = steps > (1 - LAST) * steps[-1]
    return {"final": np.nanmean(columns["mean_return"][late]), "total_steps": steps[-1]}, {}


def report(experiment: Experiment, runs: Runs) -> str:
    """Return a row for each example: the lowest and the highest final return of its seeds, and the steps of a run."""
    rows = []
    for (name, env), some in runs.items():
        final, steps = ([run[column] for run in some] for column in ("final", "total_steps"))
        span = f"{min(final):.0f} to {max(final):.0f}"
        rows.append((f"`{name}`", env, span, f"{len(some)}", f"{np.median(steps):,.0f}"))
    header = ("example", "task", "return over the last tenth of a run, lowest to highest seed", "seeds")
    return table((*header, "steps, median"), rows, text=2)


EXPERIMENT = Experiment(
    name="own_algorithms",
    title="the examples of an algorithm of one's own",
    arms=tuple(Arm(name, env, words, 1) for name, (env, words) in EXAMPLES.items()),
    full=Size(5),
    quick=Size(1),
    measure=lambda job, ranks, folder: alone(trained, job, folder),
    report=report,
)
