"""A corrected lecture with a student's answers in it. Notebooks are JSON here: setup.py, too, reads this file, alone.

Three versions are compared cell by cell: what the course gave, what it has now, and the student's. A cell that the
student has not touched becomes the course's. A cell that the student has changed or added stays; where the course has
corrected it, too, the correction stands below it, as text.
"""

import hashlib
import json
import re
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

Json = dict[str, Any]  # a notebook, or a cell of one
CORRECTED = "**The course has corrected the cell above, and you had changed it: yours stays.** The course's is now:"
MOST = 400  # cells of a lecture, and more


def read(path: Path) -> Json | None:
    """Return a notebook, or None if the file is not one."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("cells"), list) else None


def text_of(cell: Json) -> str:
    """Return what a cell says; files have it in lines."""
    return "".join(cell["source"])


def cell_id(stem: str, number: int, text: str) -> str:
    """Return the id that the build gives a cell."""
    return hashlib.sha256(f"{stem} {number} {text}".encode()).hexdigest()[:12]


def changed_by_hand(notebook: Json | None, stem: str) -> bool:
    """Return whether a lecture's notebook, None if it is not one, is not what some build wrote."""
    cells = enumerate(notebook["cells"] if notebook else ())
    return notebook is None or any(cell.get("id") != cell_id(stem, n, text_of(cell)) for n, cell in cells)


def merged(given: Json, now: Json, mine: Json, stem: str) -> Json:
    """Return the notebook of a lecture as the course has it now, with what the student has changed or added in it.

    given: what the course gave the student; without cells if that is not known.
    """
    was, after = {cell["id"]: cell for cell in given["cells"]}, places(given["cells"], now["cells"])
    known = {name: place for place, cell in enumerate(now["cells"]) for name in (cell["id"], name_of(cell)) if name}
    theirs, own, place = dict[int, Json](), dict[int, list[Json]](), -1
    for cell in mine["cells"]:
        name = cell.get("id", "")
        found = known.get(name_of(cell) or "", after.get(name, known.get(name)))
        if found is not None and found not in theirs:
            theirs[found], place = cell, found
        elif not untouched(cell, stem):
            own.setdefault(place, []).append(cell)
    cells, deleted = own.get(-1, []), set(after.values()) - theirs.keys()
    for place, cell in enumerate(now["cells"]):
        if place in theirs:
            cells += together(was.get(theirs[place].get("id")), cell, theirs[place], stem)
        elif place not in deleted:
            cells.append(cell)
        cells += own.get(place, [])
    return now | {"cells": cells}


def places(given: list[Json], now: list[Json]) -> dict[str, int]:
    """Return {id of a cell that the course gave: where its successor stands now}."""
    found = dict[str, int]()
    old, new = ([name_of(cell) or cell["cell_type"] + text_of(cell) for cell in cells] for cells in (given, now))
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal" or (kind == "replace" and b - a == d - c):
            found |= {cell["id"]: place for cell, place in zip(given[a:b], range(c, d), strict=True)}
    return found


def name_of(cell: Json) -> str | None:
    """Return what an exercise, its check or a prediction is known by, whatever is written in it; None for others."""
    about = cell.get("metadata", {})
    guess = re.search(r"^guess\w*", text_of(cell), re.MULTILINE) if "prediction" in about else None
    return next((f"{kind} {about[kind]}" for kind in ("exercise", "check") if kind in about), guess and guess[0])


def together(was: Json | None, now: Json, mine: Json, stem: str) -> list[Json]:
    """Return what stands where the course had a cell, has one now, and the student has one, too."""
    kept = mine | {"id": now["id"], "metadata": now["metadata"]}
    if text_of(mine) == text_of(now):
        return [kept]
    if untouched(mine, stem):
        return [now]
    if now["id"] == mine.get("id") or (was is not None and text_of(was) == text_of(now)):
        return [kept]
    kind = "python" if now["cell_type"] == "code" else "markdown"
    text = f"{CORRECTED}\n\n````{kind}\n{text_of(now)}\n````"
    return [kept, {"cell_type": "markdown", "id": f"{now['id']}-course", "metadata": {}, "source": text}]


def untouched(cell: Json, stem: str) -> bool:
    """Return whether some build wrote this cell as it is."""
    return any(cell.get("id") == cell_id(stem, number, text_of(cell)) for number in range(MOST))
