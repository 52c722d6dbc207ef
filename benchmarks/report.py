"""Tables and pictures of all results: fills benchmarks/README.md between its markers, draws results/*.png.

python -m benchmarks.report            (after any of the other benchmarks)
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from scipy import stats

from benchmarks.record import RESULTS
from benchmarks.scaling import SEPARATE
from minitrpo.parallel.speedup import speedup, speedup_interval
from minitrpo.policies import Array
from minitrpo.runs.plots import BLUE, GREEN, GREY, ORANGE, RED

README = Path(__file__).parent / "README.md"
OURS, THEIRS = "minitrpo", "sb3-contrib"

# Published TRPO, final or best mean returns: research notes with sources in benchmarks/README.md
PUBLISHED = {
    "HalfCheetah-v5": "1803 (a, v3), 1786 (b, v3), 4471 (c, v3, max), 1290 (d, v2), 1561 (e, v2, 2M)",
    "Hopper-v5": "3372 (a, v3), 3618 (b, v3), 2046 (c, v3, max), 1913 (d, v2), 3038 (e, v2, 2M)",
    "Walker2d-v5": "4502 (a, v3), 4933 (b, v3), 3827 (c, v3, max), 2342 (d, v2), 3260 (e, v2, 2M)",
    "Swimmer-v5": "359 (a, v3), 366 (b, v3), 41 (c, v3, max), 95 (d, v2), 197 (e, v2, 2M)",
    "Reacher-v5": "-5.1 (c, v2, max), -4.82 (d, v2)",
    "InvertedDoublePendulum-v5": "8435 (c, v2, max), 6732 (d, v2)",
    "CartPole-v1": "500 (b)",
    "Pendulum-v1": "-175 (b)",
    "Ant-v5": "3554 (a, v3), 4982 (b, v3), 2867 (c, v3, max)",
    "Humanoid-v5": "810 (c, v3, max)",
}


def load(name: str) -> dict[str, Any] | None:
    """Return a benchmark's results, None if it has not been run."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def made(found: dict[str, Any]) -> str:
    """Return the line under a table that says what made it."""
    p = found["provenance"]
    versions = ", ".join(f"{name} {number}" for name, number in p["versions"].items())
    return f"*`{p['command']}`; {p['machine']}; {p['date']}; Python {p['python']}, {versions}.*"


