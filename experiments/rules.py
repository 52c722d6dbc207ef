"""Rules that choose steps/update and max-KL while learning, and fixed settings, from good and from bad starts.

The score of a run is the mean over its environment steps of the mean training return, in the environment's own rewards.
Normalised, 0 is the return before any learning (the mean over all runs of their first row), and 1 what the best fixed
setting ends with (the mean over seeds of the last tenth of a run): neither depends on the rules that are compared.
Seconds are of the processor, since several runs may go on at a time.
"""

import contextlib
import io
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.harness import Arm, Experiment, Job, Measured, Runs, Size, alone
from experiments.pictures import possible
from experiments.returns import few
from experiments.tables import Run, curve
from experiments.tables import markdown as table
from minitrpo.commands.plot import COLORS
from minitrpo.commands.train import main as train
from minitrpo.course.statistics import Interval, difference_interval, mean_interval
from minitrpo.policies import Array
from minitrpo.run_folder.folder import RunFolder

STEPS = {"CartPole-v1": 100_000} | dict.fromkeys(("Pendulum-v1", "InvertedDoublePendulum-v5", "Reacher-v5"), 150_000)
STEPS |= dict.fromkeys(("Swimmer-v5", "Hopper-v5", "HalfCheetah-v5", "Walker2d-v5"), 200_000)
# Environments that played no part when the rule was made; Ant alone has settings of its own
ELSEWHERE = {"Acrobot-v1": 100_000, "Pusher-v5": 150_000, "InvertedPendulum-v5": 100_000, "Ant-v5": 150_000}
ELSEWHERE |= {"pybullet_envs_gymnasium:HopperBulletEnv-v0": 100_000}
ELSEWHERE |= {"experiments.panel_environments:panel/GridLavaGap-v0": 100_000}
FIXED, ONE_FOR_ALL, NO_MARGIN, MARGIN = "fixed", "fixed, one for all", "published, no margin", "published, margin"
NOISE = "noise"
RULES = {FIXED: "--adapt none", ONE_FOR_ALL: "--adapt none", NO_MARGIN: "--adapt both --margin 0"}
RULES |= {MARGIN: "--adapt both", NOISE: "--adapt noise"}
MIDDLE = 0.04  # of the max-KL that environments have by default: that of one for all
# As typed. When the runs were recorded Hopper had a discount of 0.99, and CartPole lambda 0.97 and a deviation of 1
KL = {"CartPole-v1": 0.02, "Pendulum-v1": 0.02, "Reacher-v5": 0.04, "Walker2d-v5": 0.04, "Ant-v5": 0.08}
KL |= {"Hopper-v5": 0.12, "HalfCheetah-v5": 0.12}
BATCH = dict.fromkeys(STEPS, 2_048) | dict.fromkeys(ELSEWHERE, 512) | {"Ant-v5": 2_048}  # what is typed
Start = tuple[float, float]  # how many times the default's steps/update and max-KL
RIGHT, *BAD = STARTS = ((1, 1), (10, 1), (0.1, 1), (1, 10), (1, 0.1))
ARMS = {rule: (RIGHT,) if rule in (ONE_FOR_ALL, NO_MARGIN) else STARTS for rule in RULES}
ROWS, RESAMPLES = 1_000, 2_000  # places at which a curve is read to have its mean; draws of an interval
Pairs = list[tuple[Array, Array]]  # scores of the seeds of one arm, and of another
Scores = dict[str, dict[tuple[str, Start], Array]]  # environment -> arm -> scores of the seeds


def short(env: str) -> str:
    """Return the name of an environment without the package that registers it."""
    return env.split("/")[-1].split(":")[-1]


def called(rule: str, start: Start) -> str:
    """Return the name of an arm."""
    return f"{rule}: steps x {start[0]:g}, max-KL x {start[1]:g}"


def arm(env: str, rule: str, start: Start) -> Arm:
    """Return a run that begins with the default settings times these factors."""
    kl = MIDDLE if rule == ONE_FOR_ALL else float(f"{start[1] * KL.get(env, 0.01):.6g}")
    words = f"--steps-per-update {round(start[0] * BATCH[env])} --max-kl {kl} {RULES[rule]}"
    return Arm(called(rule, start), env, words, 1)


