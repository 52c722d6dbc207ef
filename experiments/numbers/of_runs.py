"""The numbers of the other pages of docs/: what runs of minitrpo did."""

import csv
import json
import re
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

import numpy as np

from experiments import family, kills, own_algorithms, rules, scaling, scaling_check, tables
from experiments.harness import made_by
from experiments.rules import BAD, FIXED, MARGIN, NO_MARGIN, NOISE, ONE_FOR_ALL, RIGHT, STARTS
from minitrpo.course.scaling.command import recorded
from minitrpo.course.scaling.predict import COLUMNS, breaks
from minitrpo.course.speedup.statistics import speedup
from minitrpo.course.statistics import Interval, difference_interval, ratio_interval
from minitrpo.reports.findings import USUAL
from minitrpo.step_noise import STEPS_LIMITS

ROOT = tables.DATA.parents[1]


def percent(share: float) -> str:
    """Return a share in per cent, rounded as the tables round the share."""
    return f"{100 * float(f'{share:.2f}'):.0f} %"


def percents(interval: Interval) -> str:
    """Return a share with its interval, `82 % (95 % interval 75 to 88 %)`."""
    return f"{percent(interval.middle)} (95 % interval {percent(interval.low)} to {percent(interval.high)})"


def span(values: Iterable[float], form: str = ",.0f") -> str:
    """Return the lowest and the highest of some values."""
    known = list(values)
    return f"{min(known):{form}} to {max(known):{form}}"


# --- docs/adapting.md


@cache
def scores(elsewhere: bool = False, clock: bool = False) -> rules.Scores:
    """Return the normalised scores of the eight environments on which the rule was made, or of others."""
    experiment = rules.ELSEWHERE_TOO if elsewhere else rules.EXPERIMENT
    return rules.normalised(experiment.runs(), clock)


def won(
    other: str, starts: tuple[rules.Start, ...], of: rules.Start | None = None, elsewhere: bool = False,
    clock: bool = False,
) -> str:  # fmt: skip
    """Return in which share of pairs the noise rule scores more, with its interval over environments and seeds."""
    return percents(rules.improvement(rules.pairs(scores(elsewhere, clock), other, starts, of))[2])


def mean_score(rule: str, elsewhere: bool = False) -> str:
    """Return the mean score of a rule over its five starts and all environments, with Student's interval."""
    return rules.cell(rules.over_environments(rules.over(scores(elsewhere), rule, STARTS)))


def worst_start(rule: str) -> str:
    """Return the mean over the other environments of the score from the worst of the five starts."""
    worst = [min(np.mean(of_env[rule, start]) for start in STARTS) for of_env in scores(True).values()]
    return f"{np.mean(worst):.2f}"


@cache
def differences(other: str, starts: tuple[rules.Start, ...], elsewhere: bool = False) -> dict[str, Interval]:
    """Return by how much the noise rule scores more in each environment, with Welch's interval over seeds."""
    ours, theirs = (rules.over(scores(elsewhere), rule, starts) for rule in (NOISE, other))
    return {
        rules.short(env): difference_interval(*pair)
        for env, pair in zip(scores(elsewhere), zip(ours, theirs, strict=True), strict=True)
    }


def environments(other: str, starts: tuple[rules.Start, ...], above: bool, elsewhere: bool = False) -> str:
    """Return the environments whose interval of the difference lies above 0, or below it."""
    found = differences(other, starts, elsewhere)
    names = [env.partition("-")[0] for env, each in found.items() if (each.low > 0 if above else each.high < 0)]
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else "none"


def count_above(other: str, starts: tuple[rules.Start, ...], elsewhere: bool = False) -> str:
    """Return on how many environments the interval of the difference lies above 0, of how many."""
    found = differences(other, starts, elsewhere)
    return f"{sum(each.low > 0 for each in found.values())} of {len(found)}"


def least_difference(other: str) -> str:
    """Return the environment whose difference from bad starts has the lowest lower end, and its interval."""
    env, found = min(differences(other, BAD_STARTS).items(), key=lambda pair: pair[1].low)
    return f"{env.partition('-')[0]}, {found.low:.2f} to {found.high:.2f}"


def ends_below() -> str:
    """Return in how many combinations of environment and start the noise rule ends below the best fixed setting."""
    below = [difference_interval(of[NOISE, start], of[FIXED, best]).high < 0 for of, best in ends() for start in STARTS]
    return f"{sum(below)} of {len(below)}"


@cache
def ends() -> list[tuple[dict[Any, list[float]], rules.Start]]:
    """Return of each environment what the runs of its arms end with, and from which start the best fixed setting is."""
    found = []
    for arms in rules.by_env(rules.EXPERIMENT.runs()).values():
        of = {key: [run["end"] for run in some] for key, some in arms.items()}
        found.append((of, max(STARTS, key=lambda start, of=of: np.mean(of[FIXED, start]))))
    return found