def table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a Markdown table; the first column is text, the others are numbers."""
    rule = ("---", *["---:"] * (len(header) - 1))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *rows))


def span(pair: tuple[float, float], form: str = ".2f") -> str:
    """Return an interval as text."""
    return f"{pair[0]:{form}} to {pair[1]:{form}}"


def limit(found: dict[str, Any]) -> str:
    """Return the table of collecting beside open-loop physics."""
    header = ("environment", "slots", "open-loop, steps/s", "ours, steps/s", "ratio", "95 % interval")
    rows = [
        (
            x["environment"],
            f"{x['slots']}",
            f"{x['limit']:,.0f}",
            f"{x['ours']:,.0f}",
            f"{x['ratio']:.2f}",
            span(x["interval"], ".3f"),
        )
        for x in found["lines"]
    ]
    names = list(dict.fromkeys(x["environment"] for x in found["lines"]))
    widths = sorted({x["slots"] for x in found["lines"]})
    figure, axis = plt.subplots(figsize=(9, 5), constrained_layout=True)
    for i, (width, color) in enumerate(zip(widths, cycle((BLUE, GREEN, ORANGE, RED)))):
        mine = [x for x in found["lines"] if x["slots"] == width]
        thick = 0.8 / len(widths)
        places = [names.index(x["environment"]) + (i - (len(widths) - 1) / 2) * thick for x in mine]
        axis.barh(places, [x["ratio"] for x in mine], height=thick, color=color, label=f"{width} slots")
    axis.axvline(1, color=GREY, linestyle="--")
    axis.set(yticks=range(len(names)), yticklabels=names, xlim=(0, 1.05))
    axis.set_xlabel("collecting, as a share of the same physics open-loop (1 rank, 1 thread)")
    axis.invert_yaxis()
    figure.legend(loc="outside upper right", ncols=len(widths))
    save(figure, "limit")
    return table(header, rows) + "\n\n" + made(found)


def peers(found: dict[str, Any]) -> str:
    """Return the table of whole iterations beside other libraries."""
    header = (
        "system",
        "steps/s",
        "collecting, s",
        "updating, s",
        "peak MB/process",
        "times sb3-contrib",
        "95 % interval",
    )
    rows = [
        (
            x["system"],
            f"{x['rate']:,.0f}",
            f"{x['collect_s']:.2f}",
            f"{x['update_s']:.2f}",
            f"{x['peak_mb']}",
            f"{x['ratio']:.2f}",
            span(x["interval"]),
        )
        for x in found["lines"]
    ]
    figure, axis = plt.subplots(figsize=(9, 4.2), constrained_layout=True)
    places = np.arange(len(rows))
    collect, update = (np.array([x[name] for x in found["lines"]]) for name in ("collect_s", "update_s"))
    axis.barh(places, collect, color=BLUE, label="collecting")
    axis.barh(places, update, left=collect, color=GREEN, label="updating")
    axis.set(yticks=places, yticklabels=[row[0] for row in rows])
    axis.set_xlabel(f"median seconds for {found['settings']['steps']:,} steps of {found['settings']['env']}")
    axis.invert_yaxis()
    axis.legend()
    save(figure, "peers")
    return table(header, rows) + "\n\n" + made(found)


def scaling(found: dict[str, Any]) -> str:
    """Return the table of speed-up against ranks."""
    header = (
        *("environment, learner, pool", "ranks", "collect", "wait", "gather", "update", "whole, s"),
        *("collecting, times 1 rank", "whole, times 1 rank", "95 % interval", "efficiency", "Karp-Flatt"),
    )
    phases = ("collect_s", "wait_s", "gather_s", "update_s", "iteration_s")
    rows = [
        (
            f"{x['env']}, " + (f"{x['learner']}, {x['pool']}" if x["learner"] != SEPARATE else "separate runs"),
            f"{x['ranks']}{'*' if x['ranks'] > found['cores'] else ''}",
            *(f"{x[phase]:.3f}" for phase in phases),
            f"{x['collect_speedup']:.2f}",
            f"{x['speedup']:.2f}",
            span(x["interval"]) if x["ranks"] > 1 else "-",
            f"{x['efficiency']:.2f}",
            f"{x['karp_flatt']:.2f}" if x["karp_flatt"] is not None else "-",
        )
        for x in found["lines"]
    ]
    envs = list(dict.fromkeys(x["env"] for x in found["lines"]))
    figure, axes = plt.subplots(1, len(envs), figsize=(5.5 * len(envs), 4.4), constrained_layout=True, squeeze=False)
    for axis, env in zip(axes[0], envs, strict=True):
        curves = defaultdict(list)
        for x in found["lines"]:
            if x["env"] == env and x["learner"] == SEPARATE:
                axis.axhline(x["speedup"], linestyle="-.", color=GREY, label=f"{x['ranks']} separate runs")
            elif x["env"] == env:
                curves[x["learner"], x["pool"]].append((x["ranks"], x["speedup"], *x["interval"]))
        styles = zip(curves.items(), (BLUE, GREEN, ORANGE, RED), ("o-", "s--", "o-", "s--"), strict=False)
        for ((learner, pool), points), color, style in styles:
            ranks, speed, low, high = np.array(points).T
            bars = np.clip([speed - low, high - speed], 0, None)
            axis.errorbar(
                ranks, speed, bars, fmt=style, color=color, capsize=3, label=f"{learner} learner, {pool} pool"
            )
        axis.plot(ranks, np.minimum(ranks, found["cores"]), ":", color=GREY, label=f"ideal on {found['cores']} cores")
        axis.set(title=env, xlabel="ranks", ylabel="whole iteration, times 1 rank", xscale="log", ylim=(0, None))
        axis.set_xticks(ranks, [f"{n:.0f}" for n in ranks], minor=False)
        axis.minorticks_off()
        axis.grid(alpha=0.3)
        axis.legend(loc="lower right", fontsize=8)
    save(figure, "scaling")
    note = f"\\* more ranks than the {found['cores']} cores: says what is lost, not what more cores would give."
    return table(header, rows) + f"\n\n{note}\n\n{made(found)}\n\n" + same_work([found, *repeats_of(found)])


def repeats_of(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the recorded repetitions of a scaling measurement on the same kind of machine."""
    repeats = [json.loads(path.read_text()) for path in sorted((RESULTS / "other").glob("scaling_repeat_*.json"))]
    return [x for x in repeats if x["provenance"]["machine"] == found["provenance"]["machine"]]


def same_work(measurements: list[dict[str, Any]]) -> str:
    """Return the table of speed-ups with all updates of several measurements put together that did the same work.

    On one rank learner and pool make no difference, and of more ranks than cores only as many as the cores work. A
    learner is compared with one rank in the measurements that it is part of: the machine's speed differs between them.
    """
    cores = measurements[0]["cores"]
    compared: dict[tuple[str, str], list[tuple[Array, Array]]] = defaultdict(list)
    for found in measurements:
        alone, together = defaultdict(list), defaultdict(list)
        for x in found["lines"]:
            env, learner, pool, ranks = (x[name] for name in ("env", "learner", "pool", "ranks"))
            seconds = np.array(found[f"{env}, {learner}, {pool}, {ranks}"])
            if ranks == 1:
                alone[env].append(seconds)
            elif ranks >= cores and learner != SEPARATE:
                together[env, learner].append(seconds)
        for (env, learner), some in together.items():
            compared[env, learner].append((np.concatenate(alone[env]), np.concatenate(some)))
    rows = []
    for (env, learner), pairs in sorted(compared.items()):
        one, several = (np.concatenate(times) for times in zip(*pairs, strict=True))
        gains = []
        for phases in (slice(3), slice(-1, None)):  # collect, wait and gather; the whole iteration
            times = one[:, phases].sum(axis=1), several[:, phases].sum(axis=1)
            gains += [f"{speedup(*times):.2f}", span(speedup_interval(*times))]
        rows.append((f"{env}, {learner}, {cores} ranks or more", f"{len(pairs)}", f"{len(several)}", *gains))
    header = ("all updates of the same work", "measurements", "updates")
    return table((*header, "collecting", "95 % interval", "whole", "95 % interval"), rows)


