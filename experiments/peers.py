"""Whole training iterations, ours and other libraries': same environment, batch, network and passes over the batch.

Every system runs in a process of its own, started afresh in every round; the rounds go through all systems by turns.
The first update is not counted. Libraries keep their own defaults in everything that the workload does not name, the
number of threads among it. tianshou and rlox take full-batch critic steps, as many as the others have epochs over
minibatches of 128. RLtools collects and updates in one call: all of its time is counted as collecting. `peer_returns`:
what is compared in seconds learns alike.
"""

import json
import resource
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np

from experiments.harness import Arm, Experiment, Job, Measured, Runs, Size, alone, train
from experiments.returns import last_episodes
from experiments.systems import FAMILIES, Family, ours
from experiments.systems import train as timed
from experiments.tables import Run, curve
from experiments.tables import markdown as table
from minitrpo.course.speedup.statistics import interval
from minitrpo.course.statistics import Interval, iqm, iqm_interval
from minitrpo.errors import JobFailed
from minitrpo.policies import Array

OURS, THEIRS = "minitrpo", "stable-baselines3"
LONGER = {name: FAMILIES[name]._replace(updates=n) for name, n in (("ppo", 49), ("a2c", 25), ("dqn", 20))}
FEW = 5  # measurements whose bootstrap bounds are the lowest and the highest of them: 94 % for five, 50 % for two


def measure(family: str, job: Job, ranks: int, folder: Path) -> Measured:
    """Return the seconds of the updates of one system, and the memory of its largest process."""
    words = [sys.executable, "-W", "ignore", "-m", "experiments.peers", family, job.arm.name]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=1800)
    if done.returncode != 0:
        raise JobFailed(f"{job.arm.name}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    collect, update, peak = json.loads(done.stdout.splitlines()[-1])
    return {"peak_mb": peak}, {"times": {"collect_s": collect, "update_s": update}}


def one(family: str, system: str) -> None:
    """Run one system in this process; the last line on stdout is JSON."""
    times = list(timed(FAMILIES[family], system))[1:]
    who = resource.RUSAGE_CHILDREN if system.startswith(OURS) else resource.RUSAGE_SELF
    unit = 1024 if sys.platform == "linux" else 1024**2
    print(json.dumps([*zip(*times, strict=True), round(resource.getrusage(who).ru_maxrss / unit)]))


def times(runs: list[Run]) -> Array:
    """Return the seconds of collecting and of updating, of every update of all rounds, (2, updates)."""
    return np.concatenate([curve(run, "collect_s", "update_s") for run in runs], axis=1)


def report(family: Family, experiment: Experiment, runs: Runs) -> str:
    """Return the table of whole iterations, ours and other libraries'."""
    compared_with = runs.get((family.reference, family.env), next(iter(runs.values())))
    reference = float(np.median(times(compared_with).sum(axis=0)))
    rows, count = [], min(times(some).shape[1] for some in runs.values())
    for (system, _), some in runs.items():
        seconds = times(some)
        rate, peak = np.median(family.steps / seconds.sum(axis=0)), max(run["peak_mb"] for run in some)
        ratios = reference / seconds.sum(axis=0)
        faster = (f"{np.median(ratios):.2f}", "{:.2f} to {:.2f}".format(*interval(ratios)))
        rows.append((system, f"{rate:,.0f}", *(f"{np.median(s):.2f}" for s in seconds), f"{peak:.0f}", *faster))
    header = ("system", "steps/s", "collecting, s", "updating, s", "peak MB/process")
    spread = "95 % interval" if count > FEW else f"lowest to highest of {count}"
    return table((*header, f"times {family.reference.partition(',')[0]}", spread), rows)


def of_family(name: str, family: Family) -> Experiment:
    """Return the comparison of one family of algorithms."""
    words = f"--steps {family.steps} --updates {family.updates}"
    return Experiment(
        name="peers" if name == "trpo" else f"peers_{name}",
        title=f"whole iterations of {name}, ours and other libraries'",
        arms=tuple(Arm(system, family.env, words, 2) for system in family.systems),
        full=Size(family.rounds),
        quick=Size(1, only=tuple(system for system in family.systems if system.startswith(OURS))),
        measure=partial(measure, name),
        report=partial(report, family),
        data="peers",
        seconds=True,
        packages=family.packages,
    )


# --- returns at the same settings


def score(job: Job, ranks: int, folder: Path) -> Measured:
    """Return the mean return of the last 100 training episodes of a run."""
    family, _, system = job.arm.name.partition(", ")
    if system == OURS:
        return {"score": last_episodes(train(job, 1, folder)[0].columns())["mean_return"][-1]}, {}
    return {"score": alone(their_score, family, job.seed)}, {}


def their_score(family: str, seed: int) -> float:
    """Return the score of stable-baselines3."""
    from experiments.systems.sb3_peers import model_of  # which takes PyTorch

    work = LONGER[family].work
    model = model_of(work, seed)
    model.learn(work.steps * work.updates)
    return float(np.mean([episode["r"] for episode in model.ep_info_buffer]))


def score_arm(family: str, system: str) -> Arm:
    """Return a run of the same settings as in `peers`, only longer."""
    words = ours.words_of(LONGER[family].work) if system == OURS else ["--family", family]
    return Arm(f"{family}, {system}", LONGER[family].env, " ".join(words), 1)


def scores_report(experiment: Experiment, runs: Runs) -> str:
    """Return the table of returns, ours and stable-baselines3's."""
    rows = []
    for (name, env), some in runs.items():
        family, _, system = name.partition(", ")
        scores, steps = np.array([run["score"] for run in some]), LONGER[family].steps * LONGER[family].updates
        rows.append((family, env, f"{steps:,}", system, f"{Interval(float(iqm(scores)), *iqm_interval(scores)):,.1f}"))
    return table(("algorithm", "environment", "steps", "system", "interquartile mean return, 95 % interval"), rows)


EXPERIMENTS = [of_family(name, family) for name, family in FAMILIES.items()]
EXPERIMENTS += [
    Experiment(
        name="peer_returns",
        title="returns with the settings of peers, ours and stable-baselines3's",
        arms=tuple(score_arm(family, system) for family in LONGER for system in (OURS, THEIRS)),
        full=Size(5),
        quick=Size(1, only=("a2c, minitrpo",)),
        measure=score,
        report=scores_report,
        packages=("torch", "stable-baselines3"),
    )
]

if __name__ == "__main__":
    one(*sys.argv[1:])