def at_least_steps() -> str:
    """Return on how many environments most steps were played in updates of the fewest steps that the rule may choose.

    A row of a recorded curve is an update in which an episode ended, so two rows tell the size of an update only if
    every update has such an end. What is counted is therefore at least so many.
    """
    least, runs, shares = STEPS_LIMITS[0], rules.EXPERIMENT.runs(), []
    for env in rules.STEPS:
        ends = [run["curves"]["env_steps"] for run in runs[rules.called(NOISE, RIGHT), env]]
        shares.append(np.mean([np.sum(np.diff(x, prepend=0) == least) * least / x[-1] for x in ends]))
    return f"{sum(share > 0.5 for share in shares)} of {len(shares)}"


BAD_STARTS, BAD_STEPS, BAD_KL = tuple(BAD), tuple(BAD[:2]), tuple(BAD[2:])
TEN_TIMES, TENTH, KL_TEN_TIMES, KL_TENTH = ((start,) for start in BAD)
DEFAULT = (RIGHT,)

ADAPTING: dict[str, Callable[[], str]] = {
    "rules.runs": lambda: f"{sum(map(len, rules.EXPERIMENT.runs().values())):,}",
    "rules.made": lambda: made_by(rules.EXPERIMENT, rules.EXPERIMENT.runs()),
    "rules.steps": lambda: span(rules.STEPS.values()),
    "rules.bad.count.fixed": partial(count_above, FIXED, BAD_STARTS),
    "rules.bad.count.published": partial(count_above, MARGIN, BAD_STARTS),
    "rules.bad.least": partial(least_difference, MARGIN),
    "rules.bad.fixed": partial(won, FIXED, BAD_STARTS),
    "rules.bad.published": partial(won, MARGIN, BAD_STARTS),
    "rules.score.noise": partial(mean_score, NOISE),
    "rules.score.fixed": partial(mean_score, FIXED),
    "rules.score.published": partial(mean_score, MARGIN),
    "rules.bad_steps.fixed": partial(won, FIXED, BAD_STEPS),
    "rules.bad_kl.fixed": partial(won, FIXED, BAD_KL),
    "rules.bad_kl.fixed.clock": partial(won, FIXED, BAD_KL, clock=True),
    "rules.default.fixed": partial(won, FIXED, DEFAULT),
    "rules.default.fixed.clock": partial(won, FIXED, DEFAULT, clock=True),
    "rules.default.above": partial(environments, FIXED, DEFAULT, True),
    "rules.default.below": partial(environments, FIXED, DEFAULT, False),
    "rules.default.one_for_all": partial(won, ONE_FOR_ALL, DEFAULT),
    "rules.default.no_margin": partial(won, NO_MARGIN, DEFAULT),
    "rules.ends_below": ends_below,
    "rules.bad.default": partial(won, FIXED, BAD_STARTS, RIGHT),
    "elsewhere.runs": lambda: f"{sum(map(len, rules.ELSEWHERE_TOO.runs().values())):,}",
    "elsewhere.default": partial(won, FIXED, DEFAULT, elsewhere=True),
    "elsewhere.default.below": partial(environments, FIXED, DEFAULT, False, True),
    "elsewhere.ten_times": partial(count_above, FIXED, TEN_TIMES, True),
    "elsewhere.tenth.above": partial(environments, FIXED, TENTH, True, True),
    "elsewhere.tenth.below": partial(environments, FIXED, TENTH, False, True),
    "elsewhere.bad_kl": partial(won, FIXED, BAD_KL, elsewhere=True),
    "elsewhere.kl_ten_times.above": partial(environments, FIXED, KL_TEN_TIMES, True, True),
    "elsewhere.kl_tenth.below": partial(environments, FIXED, KL_TENTH, False, True),
    "elsewhere.score.noise": partial(mean_score, NOISE, True),
    "elsewhere.score.fixed": partial(mean_score, FIXED, True),
    "elsewhere.worst.noise": partial(worst_start, NOISE),
    "elsewhere.worst.fixed": partial(worst_start, FIXED),
    "rules.at_least_steps": at_least_steps,
}


# --- docs/family.md


def rows_of(name: str) -> list[dict[str, str]]:
    """Return the rows of a table of notebooks/recorded."""
    with (ROOT / "notebooks" / "recorded" / name).open(newline="") as file:
        return list(csv.DictReader(file))


def lost() -> str:
    """Return how many of the gradients of two real ranks were lost."""
    real = [row for row in rows_of("10_lost.csv") if not row["lost_on_purpose"]]
    return f"{sum(int(row['lost']) for row in real):,} of {sum(int(row['applied']) for row in real):,}"


