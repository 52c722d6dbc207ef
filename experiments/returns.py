"""Learning curves: minitrpo as typed, and sb3-contrib with rl-zoo's settings, on the same environments.

The score of a run is the mean return of its last 100 training episodes, actions sampled, in the environment's own
rewards. Seconds do not count.
"""

import csv
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.harness import Arm, Experiment, Job, Measured, Runs, Size, alone, train
from experiments.pictures import axes_of, headed, legend
from experiments.tables import DATA, Run, aligned, curve
from experiments.tables import markdown as table
from minitrpo.algorithms.trpo_settings import PRESETS
from minitrpo.course.seeds import corrected
from minitrpo.course.statistics import LEVEL, Interval, difference_interval, iqm, iqm_interval
from minitrpo.policies import Array
from minitrpo.reports.plots import BLUE, ORANGE

OURS, THEIRS, LONGER = "minitrpo", "sb3-contrib", "minitrpo, longer"  # where ours did not reach theirs
PLAIN = "one setting"  # without the values that these environments have of their own
SEEDS = {1: "one seed", 2: "two seeds"}
FEWEST = 3  # seeds: of two, a bootstrap gives the lower and the higher one, which is an interval of 50 %
LAST, POINTS = 100, 100  # episodes that a score is the mean of; points of a recorded curve, at most
MILLION = ("HalfCheetah-v5", "Hopper-v5", "Walker2d-v5", "Swimmer-v5", "Reacher-v5", "InvertedDoublePendulum-v5")
STEPS = dict.fromkeys(MILLION, 1_000_000) | dict.fromkeys(("CartPole-v1", "Pendulum-v1"), 100_000)
STEPS |= dict.fromkeys(("Ant-v5", "Humanoid-v5"), 1_000_000)
SLOW = ("Ant-v5", "Humanoid-v5")  # two seeds
OWN = PRESETS["default"].by_env  # environments with values of their own


def last_episodes(columns: dict[str, Array]) -> dict[str, Array]:
    """Return at most POINTS rows: environment steps, and the mean return of about the last 100 episodes."""
    episodes, ended = columns["episodes"], np.flatnonzero(columns["episodes"])
    sums = (np.cumsum(each) for each in (episodes, episodes * np.nan_to_num(columns["mean_return"])))
    count, total = (np.concatenate([[0.0], each]) for each in sums)
    first = np.searchsorted(count[1:], count[1:] - LAST, side="right")  # rows from here on have enough of them
    means = (total[1:] - total[first])[ended] / (count[1:] - count[first])[ended]
    return few({"env_steps": columns["env_steps"][ended], "mean_return": means})


