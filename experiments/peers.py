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
from minitrpo.course.statistics import Interval, iqm, iqm_interval
from minitrpo.errors import JobFailed
from minitrpo.policies import Array

OURS, THEIRS = "minitrpo", "stable-baselines3"
LONGER = {name: FAMILIES[name]._replace(updates=n) for name, n in (("ppo", 49), ("a2c", 25), ("dqn", 20))}
DRAWS = 2_000  # of the bootstrap
FEW = 5  # updates are too few for a bootstrap, which never leaves their range


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


def whole(run: Run) -> Array:
    """Return the seconds of every update of a round, collecting and updating, (updates,)."""
    return np.sum(curve(run, "collect_s", "update_s"), axis=0)


def times_as_fast(reference: list[Run], runs: list[Run]) -> Interval:
    """Return how many times as fast a system's median update is as that of the reference, with its interval.

    A bootstrap draws rounds, the same ones for both systems, since they took turns, and in each of these rounds updates
    of either system. Of FEW updates or less, the ends are the lowest and the highest ratio of a round.
    """
    pairs = [(whole(one), whole(other)) for one, other in zip(reference, runs, strict=False)]
    ones, others = (np.array(each) for each in zip(*pairs, strict=True))  # (rounds, updates)
    middle = float(np.median(ones) / np.median(others))
    if others.size <= FEW:
        rounds = np.median(ones, axis=1) / np.median(others, axis=1)
        return Interval(middle, float(rounds.min()), float(rounds.max()))
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(pairs), size=(DRAWS, len(pairs), 1))
    medians = [
        np.median(seconds[drawn, rng.integers(seconds.shape[1], size=(DRAWS, *seconds.shape))], axis=(1, 2))
        for seconds in (ones, others)
    ]
    return Interval(middle, *np.percentile(medians[0] / medians[1], [2.5, 97.5]).tolist())


def report(family: Family, experiment: Experiment, runs: Runs) -> str:
    """Return the table of whole iterations, ours and other libraries'."""
    rows, few, (reference, _) = [], False, compared_with(family, runs)
    for (system, _), some in runs.items():
        phases = np.concatenate([curve(run, "collect_s", "update_s") for run in some], axis=1)
        few = few or phases.shape[1] <= FEW
        rate, peak = np.median(family.steps / phases.sum(axis=0)), max(run["peak_mb"] for run in some)
        faster = ("1", "-")
        if system != reference:
            ratio = times_as_fast(runs[reference, family.env], some)
            faster = (f"{ratio.middle:.2f}", f"{ratio.low:.2f} to {ratio.high:.2f}")
        rows.append((system, f"{rate:,.0f}", *(f"{np.median(s):.2f}" for s in phases), f"{peak:.0f}", *faster))
    header = ("system", "steps/s", "collecting, s", "updating, s", "peak MB/process")
    rounds = max(len(some) for some in runs.values())
    between = f"lowest to highest of {rounds} rounds" if few else "95 % interval"
    return table((*header, f"times {reference.partition(',')[0]}", between), rows)


def compared_with(family: Family, runs: Runs) -> tuple[str, str]:
    """Return the arm that others are compared with: the reference, or where it has no run the first one."""
    reference = (family.reference, family.env)
    return reference if reference in runs else next(iter(runs))


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