def trained(job: Job, folder: Path) -> Measured:
    """Return the score of a run and its curve; the seconds of this process are the run's."""
    began = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        train([*job.words, "--seed", str(job.seed), "--out", str(folder / "run"), "--progress", "none"])
    columns = RunFolder(folder / "run").columns()
    cpu = (time.process_time() - began) / columns["time_s"][-1]  # of a second
    ended = np.flatnonzero(columns["episodes"])
    returns = at_places(columns["env_steps"][ended], columns["mean_return"][ended], job.steps)
    points = {name: columns[name][ended] for name in ("env_steps", "mean_return")}
    points |= {"cpu_s": cpu * columns["time_s"][ended]}
    return {"score": returns.mean(), "end": returns[-ROWS // 10 :].mean()}, {"curves": few(points)}


def at_places(x: Array, y: Array, until: float) -> Array:
    """Return y at ROWS equally spaced places from 0 to `until` of x, (ROWS,)."""
    return np.interp((np.arange(ROWS) + 0.5) * until / ROWS, x, y)


# --- scores


def rules_of(env: str) -> tuple[str, ...]:
    """Return the rules that are compared on an environment."""
    return (FIXED, NOISE) if env in ELSEWHERE else tuple(RULES)


def by_env(runs: Runs) -> dict[str, dict[tuple[str, Start], list[Run]]]:
    """Return the runs of those seeds that all arms of an environment have; environments without any are left out."""
    found = {}
    for env in sorted({env for _, env in runs}):
        keys = [(rule, start) for rule in rules_of(env) for start in ARMS[rule]]
        arms = {key: runs.get((called(*key), env), []) for key in keys}
        if seeds := min(map(len, arms.values())):
            found[env] = {key: some[:seeds] for key, some in arms.items()}
    return found


def normalised(runs: Runs, clock: bool = False) -> Scores:
    """Return normalised scores; with `clock` means over the seconds that the default takes, instead of over steps."""
    scores: Scores = {}
    for env, arms in by_env(runs).items():
        low = np.mean([run["curves"]["mean_return"][0] for some in arms.values() for run in some])
        high = max(np.mean([run["end"] for run in arms[FIXED, start]]) for start in STARTS)
        until = float(np.median([run["curves"]["cpu_s"][-1] for run in arms[FIXED, RIGHT]]))
        for key, some in arms.items():
            each = [at_places(*curve(run, "cpu_s"), until).mean() if clock else run["score"] for run in some]
            scores.setdefault(env, {})[key] = (np.array(each) - low) / (high - low)
    return scores


def over(scores: Scores, rule: str, starts: Sequence[Start]) -> list[Array]:
    """Return the scores of a rule in each environment, seed by seed, as means over some starts."""
    return [np.mean([of_env[rule, start] for start in starts], axis=0) for of_env in scores.values()]


def over_environments(each: Sequence[Array]) -> Array:
    """Return the mean over environments, seed by seed, of as many seeds as all have, (S,).

    Seeds of two environments have nothing to do with each other: the spread of these means is that of the mean.
    """
    seeds = min(map(len, each))
    return np.mean([values[:seeds] for values in each], axis=0)


def wins(one: Array, other: Array) -> Array:
    """Return 1 where a run of `one` (row) scores more than a run of `other` (column), one half where it is a tie."""
    return (one[:, None] > other) + 0.5 * (one[:, None] == other)


def improvement(environments: list[Pairs], resamples: int = RESAMPLES) -> tuple[float, Interval, Interval]:
    """Return how often a run of one arm scores more than one of another: the mean over pairs, then over environments.

    With its 95 % interval over draws of the seeds, and over draws of environments and seeds. A run that is drawn is
    drawn for all pairs that its arm is in. Source: Agarwal et al. 2021, "Deep reinforcement learning at the edge of the
    statistical precipice".
    """
    rng = np.random.default_rng(0)

    def over_draws(pairs: Pairs) -> Array:
        often: dict[int, Array] = {}  # how often each seed of an arm is drawn, as a part of all, (resamples, S)
        for arm in (arm for pair in pairs for arm in pair if id(arm) not in often):
            n = len(arm)
            often[id(arm)] = rng.multinomial(n, np.full(n, 1 / n), resamples) / n
        each = [np.einsum("ri,ij,rj->r", often[id(one)], wins(one, other), often[id(other)]) for one, other in pairs]
        return np.mean(each, axis=0)

    middle = float(np.mean([np.mean([wins(*pair).mean() for pair in pairs]) for pairs in environments]))
    drawn = np.stack([over_draws(pairs) for pairs in environments], axis=1)
    both = np.take_along_axis(drawn, rng.integers(len(environments), size=drawn.shape), axis=1)
    seeds, all_of_it = (Interval(middle, *np.percentile(x.mean(axis=1), [2.5, 97.5]).tolist()) for x in (drawn, both))
    return middle, seeds, all_of_it


# --- tables


def cell(values: Array) -> str:
    """Return the mean with its interval over seeds; of a single seed there is none."""
    return f"{mean_interval(values):.2f}" if len(values) > 1 else f"{values[0]:.2f}, one run"


def rules_table(scores: Scores, rules: tuple[str, ...] = (FIXED, MARGIN, NOISE)) -> str:
    """Return a row for each rule: the mean over the five starts, and the worst of them."""
    rows = []
    for rule in rules:
        means = over(scores, rule, STARTS)
        worst = np.mean([min(np.mean(of_env[rule, start]) for start in STARTS) for of_env in scores.values()])
        rows.append((rule, *map(cell, (*means, over_environments(means))), f"{worst:.2f}"))
    return table(("rule", *scores, "mean", "worst start"), rows)


AGAINST = {"default start: fixed": (FIXED, [RIGHT]), "bad starts: fixed": (FIXED, BAD)}
AGAINST |= {"bad starts: published, margin": (MARGIN, BAD)}


def differences_table(scores: Scores, compared: dict[str, Any] = AGAINST) -> str:
    """Return a row for each environment: the new rule's score minus another's, with Welch's interval over seeds."""
    columns = [
        [
            f"{difference_interval(*pair):.2f}"
            for pair in zip(*(over(scores, r, starts) for r in (NOISE, rule)), strict=True)
        ]
        for rule, starts in compared.values()
    ]
    return table((f"`{NOISE}` minus", *compared), list(zip(scores, *columns, strict=True)))


def pairs(scores: Scores, rule: str, starts: Sequence[Start], of: Start | None = None) -> list[Pairs]:
    """Return the scores of the new rule and of another; of: where the other begins, if not where the new one does."""
    return [[(each[NOISE, start], each[rule, of or start]) for start in starts] for each in scores.values()]


def wins_table(scores: Scores) -> str:
    """Return a row for each comparison of the new rule with another arm, from good and from bad starts."""
    best = [[(each[NOISE, RIGHT], max((each[FIXED, s] for s in STARTS), key=np.mean))] for each in scores.values()]
    compared = {f"default start: {rule}": pairs(scores, rule, [RIGHT]) for rule in ARMS if rule != NOISE}
    compared |= {"default start: the best of five fixed settings": best}
    for words, starts in (("bad starts", BAD), ("bad steps/update", BAD[:2]), ("bad max-KL", BAD[2:])):
        compared |= {f"{words}: {rule}": pairs(scores, rule, starts) for rule in (FIXED, MARGIN)}
    compared |= {"bad starts: fixed from the default start": pairs(scores, FIXED, BAD, RIGHT)}
    return won_table(compared)


def won_table(compared: dict[str, list[Pairs]]) -> str:
    """Return a row for each comparison: how often the new rule's score is higher."""
    rows = []
    for words, environments in compared.items():
        middle, seeds, both = improvement(environments)
        rows.append((words, f"{middle:.2f}", *(f"{each.low:.2f} to {each.high:.2f}" for each in (seeds, both))))
    heads = ("probability of a higher score", "95 % over seeds", "95 % over environments and seeds")
    return table((f"`{NOISE}` against", *heads), rows)


def ends_table(runs: Runs) -> str:
    """Return a row for each environment: where the best fixed setting ends, and the new rule from its five starts."""
    rows = []
    for env, arms in by_env(runs).items():
        of = {key: np.array([run["end"] for run in some]) for key, some in arms.items()}
        best = max(STARTS, key=lambda start: np.mean(of[FIXED, start]))
        below = [difference_interval(of[NOISE, start], of[FIXED, best]).high < 0 for start in STARTS]
        cells = [f"{np.mean(of[NOISE, s]):.4g}{', below' * less}" for s, less in zip(STARTS, below, strict=True)]
        end = possible(mean_interval(of[FIXED, best]), env)
        rows.append((short(env), f"x {best[0]:g}, x {best[1]:g}", f"{end:.4g}", *cells))
    starts = [f"from x {steps:g}, x {kl:g}" for steps, kl in STARTS]
    return table(("last tenth of a run", "best fixed: steps, max-KL", "its end", *starts), rows)


def report(experiment: Experiment, runs: Runs) -> str:
    """Return all tables of the environments of which some seeds are complete."""
    if not (found := by_env(runs)):
        return "no environment has a seed with all arms yet: python -m experiments run rules goes on"
    seeds = "Seeds: " + "; ".join(f"{env} {len(arms[FIXED, RIGHT])}" for env, arms in found.items())
    scores, by_clock = normalised(runs), normalised(runs, clock=True)
    by_steps = (*(of(scores) for of in (rules_table, differences_table, wins_table)), ends_table(runs))
    words = "Scores over the seconds that the default takes, instead of over steps:"
    return "\n\n".join((f"{seeds}.", *by_steps, words, rules_table(by_clock), wins_table(by_clock)))


def draw(figure: Any, experiment: Experiment, runs: Runs) -> None:
    """Draw the scores of three rules in each environment, and over all, from the default start and from bad ones."""
    scores = normalised(runs)
    figure.set_size_inches(11, 5.6)
    axes = figure.subplots(1, 2, sharey=True, sharex=True)
    words = {FIXED: "fixed settings", MARGIN: "published rule (--adapt both)", NOISE: "--adapt noise"}
    for axis, starts, title in zip(axes, ([RIGHT], BAD), ("from the defaults", "mean of four bad starts"), strict=True):
        for number, rule in enumerate(words):
            means = over(scores, rule, starts)
            middle, low, high = np.transpose([mean_interval(values) for values in (*means, over_environments(means))])
            half, places = np.nan_to_num([middle - low, high - middle]), np.arange(len(middle)) + 0.24 * (number - 1)
            axis.errorbar(middle, places, xerr=half, fmt="o", color=COLORS[number], label=words[rule])
        axis.set(yticks=range(len(scores) + 1), yticklabels=[*scores, "mean of all"], title=title)
        axis.set_xlabel("score (0: before learning, 1: best fixed end)")
        axis.axhline(len(scores) - 0.5, color="black", linewidth=0.8)
        axis.grid(axis="x", alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].invert_yaxis()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)


def report_elsewhere(experiment: Experiment, runs: Runs) -> str:
    """Return the tables of environments that the rule was not made on."""
    if not (scores := {short(env): each for env, each in normalised(runs).items()}):
        return "no environment has a seed with all arms yet: python -m experiments run rules_elsewhere goes on"
    starts = {"default start: fixed": [RIGHT], "bad steps/update: fixed": BAD[:2], "bad max-KL: fixed": BAD[2:]}
    won = won_table({words: pairs(scores, FIXED, some) for words, some in starts.items()})
    each = differences_table(scores, {f"from x {start[0]:g}, x {start[1]:g}": (FIXED, [start]) for start in STARTS})
    return "\n\n".join((rules_table(scores, (FIXED, NOISE)), each, won, ends_table(runs)))


EXPERIMENT = Experiment(
    name="rules",
    title="rules that adapt and fixed settings, mean over ten seeds with 95 % intervals",
    arms=tuple(arm(env, rule, start) for env in STEPS for rule in ARMS for start in ARMS[rule]),
    full=Size(10, STEPS),
    quick=Size(2, {"CartPole-v1": 20_000}),
    measure=lambda job, ranks, folder: alone(trained, job, folder),
    draw=draw,
    report=report,
)
ELSEWHERE_TOO = Experiment(
    name="rules_elsewhere",
    title="the rule that measures noise on environments that it was not made on",
    arms=tuple(arm(env, rule, start) for env in ELSEWHERE for rule in rules_of(env) for start in ARMS[rule]),
    full=Size(10, ELSEWHERE, other=dict.fromkeys(("Ant-v5", "pybullet_envs_gymnasium:HopperBulletEnv-v0"), 5)),
    quick=Size(1, {"Acrobot-v1": 20_000}),
    measure=lambda job, ranks, folder: alone(trained, job, folder),
    report=report_elsewhere,
    packages=("gymnasium", "minigrid", "pybullet", "pybullet-envs-gymnasium"),
)
