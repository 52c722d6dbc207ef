"""Tables of the comparison of rules: normalised scores, intervals over seeds, the probability of improvement."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.rules import ARMS, FIXED, MARGIN, NOISE, ROWS, STARTS, Recorded
from benchmarks.tables import table
from minitrpo.course.statistics import Interval, difference_interval, mean_interval
from minitrpo.policies import Array

RESAMPLES = 2_000
Start = tuple[float, float]
Arm = tuple[str, Start]
Pairs = list[tuple[Array, Array]]  # scores of the seeds of one arm, and of another
Scores = dict[str, dict[Arm, Array]]  # environment -> arm -> scores of the seeds that all its arms have, in order


def complete(found: Recorded) -> Recorded:
    """Return the runs of those seeds that all arms of an environment have; environments without any are left out."""
    kept: Recorded = {}
    for env in dict.fromkeys(env for env, _, _ in found):
        arms = {key: runs for key, runs in found.items() if key[0] == env}
        seeds = set.intersection(*(set(runs) for runs in arms.values()))
        if len(arms) == sum(map(len, ARMS.values())) and seeds:
            kept |= {key: {seed: runs[seed] for seed in sorted(seeds)} for key, runs in arms.items()}
    return kept


def over_seconds(run: dict[str, Any], until: float) -> float:
    """Return the mean of a run's curve over the first seconds of its processor; after its end it stays where it was."""
    places = (np.arange(ROWS) + 0.5) * until / ROWS
    (_, seconds), (_, returns) = np.transpose(run["seconds"]), np.transpose(run["curve"])
    return float(np.mean(np.interp(places, seconds, returns)))


def normalised(found: Recorded, clock: bool = False) -> Scores:
    """Return scores in which 0 is the return before any learning, and 1 what the best fixed setting ends with.

    The mean over all runs of their first row is the one, the mean over seeds of the last tenth of a run the other:
    neither depends on the rules that are compared. With `clock` they are means over the seconds that the default takes.
    """
    scores: Scores = {}
    for env in dict.fromkeys(env for env, _, _ in found):
        arms = {(rule, start): list(runs.values()) for (e, rule, start), runs in found.items() if e == env}
        low = np.mean([run["curve"][0][1] for runs in arms.values() for run in runs])
        high = max(np.mean([run["end"] for run in runs]) for (rule, _), runs in arms.items() if rule == FIXED)
        until = float(np.median([run["seconds"][-1][1] for run in arms[FIXED, STARTS[0]]])) if clock else 0.0
        scores[env] = {
            arm: (np.array([over_seconds(run, until) if clock else run["score"] for run in runs]) - low) / (high - low)
            for arm, runs in arms.items()
        }
    return scores


def ends(found: Recorded) -> str:
    """Return a row for each environment: where the best fixed setting ends, and the new rule from its five starts."""
    rows = []
    for env in dict.fromkeys(env for env, _, _ in found):
        of = {key[1:]: np.array([run["end"] for run in runs.values()]) for key, runs in found.items() if key[0] == env}
        best = max((start for start in STARTS), key=lambda start: np.mean(of[FIXED, start]))
        interval = mean_interval(of[FIXED, best])
        cells = []
        for start in STARTS:
            below = difference_interval(of[NOISE, start], of[FIXED, best]).high < 0
            cells.append(f"{np.mean(of[NOISE, start]):.4g}" + ", below" * below)
        rows.append((env, f"x {best[0]:g}, x {best[1]:g}", f"{interval:.4g}", *cells))
    starts = [f"from x {steps:g}, x {kl:g}" for steps, kl in STARTS]
    return table(("last tenth of a run", "best fixed: steps, max-KL", "its end", *starts), rows)


def wins(one: Array, other: Array) -> Array:
    """Return 1 where a run of `one` (row) scores more than a run of `other` (column), one half where it is a tie."""
    return (one[:, None] > other) + 0.5 * (one[:, None] == other)


def probability(one: Array, other: Array) -> float:
    """Return how often a run of `one` scores more than a run of `other`, a tie counting one half.

    Source: Agarwal et al. 2021, "Deep reinforcement learning at the edge of the statistical precipice".
    """
    return float(np.mean(wins(one, other)))


def improvement(environments: list[Pairs], resamples: int = RESAMPLES) -> tuple[float, Interval, Interval]:
    """Return the mean probability of improvement over pairs of arms, one value for each environment, and over these.

    With its 95 % interval over draws of the seeds, and over draws of environments and seeds. A run that is drawn is
    drawn for all pairs that its arm is in.
    """
    rng = np.random.default_rng(0)

    def over_draws(pairs: Pairs) -> Array:
        # how often each seed of an arm is drawn, (resamples, S); the probability is a mean over pairs of those drawn
        often = {
            id(arm): rng.multinomial(len(arm), np.full(len(arm), 1 / len(arm)), resamples)
            for arm in {id(arm): arm for pair in pairs for arm in pair}.values()
        }
        each = [
            np.einsum("ri,ij,rj->r", often[id(one)], wins(one, other), often[id(other)]) / (len(one) * len(other))
            for one, other in pairs
        ]
        return np.mean(each, axis=0)

    middle = float(np.mean([np.mean([probability(*pair) for pair in pairs]) for pairs in environments]))
    drawn = np.stack([over_draws(pairs) for pairs in environments], axis=1)
    which = rng.integers(len(environments), size=drawn.shape)
    both = np.take_along_axis(drawn, which, axis=1)
    low, high = np.percentile(np.stack([drawn, both]).mean(axis=2), [2.5, 97.5], axis=1).tolist()
    return middle, Interval(middle, low[0], high[0]), Interval(middle, low[1], high[1])