@cache
def second_rank(algorithm: str) -> tuple[Interval, int]:
    """Return how many times as many steps a second two ranks make as one on CartPole (Welch), and the runs of each."""
    mine = [row for row in rows_of("rates.csv") if (row["algorithm"], row["env"]) == (algorithm, "CartPole-v1")]
    rates = {ranks: [float(row["rate"]) for row in mine if row["ranks"] == ranks] for ranks in ("1", "2")}
    return ratio_interval(rates["2"], rates["1"]), len(rates["2"])


def rates_made() -> str:
    """Return the machine and the day of the recorded rates."""
    made = json.loads((ROOT / "notebooks" / "recorded" / "origins.json").read_text())["rates"]
    return f"{made['cores']} cores, {made['machine'].partition(', ')[2]}, {made['date'].partition('T')[0]}"


def factor(algorithm: str) -> str:
    """Return how many times as fast two ranks are, with its interval."""
    found, _ = second_rank(algorithm)
    return f"{found.middle:.2f} times as fast (95 % interval {found.low:.2f} to {found.high:.2f})"


def held_out_below(goal: float) -> str:
    """Return how many of A2C's held-out runs on Pendulum end below a return."""
    final = [run["final"] for run in family.HELD.runs()["a2c", family.PENDULUM]]
    return f"{sum(value < goal for value in final)} of {len(final)}"


FAMILY: dict[str, Callable[[], str]] = {
    "family.lost": lost,
    "family.second_rank.a2c": partial(factor, "a2c"),
    "family.second_rank.a3c": partial(factor, "a3c"),
    "family.second_rank.runs": lambda: f"{second_rank('a2c')[1]}",
    "family.second_rank.made": rates_made,
    "family.held_out.a2c": partial(held_out_below, -500.0),
}


# --- docs/scaling.md


def efficiency(ranks: int) -> str:
    """Return the predicted efficiency of the sharded learner on so many ranks."""
    (row,) = (row for row in recorded().tables["sharded learner"] if row.ranks == ranks)
    return percent(row.efficiency)


def best_batch_gain() -> str:
    """Return how many times as fast one rank is predicted to be with the best batch."""
    whole, best = (recorded().tables[name][0] for name in ("sharded learner", "the same, best batch"))
    return f"{whole.seconds / best.seconds:.1f}"


SCALING: dict[str, Callable[[], str]] = {
    "scaling.efficiency.8": partial(efficiency, 8),
    "scaling.efficiency.512": partial(efficiency, 512),
    "scaling.best_batch": best_batch_gain,
    "scaling.noise_scale": lambda: f"{recorded().task.noise_scale:,.0f}",
    "scaling.episodes": lambda: f"{recorded().batch / np.mean(recorded().task.lengths):,.0f}",
    "scaling.first_break": lambda: f"{min(breaks(recorded(), COLUMNS['now']).values()):.0f}",
    "check.median": lambda: percent(scaling_check.errors().median),
    "check.count": lambda: f"{scaling_check.errors().count}",
    "check.largest": lambda: percent(scaling_check.errors().largest),
    "check.own_core": lambda: percent(scaling_check.errors().own_core),
    "check.made": scaling_check.made,
}


# --- docs/own-algorithm.md


def final_returns(example: str) -> str:
    """Return the lowest and the highest final return of an example."""
    (some,) = (some for (name, _), some in own_algorithms.EXPERIMENT.runs().items() if name == example)
    return span(run["final"] for run in some)


def lines_of(file: str) -> str:
    """Return how many lines a file of mpi_scripts/own has."""
    return f"{len((own_algorithms.FOLDER / file).read_text('utf-8').splitlines())}"


OWN: dict[str, Callable[[], str]] = {
    **{f"own.{example}": partial(final_returns, example) for example in own_algorithms.EXAMPLES},
    "own.made": lambda: made_by(own_algorithms.EXPERIMENT, own_algorithms.EXPERIMENT.runs()),
    "own.lines.es": partial(lines_of, "evolution_strategies.py"),
    "own.lines.impala": partial(lines_of, "impala.py"),
    "own.lines.sac": partial(lines_of, "sac.py"),
}


# --- docs/cluster.md and docs/reliability.md


def seen(experiment: str, what: str) -> dict[str, Any]:
    """Return the newest recorded row of tests/tools whose first column begins so."""
    (*_, run) = (run for run in tables.load(tables.DATA / "cluster") if run["experiment"] == experiment)
    columns = run["rows"]
    (at, *_) = (n for n, words in enumerate(columns["what"]) if words.startswith(what))
    return {name: values[at] for name, values in columns.items()}


