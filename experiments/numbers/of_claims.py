"""The numbers of docs/claims.md and claims_details.md: what our runs say of the claims of the sources."""

from collections.abc import Callable

import numpy as np

from experiments.claims import CLAIMS, author
from experiments.claims.elsewhere import interval_of
from experiments.claims.of_adapting import BOTH, OSCILLATION, SWIMMER
from experiments.claims.of_time import AT, ONE, REACHER, SHARE, TASKS, TWO
from experiments.claims.questions import steps_to_goal
from experiments.limit import EXPERIMENT as PHYSICS
from experiments.tables import load
from minitrpo.course.seeds import family_of
from minitrpo.course.statistics import mean_interval, ratio_interval
from minitrpo.policies import Array

PENDULUM_STEP = 0.04  # seconds of InvertedPendulum's time that a step has
RECORDED = author.FILE.parent / "family.csv"


def saved() -> list[float]:
    """Return the per cent of the seconds that two ranks save, on each task of F1."""
    runs = CLAIMS["F1"].runs()
    seconds = [[[AT.of(run) for run in runs[name, env]] for name in (TWO, ONE)] for env in TASKS]
    return [100 * (1 - ratio_interval(*both).middle) for both in seconds]


def saved_elsewhere() -> list[float]:
    """Return the same of the second machine."""
    there = [interval_of("F1", part) for part in CLAIMS["F1"].parts]
    return [100 * (1 - found.middle) for found in there if found]


def share() -> float:
    """Return the mean share of an update that collecting takes on one rank."""
    return float(np.mean([SHARE.of(run) for run in CLAIMS["B1"].runs()[ONE, REACHER]]))


def share_elsewhere() -> float:
    """Return the same of the second machine."""
    there = interval_of("B1", CLAIMS["B1"].parts[0])
    assert there is not None
    return there.middle


def physics() -> float:
    """Return the steps a second of InvertedPendulum's bare physics on one core."""
    rows = [run for run in load(PHYSICS.folder("full")) if run["env"] == "InvertedPendulum-v5"]
    return max(float(run["limit"]) for run in rows)


def reversals() -> str:
    """Return the share of the decisions of A2 on Swimmer that reverse the previous one, with its interval."""
    found = [OSCILLATION.of(run) for run in CLAIMS["A2"].runs()[BOTH, SWIMMER]]
    return f"{mean_interval(found, within=OSCILLATION.within):.3f}"


def steps(name: str) -> Array:
    """Return the steps to the goal of L1, of A3C or of NAF; infinity: the run never got there."""
    goal = steps_to_goal(-250.0, 0)
    return np.array([goal.of(run) for run in CLAIMS["L1"].runs()[name, "Pendulum-v1"]])


def looks(name: str) -> str:
    """Return how many steps lie between two evaluations of L1's runs: the least and the most."""
    gaps = [np.diff(run["fresh"]["env_steps"]) for run in CLAIMS["L1"].runs()[name, "Pendulum-v1"]]
    return f"{min(each.min() for each in gaps):,.0f} to {max(each.max() for each in gaps):,.0f}"


def family_ratio() -> float:
    """Return how many times NAF's steps A3C took in the runs of lecture 13b: medians, with looks every 5,000 steps."""
    known = family_of(RECORDED)
    return float(np.median(known["Pendulum-v1", "a3c"].steps) / np.median(known["Pendulum-v1", "naf"].steps))


NUMBERS: dict[str, Callable[[], str]] = {
    "F1_LEAST_SAVED": lambda: f"{min(saved()):.0f}",
    "F1_MOST_SAVED": lambda: f"{max(saved()):.0f}",
    "F1_LEAST_SAVED_ELSEWHERE": lambda: f"{min(saved_elsewhere()):.0f}",
    "F1_MOST_SAVED_ELSEWHERE": lambda: f"{max(saved_elsewhere()):.0f}",
    "B1_SHARE": lambda: f"{100 * share():.0f} %",
    "B1_SHARE_ELSEWHERE": lambda: f"{100 * share_elsewhere():.0f} %",
    "B1_TIMES_THE_REST": lambda: f"{share() / (1 - share()):.1f}",
    "B1_SHARE_2016": lambda: f"{author.share_of_collecting()[0].y[0]:.0f} %",
    "T1_STEPS_OF_PHYSICS": lambda: f"{physics():,.0f}",
    "T1_PHYSICS": lambda: f"{physics() * PENDULUM_STEP:,.0f}",
    "A2_REVERSALS": reversals,
    "L1_NAF": lambda: f"{np.median(steps('NAF')):,.0f}",
    "L1_A3C": lambda: f"{np.median(steps('A3C')):,.0f}",
    "L1_TIMES": lambda: f"{np.median(steps('A3C')) / np.median(steps('NAF')):.0f}",
    "L1_TIMES_13B": lambda: f"{family_ratio():.0f}",
    "L1_NEVER": lambda: f"{np.isinf(steps('A3C')).sum()} of {len(steps('A3C'))}",
    "L1_LOOKS_NAF": lambda: looks("NAF"),
    "L1_LOOKS_A3C": lambda: looks("A3C"),
}
