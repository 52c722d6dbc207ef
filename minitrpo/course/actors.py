"""Lecture 11a: which of its recorded runs collapsed, and when the others reached the goal."""

import csv
from pathlib import Path

import numpy as np

from minitrpo.policies import Array

COLLAPSED, GOAL = 15.0, 450.0  # scores

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
