"""Tables of the results, in Markdown."""

from collections import defaultdict
from typing import Any

import numpy as np

from benchmarks.record import machine_of
from benchmarks.scaling import collecting, measured
from minitrpo.course.speedup.statistics import speedup, speedup_interval
from minitrpo.policies import Array
from minitrpo.run_folder.metrics_log import SECONDS

FEW = 5  # measurements whose bootstrap bounds are the lowest and the highest of them: 94 % for five, 50 % for two
Times = dict[tuple[str, str], list[tuple[Array, Array]]]  # (environment, learner) -> (alone, together), by measurement


def table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a Markdown table; the first column is text, the others are numbers."""
    rule = ("---", *["---:"] * (len(header) - 1))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *rows))


def span(pair: tuple[float, float], form: str = ".2f") -> str:
    """Return an interval as text."""
    return f"{pair[0]:{form}} to {pair[1]:{form}}"


def made_by(result: dict[str, Any]) -> str:
    """Return the line under a table that says what made it."""
    p = result["provenance"]
    versions = ", ".join(f"{name} {number}" for name, number in p["versions"].items())
    return f"*`{p['command']}`; {machine_of(result)}; {p['date'][:10]}; Python {p['python']}, {versions}.*"


def scaling(result: dict[str, Any]) -> str:
    """Return the table of speed-up against ranks."""
    header = (
        *("environment, learner, pool", "ranks", "collect", "wait", "gather", "update", "whole, s"),
        *("collecting, times 1 rank", "whole, times 1 rank", "95 % interval", "efficiency", "Karp-Flatt"),
    )
    rows = [
        (
            f"{x['env']}, " + ("separate runs" if x["separate"] else f"{x['learner']}, {x['pool']}"),
            f"{x['ranks']}{'*' if x['ranks'] > result['cores'] else ''}",
            *(f"{x[name]:.3f}" for name in SECONDS),
            f"{x['collect_speedup']:.2f}",
            f"{x['speedup']:.2f}",
            span(x["interval"]) if x["ranks"] > 1 else "-",
            f"{x['efficiency']:.2f}",
            f"{x['karp_flatt']:.2f}" if x["karp_flatt"] is not None else "-",
        )
        for x in result["lines"]
    ]
    note = f"\\* more ranks than the {result['cores']} cores: says what is lost, not what more cores would give."
    return f"{table(header, rows)}\n\n{note}\n\n{made_by(result)}"


def same_work(measurements: list[dict[str, Any]]) -> str:
    """Return the table of speed-ups with all updates of several measurements put together that did the same work."""
    cores, rows = measurements[0]["cores"], []
    for (env, learner), pairs in sorted(compared_times(measurements, cores).items()):
        alone, together = (np.concatenate(times) for times in zip(*pairs, strict=True))
        gains = []
        for seconds in ((collecting(alone), collecting(together)), (alone[:, -1], together[:, -1])):
            gains += [f"{speedup(*seconds):.2f}", span(speedup_interval(*seconds))]
        rows.append((f"{env}, {learner}, {cores} ranks or more", f"{len(pairs)}", f"{len(together)}", *gains))
    header = ("all updates of the same work", "measurements", "updates")
    return table((*header, "collecting", "95 % interval", "whole", "95 % interval"), rows)


def compared_times(measurements: list[dict[str, Any]], cores: int) -> Times:
    """Return the seconds of one rank and of `cores` or more, per measurement, for every environment and learner.

    On one rank learner and pool make no difference, and of more ranks than cores only as many as the cores work. A
    learner is compared with one rank in the measurements that it is part of: the machine's speed differs between them.
    """
    pairs: Times = defaultdict(list)
    for result in measurements:
        alone, together = defaultdict(list), defaultdict(list)
        for experiment, times in measured(result):
            if experiment.ranks == 1:
                alone[experiment.env].append(times)
            elif experiment.ranks >= cores and not experiment.separate:
                together[experiment.env, experiment.learner].append(times)
        for (env, learner), parts in together.items():
            pairs[env, learner].append((np.concatenate(alone[env]), np.concatenate(parts)))
    return pairs
