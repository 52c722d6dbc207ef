"""What the panel's runs say: normalised scores, interquartile means, and how probably ours is ahead of each peer.

    python -m experiments.panel_report FOLDER
    python -m experiments.panel_report FOLDER --score end --systems typed,nofilter

A score is normalised per task: 0 is the random policy, 1 the best end of any run seen. The area is that under the curve
of training returns, the end its last tenth: the episodes that ended in the last tenth of the steps. Episodes of ours
count from the end of their update, up to 2,048 steps late. Interquartile means and probabilities of improvement are
those of Agarwal et al. 2021, over the tasks that all systems have run; intervals (95 %) are of a bootstrap over tasks
and, in each, seeds. A task where no run got away from the random policy by more than chance is named and left out.
"""

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np

from experiments.panel import PARTS, filled, read
from experiments.panel_environments import CHOOSING, HALVES, HELD_OUT, TASKS
from experiments.panel_run import PEERS, RANDOM
from minitrpo.course.statistics import iqm
from minitrpo.policies import Array

Scores = dict[str, dict[str, Array]]  # of a system, on a task: one per seed
RESAMPLES = 2_000
CHANCE = 4.0  # standard errors of the random policy's mean


def curves(folder: Path) -> dict[tuple[str, str, str], Array]:
    """Return the curve of each run, by (task, system, seed), without gaps."""
    kept = {}
    for row in read(folder / "curves.csv"):
        parts = [float(row[str(part)] or "nan") for part in range(PARTS)]
        kept[row["task"], row["system"], row["seed"]] = np.array(filled(parts))
    return kept


def normalised(folder: Path, rows: list[dict[str, str]], score: str) -> tuple[Scores, list[str]]:
    """Return the normalised scores of the runs in these rows, and the tasks that no system learned."""
    of_run, last = curves(folder), PARTS // 10
    scores: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    unlearned = []
    for row in rows:
        task = row["task"]
        trained = [
            (each["system"], of_run[task, each["system"], each["seed"]])
            for each in rows
            if each["task"] == task and each["system"] != RANDOM
        ]
        if row["system"] != RANDOM or not trained:
            continue
        chance, best = float(row["area"]), max(float(curve[-last:].mean()) for _, curve in trained)
        if best - chance <= CHANCE * float(row["deviation"]) / float(row["episodes"]) ** 0.5:
            unlearned.append(task)
            continue
        for system, curve in trained:
            of_curve = float((curve if score == "area" else curve[-last:]).mean())
            scores[system][task].append((of_curve - chance) / (best - chance))
    return {s: {t: np.array(v) for t, v in of.items()} for s, of in scores.items()}, unlearned


def improvement(ours: Array, theirs: Array) -> float:
    """Return how probably a run of ours is above one of theirs; equal ones count half."""
    return float(np.mean((ours[:, None] > theirs) + 0.5 * (ours[:, None] == theirs)))


def resampled(tasks: list[str], scores: list[dict[str, Array]], rng: np.random.Generator) -> list[list[Array]]:
    """Return scores of tasks drawn with replacement, of seeds drawn with replacement in each; per task, per system."""
    drawn = rng.choice(tasks, len(tasks))
    return [[rng.choice(of[task], len(of[task])) for of in scores] for task in drawn]


def interval(values: list[float]) -> str:
    """Return "(low to high)" of bootstrapped values."""
    low, high = np.percentile(values, [2.5, 97.5])
    return f"({low:.2f} to {high:.2f})"


def summary(tasks: list[str], scores: Scores, systems: list[str]) -> list[str]:
    """Return a line per system: interquartile mean, and probability of improvement over each peer."""
    rng, lines, peers = np.random.default_rng(0), [], [peer for peer in PEERS if peer in systems]
    lines.append(f"| | interquartile mean | mean |{''.join(f' P(above {peer}) |' for peer in peers)}")
    lines.append("|---" * (3 + len(peers)) + "|")
    for system in systems:
        found = [resampled(tasks, [scores[system], *(scores[peer] for peer in peers)], rng) for _ in range(RESAMPLES)]
        pooled = np.concatenate([scores[system][task] for task in tasks])
        middle = [float(iqm(np.concatenate([each[0] for each in sample]))) for sample in found]
        line = f"| {system} | {float(iqm(pooled)):.2f} {interval(middle)} | {pooled.mean():.2f} |"
        for number, peer in enumerate(peers, 1):
            mean = float(np.mean([improvement(scores[system][task], scores[peer][task]) for task in tasks]))
            spread = [float(np.mean([improvement(each[0], each[number]) for each in sample])) for sample in found]
            line += " |" if peer == system else f" {mean:.2f} {interval(spread)} |"
        lines.append(line)
    return lines


def table(scores: Scores, systems: list[str], tasks: list[str]) -> list[str]:
    """Return a line per task: the mean over seeds, and how many where there is more than one."""
    lines = [f"| task |{''.join(f' {system} |' for system in systems)}", "|---" * (1 + len(systems)) + "|"]
    for task in tasks:
        cells = [scores[system].get(task) for system in systems]
        texts = ["" if each is None else f"{each.mean():.2f}" + f" ({len(each)})" * (len(each) > 1) for each in cells]
        lines.append(f"| {task} | {' | '.join(texts)} |")
    return lines


def seconds(rows: list[dict[str, str]], systems: list[str], tasks: list[str]) -> list[str]:
    """Return a line per system: its median seconds of processor time, and those of each peer over them."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows:
        found[row["system"], row["task"]].append(float(row["cpu_seconds"]))
    cost = {key: float(np.median(values)) for key, values in found.items()}
    lines = ["| seconds of processor time, whole command: median over tasks | | " + " | ".join(PEERS) + " |"]
    lines.append("|---" * (2 + len(PEERS)) + "|")
    for system in systems:
        ratios = [np.median([cost[peer, task] / cost[system, task] for task in tasks]) for peer in PEERS]
        of_system = np.median([cost[system, task] for task in tasks])
        lines.append(f"| {system} | {of_system:.0f} | {' | '.join(f'{each:.1f} times' for each in ratios)} |")
    return lines


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", choices=(CHOOSING, HELD_OUT), default=CHOOSING)
    parser.add_argument("--score", choices=("area", "end"), default="area")
    parser.add_argument("--systems", help="with commas, in addition to the peers (default: all there are)")
    args = parser.parse_args()
    rows = [row for row in read(args.folder / "runs.csv") if HALVES[row["task"]] == args.half]
    scores, unlearned = normalised(args.folder, rows, args.score)
    others = [system for system in scores if system not in PEERS]
    systems = [*(peer for peer in PEERS if peer in scores), *(args.systems.split(",") if args.systems else others)]
    tasks = [task for task in TASKS if any(task in scores[system] for system in systems)]
    common = [task for task in tasks if all(task in scores[system] for system in systems)]
    runs = sum(len(scores[system][task]) for system in systems for task in common)
    print(f"{args.half} half, {args.score}: {len(common)} tasks that all have run, {runs} runs\n")
    print("\n".join([*table(scores, systems, tasks), ""]))
    if unlearned:
        print(f"no system is above the random policy: {', '.join(unlearned)}\n")
    if common:
        print("\n".join([*summary(common, scores, systems), "", *seconds(rows, systems, common)]))


if __name__ == "__main__":
    main()
