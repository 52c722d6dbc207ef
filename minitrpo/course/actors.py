"""Lecture 11a: who collapsed and who arrived in its recorded runs; how many independent steps neighbours are worth."""

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np

from minitrpo.policies import Array

COLLAPSED, GOAL = 15.0, 450.0  # scores
DRAWS = 1_000  # bootstrap draws behind an interval

Gradients = Callable[[Array], tuple[Array, ...]]  # numbers of some steps -> the mean gradients of these steps
Actors = dict[tuple[str, int, int, int], dict[float, list[Array]]]


def actors_of(path: Path) -> Actors:
    """Return {(what, workers, envs, n): {step size: a curve for each seed, environment steps and scores (T, 2)}}."""
    points: dict[tuple[str, int, int, int], dict[float, dict[str, list[list[float]]]]] = {}
    for row in csv.DictReader(path.read_text("utf-8").splitlines()):
        key = row["what"], int(row["workers"]), int(row["envs"]), int(row["n"])
        curve = points.setdefault(key, {}).setdefault(float(row["step_size"]), {}).setdefault(row["seed"], [])
        curve.append([float(row["env_steps"]), float(row["score"])])
    return {
        key: {size: [np.array(c) for c in seeds.values()] for size, seeds in sizes.items()}
        for key, sizes in points.items()
    }


def collapsed(curves: list[Array]) -> int:
    """Return how many runs score below 15 at some mark."""
    return sum(bool(np.min(curve[:, 1]) < COLLAPSED) for curve in curves)


def steps_to_goal(sizes: dict[float, list[Array]]) -> tuple[float, Array]:
    """Return the step size of the best median, and its seeds' steps to a score of 450; infinity: not reached."""
    ends = {size: np.array([c[-1, 0] if c[-1, 1] >= GOAL else np.inf for c in cs]) for size, cs in sizes.items()}
    best = min(ends, key=lambda size: float(np.median(ends[size])))
    return best, ends[best]


def worth(gradients: Gradients, steps: int, together: int = 16) -> Array:
    """Return how many independent steps that many neighbours are worth, (K, 1 + 1000), for K kinds of gradient.

    gradients: (numbers of steps) -> the mean gradients of these steps, one of each kind. The worth is the variance of
    the mean gradient of any steps over that of neighbours, times their number; behind it stand those of groups drawn
    with replacement.
    """
    rows, rng = np.arange(steps // together * together), np.random.default_rng(1)
    mixed = np.random.default_rng(0).permutation(rows)
    one, other = (_variances(gradients, some.reshape(-1, together), rng) for some in (mixed, rows))
    return together * one / other


def _variances(gradients: Gradients, groups: Array, rng: np.random.Generator) -> Array:
    """Return the variances of the mean gradients over these groups, (K, 1 + 1000), from the products of any two."""
    count = len(groups)
    drawn = rng.multinomial(count, np.full(count, 1 / count), DRAWS)
    shares = np.concatenate([np.ones((1, count)), drawn]) / count
    kinds = [np.array(kind) for kind in zip(*(gradients(group) for group in groups), strict=True)]
    products = [kind @ kind.T for kind in kinds]
    return np.array([shares @ np.diag(p) - np.sum(shares @ p * shares, axis=1) for p in products])
