"""Lecture 11a: its recorded runs, who collapsed and who arrived, and its pictures."""

import csv
from pathlib import Path

import numpy as np

from minitrpo.course.classroom import BLUE, GREEN, GREY, ORANGE, RED
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


# --- pictures


def draw_corridor(returns: dict[int, Array], n: int, truth: float, simulators: int) -> None:
    """Draw the returns that look n steps ahead, and the errors of a mean of so many for every n; returns: {n: (N,)}."""
    from matplotlib import pyplot as plt

    looks = sorted(returns)
    _, (left, right) = plt.subplots(1, 2, figsize=(11.5, 3.6), layout="constrained")
    shares = np.full(len(returns[n]), 100 / len(returns[n]))
    left.hist(returns[n], np.linspace(-0.025, 1.025, 22), color=BLUE, weights=shares)
    left.axvline(truth, color=RED, linestyle="--", label=f"truth: {truth:g}")
    left.axvline(returns[n].mean(), color="black", label=f"mean {returns[n].mean():.2f}")
    left.set(xlabel=f"return that looks {n} steps ahead", ylabel=f"% of {len(shares):,} walks", xlim=(-0.05, 1.05))
    left.legend(fontsize=9, loc="upper left")
    bias = np.array([abs(returns[look].mean() - truth) for look in looks])
    spread = np.array([returns[look].std() for look in looks]) / np.sqrt(simulators)
    both = np.sqrt(bias**2 + spread**2)
    right.plot(looks, bias, "o-", color=ORANGE, label="bias")
    right.plot(looks, spread, "s-", color=GREEN, label=f"spread of a mean of {simulators}")
    right.plot(looks, both, "-", color="black", linewidth=2, label="both: root of the sum of squares")
    right.plot(n, both[looks.index(n)], "o", color="black", markersize=10)
    right.set(xscale="log", xticks=looks, xticklabels=looks, xlabel="n, steps ahead", ylabel="error", ylim=(0, 0.5))
    right.minorticks_off()
    right.grid(alpha=0.3)
    right.legend(fontsize=9)
    plt.show()


def draw_online(actors: Actors) -> None:
    """Draw the scores of the runs that learn every step or every 5, with one simulator or sixteen."""
    from matplotlib import pyplot as plt

    _, axes = plt.subplots(1, 4, figsize=(13, 3.3), layout="constrained", sharey=True)
    for axis, (envs, n) in zip(axes, ((1, 1), (1, 5), (16, 1), (16, 5)), strict=True):
        runs = actors["online", 1, envs, n]
        for (size, curves), color in zip(runs.items(), (BLUE, GREEN, ORANGE), strict=True):
            thousand, scores = np.mean(curves, axis=0)[:, 0] / 1000, np.array(curves)[..., 1]
            axis.plot(thousand, scores.T, color=color, alpha=0.35, linewidth=1)
            axis.plot(thousand, scores.mean(axis=0), color=color, linewidth=2.5, label=f"step size {size:g}")
        simulators = f"{envs} simulator{'s' * (envs > 1)}"
        axis.set(xlabel="thousand steps", ylim=(0, 510))
        axis.set_title(f"{simulators}, n = {n}: {sum(map(collapsed, runs.values()))} collapse", fontsize=10)
        axis.grid(alpha=0.3)
        axis.axhline(COLLAPSED, color=GREY, linestyle=":", linewidth=1.5, label=f"collapsed below {COLLAPSED:g}")
    axes[0].set_ylabel("score (thick: mean of 5 seeds)")
    axes[2].legend(fontsize=9, loc="upper left")
    plt.show()


def draw_late(steps: dict[tuple[str, int], Array]) -> None:
    """Draw environment steps to a score of 450; steps: {(what, workers): (seeds,)}, infinity where it never was."""
    from matplotlib import pyplot as plt

    _, axis = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
    workers = sorted({kind[1] for kind in steps})
    for what, label, color, marker in (("late", "late (A3C)", ORANGE, "o"), ("together", "together (A2C)", BLUE, "s")):
        shown = np.array([steps[what, w] for w in workers]) / 1000
        axis.plot(workers, np.median(shown, axis=1), marker=marker, color=color, label=label)
        axis.plot(workers, shown, ".", color=color, alpha=0.5)
        for place, never in zip(workers, np.isinf(shown).sum(axis=1), strict=True):  # on the upper edge
            if never:
                axis.text(place, 122, f"{never} never", color=color, ha="center", fontsize=9)
    axis.set(ylabel="thousand environment steps to 450", ylim=(0, 130), xlabel="workers of 8 simulators", xscale="log")
    axis.set(xticks=workers, xticklabels=workers, xlim=(0.8, 20))
    axis.minorticks_off()
    axis.grid(alpha=0.3)
    axis.legend(fontsize=9, title="median; dots: seeds", title_fontsize=9, loc=(0.02, 0.5))
    plt.show()
