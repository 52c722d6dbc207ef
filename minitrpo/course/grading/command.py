"""Grade notebooks: a table of student, exercise, points and symptom, whatever became of a notebook's check cells."""

import math
import os
import signal
import sys
from pathlib import Path
from typing import Any

from minitrpo.algorithms.options import whole
from minitrpo.commands.command_line import RootParser
from minitrpo.errors import BadInput
from minitrpo.run_folder.checkpoint import write_atomically
from minitrpo.supervision.exit_codes import command

EPILOG = """Every notebook runs from top to bottom, in a process and a temporary folder of its own, with short budgets.
An exercise has 1 point if its function passes the check of this package; that of the notebook does not count, and
neither does the package's own function by any name. Where Linux has namespaces for this user, a submission can write
into its own folder alone, and sees neither the others nor, unless Python lies there, your home; elsewhere a line says
that it can. Answers run in the process that checks them, so this is no sandbox against malice: grade what strangers
hand in as a user of its own, or in a container.

With --gradebook, a table that Canvas or Moodle exported is written again with the points filled in: they take their own
file back. A student is found by number, login, mail address or name in the submission's name.

A file NAME.run.json beside the notebooks is a claim for the leaderboard: `minitrpo entry RUN` prints one."""
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
    parser.add_argument(
        "--repeat",
        type=whole,
        default=0,
        metavar="STEPS",
        help="repeat claims, cheapest first, in so many environment steps together (default: 0)",
    )
    parser.add_argument(
        "--gradebook", type=Path, metavar="CSV", help="exported by Canvas or Moodle: written, filled in"
    )
    parser.add_argument("--column", help="of --gradebook, that takes the points (default: Grade, as Moodle's)")
    args = parser.parse_args(words)
    if not 0 < args.seconds < math.inf:
        raise BadInput(f"--seconds must be more than 0, not {args.seconds:g}")
    if not 512 <= args.memory <= 2**20:
        raise BadInput(f"--memory must lie in [512, {2**20}] MiB, not {args.memory}")
    if args.repeat < 0:
        raise BadInput(f"--repeat must be 0 or more, not {args.repeat}")
    from minitrpo.course.grading.gradebook import filled
    from minitrpo.course.grading.leaderboard import claims

    found, out, limits = claims(args.path), args.out or free_name(), (args.seconds, args.memory)
    if args.gradebook is not None:
        check_new(book_of(out))
        filled(args.gradebook, args.column, [])  # what is wrong with it is said before any work
    if found:
        check_new(board_of(out))
    if not found or any(args.path.rglob("*.ipynb")):
        rows = graded(args.path, out, *limits)
        if args.gradebook is not None:
            fill(args.gradebook, args.column, rows, book_of(out))
    return 0 if not found else ranked(found, board_of(out), args.repeat, *limits)


def leave(number: int, frame: Any) -> None:
    """End at SIGTERM and SIGHUP as a program does that clears up: no process and no folder of a submission stays."""
    raise SystemExit(128 + number)


def free_name() -> Path:
    """Return grades.csv, or the first of grades-02.csv and so on that is free, with a leaderboard beside it."""
    names = (Path("grades.csv"), *(Path(f"grades-{number:02d}.csv") for number in range(2, 10_000)))
    return next(name for name in names if not any(map(os.path.lexists, (name, board_of(name), book_of(name)))))


def board_of(out: Path) -> Path:
    """Return where the leaderboard goes: beside the table of grades."""
    return out.with_name(f"{out.stem}-leaderboard.csv")


def book_of(out: Path) -> Path:
    """Return where the filled gradebook goes: beside the table of grades."""
    return out.with_name(f"{out.stem}-gradebook.csv")


def fill(book: Path, column: str | None, rows: list[Any], out: Path) -> None:
    """Write the gradebook with the points in it, and say who is not in it."""
    from minitrpo.course.grading.gradebook import filled

    text, missing = filled(book, column, rows)
    write_atomically(out, text.encode())
    print(f"{out}")
    for student in missing:
        print(f"note: {student} has no row of its own in {book}: enter these points by hand", file=sys.stderr)


def check_new(out: Path) -> None:
    """Raise BadInput if this cannot be a new file."""
    if not out.absolute().parent.is_dir():
        raise BadInput(f"cannot write {out}: name a file in a folder that exists")
    if os.path.lexists(out):
        raise BadInput(f"{out} exists, and is not overwritten: move it away, or choose another --out")


def ranked(found: list[Any], out: Path, steps: int, seconds: float, memory: int) -> int:
    """Print the leaderboard of these claims, and write it."""
    from minitrpo.course.grading.leaderboard import Line, leaderboard
    from minitrpo.course.grading.sandbox import Limits
    from minitrpo.course.grading.table import as_csv, as_text

    signal.signal(signal.SIGTERM, leave)
    lines = leaderboard(found, steps, Limits(seconds, memory))
    write_atomically(out, as_csv(lines, Line._fields).encode())
    print("", as_text(lines, Line._fields), f"\n{out}", sep="\n")
    return 0


def graded(path: Path, out: Path, seconds: float, memory: int) -> list[Any]:
    """Grade all submissions, print the table and write it; return its rows."""
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

    check_new(out)
    handed_in = submissions(path)
    rows: list[Row] = []
    guard = Guard(handed_in)
    signal.signal(signal.SIGTERM, leave)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, leave)
    if not able():
        print(OPEN, file=sys.stderr)
    for number, submission in enumerate(handed_in, start=1):
        print(f"{number}/{len(handed_in)} {submission.student}", file=sys.stderr)
        rows += graded(submission, Limits(seconds, memory), (path if path.is_dir() else path.parent,))
        if changed := guard.mended():
            note = f"changed files outside of its folder, which were put back: {', '.join(changed)}"
            rows.append(Row(submission.student, NOTEBOOK, None, note))
        write_atomically(out, as_csv(rows).encode())
    print(as_text(rows), "", *sums(rows), f"\n{out}", sep="\n")
    return rows