def cell_of(values: Array) -> str:
    """Return the mean with its interval over seeds; of a single seed there is none."""
    return f"{mean_interval(values):.2f}" if len(values) > 1 else f"{values[0]:.2f} (one seed)"


def over_environments(each: Sequence[Array]) -> Array:
    """Return the mean over environments, seed by seed, of as many seeds as all have, (S,).

    Seeds of two environments have nothing to do with each other: the spread of these means is that of the mean.
    """
    seeds = min(map(len, each))
    return np.mean([values[:seeds] for values in each], axis=0)


def scores_table(scores: Scores) -> str:
    """Return a row for each arm: the normalised score in each environment, and the mean over them."""
    rows = []
    for rule, starts in ARMS.items():
        for start in starts:
            values = [of_env[rule, start] for of_env in scores.values()]
            words = f"{rule}: steps x {start[0]:g}, max-KL x {start[1]:g}"
            rows.append((words, *map(cell_of, values), cell_of(over_environments(values))))
    return table(("arm", *scores, "mean"), rows)


def over_starts(scores: Scores) -> str:
    """Return a row for each rule: the mean over the five starts, and the worst of them."""
    rows = []
    for rule in (FIXED, MARGIN, NOISE):
        means = {env: np.mean([of_env[rule, start] for start in STARTS], axis=0) for env, of_env in scores.items()}
        worst = [min(float(np.mean(of_env[rule, start])) for start in STARTS) for of_env in scores.values()]
        average = cell_of(over_environments(list(means.values())))
        rows.append((rule, *map(cell_of, means.values()), average, f"{np.mean(worst):.2f}"))
    return table(("rule", *scores, "mean", "worst start"), rows)


def differences(scores: Scores) -> str:
    """Return a row for each environment: the new rule's score less another's, with Welch's interval over seeds."""
    right, *bad = STARTS
    comparisons: dict[str, tuple[str, Sequence[Start]]] = {
        "started right: fixed defaults": (FIXED, [right]),
        "started badly: fixed, from there": (FIXED, bad),
        "started badly: published, margin, from there": (MARGIN, bad),
    }
    rows = []
    for env, of_env in scores.items():
        cells = []
        for rule, starts in comparisons.values():
            one, other = (np.mean([of_env[each, start] for start in starts], axis=0) for each in (NOISE, rule))
            # of a single seed there is no interval
            cells.append(f"{difference_interval(one, other) if len(one) > 1 else one[0] - other[0]:.2f}")
        rows.append((env, *cells))
    return table((f"`{NOISE}` less", *comparisons), rows)


def improvements(scores: Scores) -> str:
    """Return a row for each comparison of the new rule with another arm, from good and from bad starts."""
    right, *bad = STARTS

    def pairs(rule: str, starts: Sequence[Start], of: Start | None = None) -> list[Pairs]:
        return [[(s[NOISE, start], s[rule, of or start]) for start in starts] for s in scores.values()]

    best = [max((s[FIXED, start] for start in STARTS), key=np.mean) for s in scores.values()]
    comparisons: dict[str, list[Pairs]] = {
        f"started right: {rule + ' defaults' * (rule == FIXED)}": pairs(rule, [right]) for rule in ARMS if rule != NOISE
    } | {
        "started right: the best of five fixed settings": [
            [(s[NOISE, right], arm)] for s, arm in zip(scores.values(), best, strict=True)
        ],
        "started badly: fixed, from there": pairs(FIXED, bad),
        "started badly: published, margin, from there": pairs(MARGIN, bad),
        "started badly: fixed defaults": pairs(FIXED, bad, right),
    }
    rows = []
    for words, environments in comparisons.items():
        middle, seeds, both = improvement(environments)
        rows.append((words, f"{middle:.2f}", *(f"{each.low:.2f} to {each.high:.2f}" for each in (seeds, both))))
    heads = ("probability that it scores more", "over draws of the seeds", "of environments and seeds")
    return table((f"`{NOISE}` against", *heads), rows)


def report(found: Recorded) -> str:
    """Return all tables of the environments of which some seeds are complete."""
    found = complete(found)
    if not found:
        return "no environment has a seed with all arms yet: python -m benchmarks.rules goes on"
    seeds: dict[str, Any] = {env: ", ".join(map(str, runs)) for (env, _, _), runs in found.items()}
    told = "; ".join(f"{env}: seeds {numbers}" for env, numbers in seeds.items())
    scores, by_clock = normalised(found), normalised(found, clock=True)
    by_steps = (scores_table(scores), over_starts(scores), differences(scores), improvements(scores), ends(found))
    words = "By the seconds that the default takes, instead of by steps:"
    return "\n\n".join((f"{told}.", *by_steps, words, over_starts(by_clock), improvements(by_clock)))
