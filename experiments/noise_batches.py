"""What batches and limits `--adapt noise` chooses from the default settings, and what it costs to measure the noise."""

import contextlib
import io
import time
from pathlib import Path
from typing import Any

from experiments import rules
from experiments.harness import Arm, Experiment, Job, Measured, Runs, Size, alone
from experiments.tables import markdown as table
from minitrpo.algorithms import parallel_trpo
from minitrpo.commands.train import main as train
from minitrpo.run_folder.folder import RunFolder

LEAST_STEPS, MOST_KL = 2_000, 0.1  # the rule's limits


def trained(job: Job, folder: Path) -> Measured:
    """Return which share of the updates are at the rule's limits, and the measurement's share of the CPU seconds."""
    measure, spent = parallel_trpo.measure_noise, [0.0]

    def timed(*arguments: Any) -> Any:
        began = time.process_time()
        measured = measure(*arguments)
        spent[0] += time.process_time() - began
        return measured

    parallel_trpo.measure_noise = timed
    began = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        train([*job.words, "--seed", str(job.seed), "--out", str(folder / "run"), "--progress", "none"])
    cpu = time.process_time() - began
    columns = RunFolder(folder / "run").columns()
    least, most = columns["steps_per_update"] <= LEAST_STEPS, columns["max_kl"] >= MOST_KL
    return {"least": least.mean(), "most": most.mean(), "updates": len(least), "measuring": spent[0] / cpu}, {}


def report(experiment: Experiment, runs: Runs) -> str:
    """Return a column for each environment: the shares of updates at the limits, and of CPU time for measuring."""
    lines = {
        f"of {LEAST_STEPS:,} steps": [f"{100 * some[0]['least']:.0f} %" for some in runs.values()],
        f"with max-KL {MOST_KL:g}": [f"{100 * some[0]['most']:.0f} %" for some in runs.values()],
        "CPU time of measuring the noise": [f"{100 * some[0]['measuring']:.1f} %" for some in runs.values()],
    }
    header = ("updates (one run of each environment, seed 0)", *(env.partition("-")[0] for _, env in runs))
    return table(header, [(words, *cells) for words, cells in lines.items()])


EXPERIMENT = Experiment(
    name="noise_batches",
    title="batches and limits that the rule chooses, and its cost",
    arms=tuple(Arm(rules.NOISE, env, rules.arm(env, rules.NOISE, rules.RIGHT).words, 1) for env in sorted(rules.STEPS)),
    full=Size(1, rules.STEPS),
    quick=Size(1, {"CartPole-v1": 20_000}),
    measure=lambda job, ranks, folder: alone(trained, job, folder),
    report=report,
)
