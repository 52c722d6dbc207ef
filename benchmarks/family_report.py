"""The family's tables: a short one for README, and all that was measured for its page."""

from typing import Any

import numpy as np

from benchmarks.published import COUNTERPARTS, TUNED
from benchmarks.tables import table
from minitrpo.algorithms.registry import ALGORITHMS
from minitrpo.course.members import DESIGNS
from minitrpo.reports.trained import half_interval


def family_table(found: list[dict[str, Any]]) -> str:
    """Return the table of the family, a row for each member and task: where it stands, and what was measured."""
    header = ("--algorithm", "when", "in step by", "what travels", "who learns", "from", "source", "task")
    header += ("goal", "reached it", "median steps", "in the end")
    rows = []
    for name in ALGORITHMS:
        design = DESIGNS[name]
        place = (f"`{name}`", design.when, design.sync, design.travels, design.learns, design.data, design.source)
        own = [x for x in found if x["algorithm"] == name]
        rows += [(*place, *measured_cells(x)) for x in own] or [(*place, "-", "-", "-", "-", "not measured")]
    return table(header, rows)


def measured_cells(x: dict[str, Any]) -> tuple[str, ...]:
    """Return what the table of the family says of a member on a task."""
    form = form_of(x)
    ends = f"{float(np.mean(x['final'])):{form}} ({min(x['final']):{form}} to {max(x['final']):{form}})"
    reached = "-" if x["reached"] is None else f"{x['reached']} of {x['seeds']}"
    steps = f"{x['steps']:,.0f}" if x["steps"] else "-"
    goal = "-" if x["goal"] is None else f"{x['goal']:g}"
    return (x["env"], goal, reached, steps, ends)


def short_table(found: list[dict[str, Any]]) -> str:
    """Return a row for each member: what travels and when, on which tasks, with what return in the end."""
    rows = []
    for name in ALGORITHMS:
        design = DESIGNS[name]
        step = "waiting for all" if design.sync == "barrier" else "as it comes"
        own = [x for x in found if x["algorithm"] == name]
        tasks = "; ".join(x["env"].rpartition(":")[2].partition("-")[0] for x in own) or "-"
        few = [f" ({x['seeds']} of 5 seeds)" * (x["seeds"] < 5) for x in own]
        means = [f"{float(np.mean(x['final'])):{form_of(x)}}" for x in own]
        results = "; ".join(map("".join, zip(means, few, strict=True))) or "not measured"
        rows.append((f"`{name}`", f"{design.travels}, {design.when}, {step}", tasks, results))
    return table(("--algorithm", "what travels, and when", "task", "mean return in the end"), rows)


def held_out_table(found: list[dict[str, Any]], held_out: list[dict[str, Any]]) -> str:
    """Return what every row returns in the end on its own seeds, and on seeds that nobody had used."""
    header = ("member", "task", "seeds", "reached it", "in the end", "held-out seeds", "reached it", "in the end")
    fresh = {(x["algorithm"], x["env"]): x for x in held_out}
    rows = []
    for x in found:
        if other := fresh.get((x["algorithm"], x["env"])):
            cells = [(str(y["seeds"]), *(measured_cells(y)[k] for k in (2, 4))) for y in (x, other)]
            rows.append((f"`{x['algorithm']}`", x["env"].rpartition(":")[2], *cells[0], *cells[1]))
    said = "The same on seeds that nobody had used, drawn when all settings stood (`--held-out`):"
    return f"{said}\n\n{table(header, rows)}" if rows else ""


def form_of(x: dict[str, Any]) -> str:
    """Return how the returns of a task are written."""
    return ",.1f" if abs(x["final"][0]) < 20 else ",.0f"


def tuned_table(found: list[dict[str, Any]]) -> str:
    """Return the table of members beside stable-baselines3's tuned counterparts, and by how much they fall short."""
    header = ("member", "task", "steps", "mean return", "95 % interval (Student, 5 seeds)")
    header += ("counterpart", "its steps", "its return", "falls short by")
    rows = []
    for x in found:
        other = COUNTERPARTS.get(x["algorithm"], "")
        if (other, x["env"]) not in TUNED or x["seeds"] < 5:
            continue
        (theirs, steps), scores = TUNED[other, x["env"]], np.array(x["final"])
        ours, half = float(np.mean(scores)), float(half_interval(scores[:, None])[0])
        short = "-" if ours >= theirs else f"{theirs - ours:,.0f}{', within' * (ours + half >= theirs)}"
        cells = (x["algorithm"], x["env"], f"{x['total_steps']:,}", f"{ours:,.0f}")
        rows.append((*cells, f"{ours - half:,.0f} to {ours + half:,.0f}", other, f"{steps:,}", f"{theirs:,.0f}", short))
    return table(header, rows)
