"""A student's own folder of notebooks: copied when they are new, merged when the course has corrections."""

import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from minitrpo.course.lab.merging import changed_by_hand, merged, read
from minitrpo.run_folder.atomic_files import write_atomically

PAGES = ("README.md", "glossary.md", "concepts.md", "LICENSE")
GIVEN = ".course"  # the folder with what the course gave last
WIDGET = "application/vnd.jupyter.widget-view+json"
COME_BACK = "This needs a running kernel: **Run > Run All Above Selected Cell**, then run this cell."


def update(course: Path, folder: Path) -> Iterator[str]:
    """Bring the course into a folder, and yield the lines to print about it. A student's text is never overwritten."""
    lectures, new = sorted(path.name for path in course.glob("[0-9]*.ipynb")), 0
    (folder / GIVEN).mkdir(parents=True, exist_ok=True)
    for name in (*lectures, *PAGES):
        ours, mine, given = course / name, folder / name, folder / GIVEN / name
        text, old = ours.read_bytes(), given.read_bytes() if given.exists() else None
        if name in lectures and changed_by_hand(read(ours), ours.stem):
            if mine.exists():
                back = f"git checkout {shlex.quote(os.path.relpath(ours))}"
                yield f"{os.path.relpath(ours)} was changed by hand, and gives no corrections; to undo that: {back}"
            else:
                write_atomically(mine, text)
            continue
        if not mine.exists():
            write_atomically(mine, text)
            new += name in lectures
        elif old == text:
            continue
        elif name in lectures:
            before, there = folder / GIVEN / f"{name}.before", read(mine)
            if there is None:
                yield f"{os.path.relpath(mine)} is no notebook: put it away, and the course's comes in its place"
                continue
            notebook = merged(read(given) or {"cells": []}, read(ours) or {}, there, ours.stem)
            write_atomically(mine, as_text(notebook), before)
            yield f"{name} is corrected, and your answers are as they were; the one before: {os.path.relpath(before)}"
        elif mine.read_bytes() in (old, text):
            write_atomically(mine, text)
        else:
            yield f"{name} stays as you have changed it; the course's is {os.path.relpath(given)}"
        write_atomically(given, text)
    if new:
        yield f"{new} lecture{'s' * (new > 1)} copied into {os.path.relpath(folder)}"


def put_widgets_away(path: Path) -> None:
    """Replace sliders and buttons that a notebook has from a kernel of yesterday by a line that says how to go on."""
    notebook = read(path) or {"cells": []}
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", ())]
    dead = [output for output in outputs if WIDGET in output.get("data", {})]
    for output in dead:
        output["data"] = {"text/markdown": COME_BACK}
    if dead:
        notebook["metadata"].pop("widgets", None)
        write_atomically(path, as_text(notebook))


def as_text(notebook: dict[str, Any]) -> bytes:
    """Return a notebook as Jupyter writes it."""
    return f"{json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False)}\n".encode()
