"""Lecture 15: what was predicted and measured, as pages show it and as it is kept."""

import re
from pathlib import Path
from typing import Any

from minitrpo.course.scaling.checking import Row
from minitrpo.course.scaling.inputs import save
from minitrpo.course.scaling.predict import Prediction
from minitrpo.errors import BadInput
from minitrpo.run_folder.checkpoint import write_atomically

SHOWN = 1  # which of the designs has its costs in the table


def put(page: Path, name: str, lines: list[str]) -> None:
    """Write lines between <!-- name --> and <!-- /name --> of a page; BadInput if it has no such place."""
    text, body = text_with_place(page, name), "\n".join(lines)
    write_atomically(page, marked(name).sub(lambda found: f"{found[1]}{body}\n{found[2]}", text).encode())


def text_with_place(page: Path, name: str) -> str:
    """Return the text of a page; BadInput if it has no place of this name."""
    try:
        text = page.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise BadInput(f"--page {page}: {getattr(error, 'strerror', None) or error}") from error
    if not marked(name).search(text):
        raise BadInput(f"--page {page} has no place for it: it needs the lines <!-- {name} --> and <!-- /{name} -->")
    return text


def marked(name: str) -> re.Pattern[str]:
    """Return what finds a place of this name in a page."""
    return re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)


def of_tables(title: str, tables: dict[str, list[Prediction]], origin: str) -> list[str]:
    """Return predictions as one table in Markdown, with where their inputs come from; the last columns are of SHOWN."""
    shown = list(tables)[SHOWN]
    head = ["ranks", *(f"{name}: seconds" for name in tables), f"{shown}: efficiency", "dollars", "largest other cost"]
    lines = [f"| {' | '.join(head)} |", f"|{' ---: |' * (len(head) - 1)} --- |"]
    for rows in zip(*tables.values(), strict=True):
        row, seconds = rows[SHOWN], " | ".join(f"{each.seconds:,.3g}" for each in rows)
        part, share = row.bottleneck
        rest = f"{100 * row.efficiency:.3g} % | {row.dollars:.2g} | {part} ({100 * share:.0f} %)"
        lines.append(f"| {row.ranks:,} | {seconds} | {rest} |")
    return [*lines, "", f"*{title}: simulated, not measured; inputs {origin}.*"]


def of_breaks(found: dict[str, dict[str, float]], each: int, origin: str) -> list[str]:
    """Return as Markdown from how many ranks on a cost is a tenth of an iteration; found: {design: {cost: ranks}}."""
    head = f"| cost, with {each:,} steps per rank and update (simulated) | {' | '.join(found)} |"
    lines = [head, f"| --- |{' ---: |' * len(found)}"]
    for name in next(iter(found.values())):
        lines.append(f"| {name} | {' | '.join(ranks_of(column[name]) for column in found.values())} |")
    return [*lines, "", f"*Inputs {origin}.*"]


def ranks_of(at: float) -> str:
    """Return a number of ranks in words."""
    return "never" if at > 100_000 else f"{at:,.0f}"


def of_comparison(rows: list[Row], summary: list[str], origin: str) -> list[str]:
    """Return predicted and measured seconds as Markdown."""
    lines = ["| | ranks | learner | pool | predicted, s | measured, s (95 %) | error |"]
    lines.append("| --- | ---: | --- | --- | ---: | ---: | ---: |")
    for r in rows:
        many = "*" if r.oversubscribed else ""
        seen = f"{r.measured:.3g} ({r.low:.3g} to {r.high:.3g})"
        name = f"{r.environment} | {r.ranks}{many} | {r.learner} | {r.pool}"
        lines.append(f"| {name} | {r.predicted:.3g} | {seen} | {100 * r.error:+.0f} % |")
    return [*lines, "", f"*{'; '.join(summary)}; inputs {origin}. \\* more ranks than cores.*"]


def keep(args: Any, title: str, tables: dict[str, list[Prediction]], rest: dict[str, Any]) -> None:
    """Write the predictions into args.out, and draw them next to it."""
    from minitrpo.course.scaling.drawing import draw

    rows = {
        name: [{**vars(row), "one": dict(row.one.parts()), "bottleneck": row.bottleneck[0]} for row in rows]
        for name, rows in tables.items()
    }
    settings = {name: str(value) for name, value in vars(args).items()}
    save(args.out, {"settings": settings, **rows, **rest})
    draw(title, tables, args.out.with_suffix(".png"))