def iqm(scores: Array, axis: int = -1) -> Array:
    """Return the interquartile mean: the mean of the middle half (Agarwal et al. 2021)."""
    return np.asarray(stats.trim_mean(scores, 0.25, axis=axis))


def iqm_interval(scores: Array) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the interquartile mean over seeds; NaN for a single one."""
    if len(scores) < 2:
        return float("nan"), float("nan")
    options = {"method": "percentile", "n_resamples": 10_000, "rng": np.random.default_rng(0), "vectorized": True}
    found = stats.bootstrap((scores,), iqm, axis=0, **options).confidence_interval
    return float(found.low), float(found.high)


def runs() -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return the recorded runs of every (environment, system), by seed."""
    found = defaultdict(list)
    for path in sorted((RESULTS / "returns").glob("*.json")):
        run = json.loads(path.read_text())
        found[run["env"], run["system"]].append(run)
    return found


def returns(recorded: dict[tuple[str, str], list[dict[str, Any]]]) -> str:
    """Return the table of final returns beside sb3-contrib's and the published ones."""
    header = ("environment", "steps", f"{OURS}, IQM", "95 % interval", f"{THEIRS}, IQM", "95 % interval", "published")
    rows = []
    for env, published in PUBLISHED.items():
        cells, steps = [], "-"
        for system in (OURS, THEIRS):
            scores = np.array([run["curve"][-1][1] for run in recorded.get((env, system), [])])
            if len(scores) == 0:
                cells += ["-", "-"]
                continue
            steps = f"{round(recorded[env, system][0]['curve'][-1][0], -5):,}"
            form = ".2f" if env == "Reacher-v5" else ".0f"
            cells += [f"{float(iqm(scores)):{form}} ({len(scores)})", span(iqm_interval(scores), form)]
        rows.append((env, steps, *cells, published))
    draw_returns(recorded)
    one = next(run for found in recorded.values() for run in found if run["system"] == OURS)
    other = next(run for found in recorded.values() for run in found if run["system"] == THEIRS)
    return table(header, rows) + "\n\n" + made(one) + "\n\n" + made(other)


def draw_returns(recorded: dict[tuple[str, str], list[dict[str, Any]]]) -> None:
    """Draw the interquartile mean and the range of all seeds against environment steps."""
    envs = [env for env in PUBLISHED if (env, OURS) in recorded or (env, THEIRS) in recorded]
    height = -(-len(envs) // 4)
    figure, axes = plt.subplots(height, 4, figsize=(16, 3.6 * height), constrained_layout=True, squeeze=False)
    for axis, env in zip(axes.flat, envs, strict=False):
        for system, color in ((OURS, BLUE), (THEIRS, ORANGE)):
            found = [np.array(run["curve"]).T for run in recorded.get((env, system), [])]
            if not found:
                continue
            grid = np.linspace(max(c[0][0] for c in found), min(c[0][-1] for c in found), 100)
            curves = np.array([np.interp(grid, *c) for c in found])
            axis.plot(grid / 1e3, iqm(curves, axis=0), color=color, label=f"{system}, {len(found)} seeds")
            axis.fill_between(grid / 1e3, curves.min(axis=0), curves.max(axis=0), color=color, alpha=0.18, linewidth=0)
        axis.set(title=env, xlabel="thousand environment steps", ylabel="return, last 100 episodes")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    for axis in axes.flat[len(envs) :]:
        axis.axis("off")
    save(figure, "returns")


def save(figure: Any, name: str) -> None:
    """Write a picture into results."""
    figure.savefig(RESULTS / f"{name}.png", dpi=110)
    plt.close(figure)


TABLES: dict[str, Callable[[Any], str]] = {"limit": limit, "peers": peers, "scaling": scaling}


def filled(text: str) -> str:
    """Return the README with every table that there are results for between its markers."""
    found = {name: make(load(name)) for name, make in TABLES.items() if load(name)}
    if recorded := runs():
        found["returns"] = returns(recorded)
    for name, content in found.items():
        between = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        text = between.sub(lambda match, content=content: f"{match[1]}{content}\n{match[2]}", text)
    return text


def main() -> None:
    """Draw, and fill the README."""
    plt.switch_backend("Agg")
    README.write_text(filled(README.read_text()))
    print(README)


if __name__ == "__main__":
    main()