def few(points: dict[str, Array]) -> dict[str, Array]:
    """Return at most POINTS rows, equally spaced, with the last one."""
    every = max(1, -(-len(points["env_steps"]) // POINTS))
    return {name: values[::-every][::-1] for name, values in points.items()}


def measure(job: Job, ranks: int, folder: Path) -> Measured:
    """Return the curve of a run of ours, or of theirs in a process of its own."""
    if job.arm.name == THEIRS:
        steps, means = np.transpose(alone(theirs, job.arm.env, job.steps, job.seed)[0])
        return {}, {"curves": few({"env_steps": steps, "mean_return": means})}
    out, theta = train(job, ranks, folder)
    return {"theta": theta}, {"curves": last_episodes(out.columns())}


def theirs(*given: Any, **options: Any) -> Any:
    """Return what `experiments.systems.sb3.trained` returns, which takes PyTorch."""
    from experiments.systems.sb3 import trained

    return trained(*given, **options)


def ends(runs: list[Run]) -> Array:
    """Return the scores of runs, (seeds,)."""
    return np.array([curve(run)[1][-1] for run in runs])


def final(env: str, runs: list[Run]) -> tuple[str, str]:
    """Return the interquartile mean of the scores of runs, how many they are, and its interval.

    Of fewer than FEWEST seeds, of which a bootstrap is no interval, the range.
    """
    last, form = ends(runs), form_of(env)
    low, high = iqm_interval(last) if len(last) >= FEWEST else (last.min(), last.max())
    of_few = "" if len(last) >= FEWEST else "range "
    return f"{float(iqm(last)):{form}} ({len(runs)})", f"{of_few}{low:{form}} to {high:{form}}"


def chances(pairs: Sequence[tuple[Array, Array]]) -> Array:
    """Return of each pair the p value of equal means by Welch's test, corrected for all of them (Holm)."""
    from scipy.stats import ttest_ind

    found = np.nan_to_num([ttest_ind(*pair, equal_var=False).pvalue for pair in pairs], nan=1.0)
    return np.asarray(corrected(found))


def apart(pairs: Sequence[tuple[Array, Array]]) -> list[tuple[Interval, bool]]:
    """Return the difference of the means of each pair, with Welch's interval, and whether it is beyond chance.

    All are asked at once (Holm).
    """
    return [
        (difference_interval(*pair), bool(chance < 1 - LEVEL))
        for pair, chance in zip(pairs, chances(pairs), strict=True)
    ]


def compared(runs: Runs) -> dict[str, tuple[Array, Array]]:
    """Return our scores and sb3-contrib's on each environment that both have."""
    envs = [env for env in STEPS if (OURS, env) in runs and (THEIRS, env) in runs]
    return {env: (ends(runs[OURS, env]), ends(runs[THEIRS, env])) for env in envs}


def differences(runs: Runs) -> dict[str, tuple[Interval, bool]]:
    """Return our mean score minus sb3-contrib's on each environment, as `apart` does."""
    pairs = compared(runs)
    return dict(zip(pairs, apart([*pairs.values()]), strict=True))


def corrected_chances(runs: Runs) -> dict[str, float]:
    """Return the corrected p value of each of these differences."""
    pairs = compared(runs)
    return dict(zip(pairs, chances([*pairs.values()]).tolist(), strict=True))


def of_seeds(difference: str, runs: list[Run]) -> str:
    """Return the cell of a difference; it says how many seeds it has if they are fewer than FEWEST."""
    return difference if len(runs) >= FEWEST else f"{difference}, {SEEDS[len(runs)]}"


def form_of(env: str) -> str:
    """Return how returns of an environment are written."""
    return ".2f" if env == "Reacher-v5" else ".0f"


def report(experiment: Experiment, runs: Runs) -> str:
    """Return the table of final returns with sb3-contrib's, and of the differences of the means."""
    header = ("environment", "steps", f"{OURS}, IQM", "95 % interval", "version", f"{THEIRS}, IQM", "95 % interval")
    rows, found_of = [], differences(runs)
    for env in (env for env in STEPS if (OURS, env) in runs):
        versions, cells = ", ".join(sorted({run["version"] for run in runs[OURS, env]})), ["-", "-", "-"]
        if env in found_of:
            found, beyond = found_of[env]
            difference = of_seeds(f"{found:{form_of(env)}}", runs[THEIRS, env])
            cells = [*final(env, runs[THEIRS, env]), f"**{difference}**" if beyond else difference]
        rows.append((env, f"{STEPS[env]:,}", *final(env, runs[OURS, env]), versions, *cells))
    return table((*header, "ours minus theirs, means"), rows)


def report_plain(experiment: Experiment, runs: Runs) -> str:
    """Return the table of final returns and means over all steps without own values, and by how much the means differ.

    The interval is Welch's.
    """
    rows, typed = [], EXPERIMENT.runs()
    for (_, env), some in runs.items():
        finals = (*final(env, some), *final(env, typed[OURS, env]))
        curves = [[curve(run) for run in each] for each in (some, typed[OURS, env])]
        means = [[float(np.trapezoid(y, x) / np.ptp(x)) for x, y in each] for each in curves]
        rows.append((env, *finals, of_seeds(f"{difference_interval(*means):{form_of(env)}}", some)))
    header = ("environment", f"{PLAIN}, IQM", "95 % interval", "as typed, IQM", "95 % interval")
    return table((*header, f"{PLAIN} minus as typed: mean over all steps"), rows)


def published() -> str:
    """Return the table of returns that others have published, each with the letter of its source on the page."""
    of_environment: dict[str, list[str]] = {}
    with (DATA / "published" / "returns.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            of_environment.setdefault(row["environment"], []).append(f"{row['return']} ({row['source']})")
    rows = [(env, ", ".join(values)) for env, values in of_environment.items()]
    return table(("environment", "published returns of TRPO, final or best"), rows, text=2)


def draw(figure: Any, experiment: Experiment, runs: Runs) -> None:
    """Draw the interquartile mean over seeds and their range, against environment steps."""
    axes = axes_of(figure, [env for env in STEPS if (OURS, env) in runs or (THEIRS, env) in runs], across=4)
    for env, axis in axes.items():
        for system, color in ((OURS, BLUE), (THEIRS, ORANGE)):
            if some := runs.get((system, env)):
                grid, each = aligned(list(map(curve, some)), partial(np.linspace, num=100))
                axis.plot(grid / 1e3, iqm(each, axis=0), color=color, label=system)
                axis.fill_between(grid / 1e3, each.min(axis=0), each.max(axis=0), color=color, alpha=0.18, linewidth=0)
        axis.set(xlabel="thousand environment steps", ylabel="return, last 100 episodes", title=headed(env, runs))
    legend(figure, axes)


EXPERIMENT = Experiment(
    name="returns",
    title="learning curves as typed, and sb3-contrib's with rl-zoo's settings",
    arms=(*(Arm(system, env, "", 1) for env in STEPS for system in (OURS, THEIRS)), Arm(LONGER, "Walker2d-v5", "", 1)),
    full=Size(5, STEPS, times={LONGER: 2}, other=dict.fromkeys(SLOW, 2)),
    quick=Size(2, {"CartPole-v1": 20_000, "Pendulum-v1": 20_000}, only=(OURS,)),
    measure=measure,
    draw=draw,
    report=report,
    packages=("torch", "stable-baselines3", "sb3-contrib"),
)
ONE_SETTING = Experiment(
    name="one_setting",
    title="learning curves without the values that environments have of their own",
    arms=tuple(Arm(PLAIN, env, "--preset plain", 1) for env in STEPS if env in OWN),
    full=Size(5, STEPS, other=dict.fromkeys(SLOW, 2)),
    quick=Size(2, {"CartPole-v1": 20_000, "Pendulum-v1": 20_000}),
    measure=measure,
    report=report_plain,
    data="returns",
)
