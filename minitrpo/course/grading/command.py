"""Grade notebooks: a table of student, exercise, points and symptom, whatever became of a notebook's check cells."""

import math
import os
import signal
from pathlib import Path
from typing import Any

from minitrpo.commands.cli import command
from minitrpo.commands.command_line import RootParser, whole
from minitrpo.errors import BadInput
from minitrpo.run_folder.files import write_atomically
from minitrpo.supervision.stderr import say

EPILOG = """Every notebook runs from top to bottom, in a process and a temporary folder of its own, with short budgets.
An exercise has 1 point if its function passes the check of this package; that of the notebook does not count, and
neither does the package's own function by any name. Where Linux has namespaces for this user, a submission can write
into its own folder alone, and sees neither the others nor, unless Python lies there, your home; elsewhere a line says
that it can. Answers run in the process that checks them, so this is no sandbox against malice: grade what strangers
hand in as a user of its own, or in a container."""
OPEN = """note: there are no namespaces (unshare) here: submissions can read what you can read, each other too, and
write where you can write; changed files of the package and of submissions are put back"""


@command("grade")
def main(name: str, words: list[str]) -> int:
    """Print the table, and write it."""
    parser = RootParser(prog=name, allow_abbrev=False, description=__doc__, epilog=EPILOG)
    parser.add_argument("path", type=Path, help="a notebook, or a folder of them: a student is what the file is called")
    parser.add_argument("--out", type=Path, help="the table as CSV, a new file (default: grades.csv, or grades-02.csv)")
    parser.add_argument("--seconds", type=float, default=120.0, help="for each cell and each check (default: 120)")
    parser.add_argument("--memory", type=whole, default=4096, help="MiB for each process (default: 4096)")
    args = parser.parse_args(words)
    if not 0 < args.seconds < math.inf:
        raise BadInput(f"--seconds must be more than 0, not {args.seconds:g}")
    if not 512 <= args.memory <= 2**20:
        raise BadInput(f"--memory must lie in [512, {2**20}] MiB, not {args.memory}")
    return graded(args.path, args.out or free_name(), args.seconds, args.memory)


def leave(number: int, frame: Any) -> None:
    """End at SIGTERM and SIGHUP as a program does that clears up: no process and no folder of a submission stays."""
    raise SystemExit(128 + number)


def free_name() -> Path:
    """Return grades.csv, or the first of grades-02.csv and so on that is free."""
    names = (Path("grades.csv"), *(Path(f"grades-{number:02d}.csv") for number in range(2, 10_000)))
    return next(name for name in names if not os.path.lexists(name))


def graded(path: Path, out: Path, seconds: float, memory: int) -> int:
    """Grade all submissions, print the table and write it."""
    try:
        import IPython  # noqa: F401
    except ImportError:
        raise BadInput(
            "grading runs notebooks, which needs the course's packages: pip install 'minitrpo[course]'"
        ) from None
    from minitrpo.course.grading.sandbox import Limits
    from minitrpo.course.grading.submissions import submissions
    from minitrpo.course.grading.table import NOTEBOOK, Guard, Row, as_csv, as_text, graded, sums
    from minitrpo.course.grading.walls import able

    if not out.absolute().parent.is_dir():
        raise BadInput(f"cannot write {out}: name a file in a folder that exists")
    if os.path.lexists(out):
        raise BadInput(f"{out} exists, and is not overwritten: move it away, or choose another --out")
    handed_in = submissions(path)
    rows: list[Row] = []
    guard = Guard(handed_in)
    signal.signal(signal.SIGTERM, leave)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, leave)
    if not able():
        say(OPEN)
    for number, submission in enumerate(handed_in, start=1):
        say(f"{number}/{len(handed_in)} {submission.student}")
        rows += graded(submission, Limits(seconds, memory), (path if path.is_dir() else path.parent,))
        if changed := guard.mended():
            note = f"changed files outside of its folder, which were put back: {', '.join(changed)}"
            rows.append(Row(submission.student, NOTEBOOK, None, note))
        write_atomically(out, as_csv(rows).encode())
    print(as_text(rows), "", *sums(rows), f"\n{out}", sep="\n")
    return 0