def job_ended() -> str:
    """Return the seconds after which jobs with a pulled cable had ended."""
    (*_, run) = (run for run in tables.load(tables.DATA / "cluster") if run["experiment"] == "hosts")
    return span(run["rows"]["job_ended_s"][[words.startswith("cable pulled") for words in run["rows"]["what"]]])


def of_soak(pattern: str) -> str:
    """Return what the row of the long run says between words."""
    found = re.search(pattern, str(seen("soak", "trpo")["seen"]))
    assert found, f"the row of the long run has no {pattern}"
    return found[1].replace("+", "")


def traffic() -> str:
    """Return the KiB of an update with the least and with the most of them."""
    (*_, run) = (run for run in tables.load(tables.DATA / "cluster") if run["experiment"] == "hosts")
    return span(run["rows"]["KiB_per_update"][np.isfinite(run["rows"]["KiB_per_update"])])


def gains(kind: str, collecting: bool) -> str:
    """Return how many times as fast two ranks or more on two cores are as one, on all environments."""
    found = []
    for env in scaling.LENGTHS:
        runs = {key: scaling.times(some) for key, some in scaling.EXPERIMENT.runs().items() if key[1] == env}
        kinds = [name for name in scaling.KINDS if name.startswith(kind)]
        alone = np.concatenate([runs[f"{name}, 1", env] for name in scaling.KINDS])
        together = np.concatenate([runs[f"{name}, {ranks}", env] for name in kinds for ranks in (2, 4, 8)])
        phase = 0 if collecting else 1
        found.append(speedup(scaling.phases(alone)[phase], scaling.phases(together)[phase]))
    return span(found, ".2f")


CLUSTER: dict[str, Callable[[], str]] = {
    "cluster.job_ended": job_ended,
    "cluster.kills": lambda: f"{sum(each.kills for each in kills.recorded()):,}",
    "cluster.killed_runs": lambda: f"{sum(each.runs for each in kills.recorded()):,}",
    "cluster.memory": partial(of_soak, r"memory per rank ([\d.]+ to [\d.]+) MiB"),
    "cluster.memory_growth": partial(of_soak, r"slope ([-+\d.]+ to [-+\d.]+) MiB an hour"),
    "cluster.traffic": traffic,
    "cluster.collecting": partial(gains, "sharded", True),
    "cluster.root": partial(gains, "root", False),
    "cluster.sharded": partial(gains, "sharded", False),
}

# --- docs/explain.md


@cache
def amdahl() -> dict[str, list[float]]:
    """Return of each learner the relative errors of Amdahl's law in all pairs of recorded runs on one and two ranks.

    It is the prediction of `minitrpo explain`: on two ranks the seconds of collecting are halved.
    """
    runs = {(r["experiment"], r["arm"], r["env"], r["seed"]): r for r in tables.load(tables.DATA / "scaling")}
    found: dict[str, list[float]] = {"root": [], "sharded": []}
    for (experiment, arm, env, seed), one in runs.items():
        kind, _, ranks = arm.rpartition(", ")
        two = runs.get((experiment, f"{kind}, 2", env, seed))
        if kind in scaling.KINDS and ranks == "1" and two:
            whole = seconds_of(one, "iteration_s")
            predicted = whole / (whole - seconds_of(one, "collect_s") / 2)
            found[kind.partition(",")[0]].append(predicted * seconds_of(two, "iteration_s") / whole - 1)
    return found


def seconds_of(run: tables.Run, phase: str) -> float:
    """Return the recorded seconds of a phase: of an update where only medians are recorded, else of all of them."""
    return float(run[phase]) if run.get(phase, "") != "" else float(run["times"][phase].sum())


def off(learner: str) -> str:
    """Return the median error of Amdahl's law for a learner, `5 % too high`."""
    error = float(np.median(amdahl()[learner]))
    return f"{percent(abs(error))} too {'high' if error > 0 else 'low'}"


def usual_runs() -> str:
    """Return how many healthy runs are behind the usual numbers."""
    with USUAL.open(newline="") as file:
        return max((row["runs"] for row in csv.DictReader(file) if row["member"] == "all members"), key=int)


EXPLAIN: dict[str, Callable[[], str]] = {
    "explain.pairs": lambda: f"{sum(map(len, amdahl().values()))}",
    "explain.largest": lambda: percent(max(abs(error) for errors in amdahl().values() for error in errors)),
    "explain.root": partial(off, "root"),
    "explain.sharded": partial(off, "sharded"),
    "explain.usual": usual_runs,
}

NUMBERS: dict[str, Callable[[], str]] = ADAPTING | FAMILY | SCALING | OWN | CLUSTER | EXPLAIN
