"""Grade notebooks: a table of student, exercise, points and symptom. The check cells of a notebook do not count."""

import asyncio
import importlib.util
import math
import os
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

from minitrpo.algorithms.options import whole
from minitrpo.commands.command_line import RootParser
from minitrpo.course.grading.gradebook import filled
from minitrpo.course.grading.leaderboard import Line, claims, leaderboard
from minitrpo.course.grading.running import Limits, Outcome, has_namespaces, run
from minitrpo.course.grading.submissions import Submission, submissions
from minitrpo.course.grading.table import Row, as_csv, as_text, as_text_cell, handed_back, marks_in, rows_of, sums
from minitrpo.errors import BadInput
from minitrpo.run_folder.atomic_files import write_atomically
from minitrpo.run_folder.provenance import pip_install
from minitrpo.supervision.program import command

EPILOG = """Every notebook runs from top to bottom, in its own process and temporary folder, with short budgets.
An exercise gives 1 point, or as many as its check in this package says, if the student's function passes that check. A
check in the notebook does not count, and a function of the package gives no point. If Linux has namespaces for this
user, a submission can write only into its own folder; otherwise a note says that it can write where you can. This is no
sandbox against malice: grade submissions of strangers as a separate user, or in a container.

The column by_hand is yours. Points in it (0.5, or 0.5: well put, or 0.5 points) are added, and words are for the
student. A remark that begins with a number in another way, such as "3. step is wrong", adds nothing, and a row
(by_hand) says so. The next table, grades-02.csv, keeps the column. The folder grades-texts has a text for each student.

With --gradebook, the points are filled into a table that Canvas or Moodle exported, so you can import it again. The
name of a submission must contain the student's number, login, mail address or name.

A file NAME.run.json next to the notebooks is a claim for the leaderboard; `minitrpo entry RUN` prints one."""
OPEN = "note: there are no namespaces (unshare) here: submissions can write where you can write, also into each other"
BESIDE = ("-leaderboard.csv", "-gradebook.csv", "-texts")  # files next to a table


@command("grade")
def main(name: str, words: list[str]) -> int:
    """Print the table, and write it."""
    parser = RootParser(prog=name, allow_abbrev=False, description=__doc__, epilog=EPILOG)
    parser.add_argument("path", type=Path, help="a notebook, or a folder of notebooks; the file name is the student")
    parser.add_argument(
        "--out", type=Path, default=Path("grades.csv"), help="the table; if it exists, -02 and so on is added"
    )
    parser.add_argument("--seconds", type=float, default=120.0, help="for each cell and each check (default: 120)")
    parser.add_argument("--memory", type=whole, default=4096, help="limit for each process in MiB (default: 4096)")
    parser.add_argument("--jobs", type=whole, default=os.cpu_count() or 1, help="notebooks at once (default: cores)")
    parser.add_argument(
        "--repeat",
        type=whole,
        default=0,
        metavar="STEPS",
        help="environment steps for repeating claims, cheapest first (default: 0)",
    )
    parser.add_argument("--gradebook", type=Path, metavar="CSV", help="a CSV from Canvas or Moodle to fill in")
    parser.add_argument("--column", help="column of --gradebook for the points (default: Grade, as in Moodle)")
    args = parser.parse_args(words)
    if not 0 < args.seconds < math.inf:
        raise BadInput(f"--seconds must be more than 0, not {args.seconds:g}")
    if not 512 <= args.memory <= 2**20:
        raise BadInput(f"--memory must lie in [512, {2**20}] MiB, not {args.memory}")
    if args.repeat < 0 or args.jobs < 1:
        raise BadInput(f"--repeat must be 0 or more, --jobs 1 or more, not {args.repeat} and {args.jobs}")
    if args.out.suffix != ".csv" or not args.out.absolute().parent.is_dir():
        raise BadInput(f"cannot write {args.out}: name a file that ends in .csv, in a folder that exists")
    limits, found = Limits(args.seconds, args.memory), claims(args.path)
    before, out = series(args.out)
    if args.gradebook is not None:
        filled(args.gradebook, args.column, [])  # what is wrong with it is said before any work
    signal.signal(signal.SIGTERM, leave)
    if not found or any(args.path.rglob("*.ipynb")):
        rows = graded(args.path, before, out, limits, args.jobs)
        if args.gradebook is not None:
            text, missing = filled(args.gradebook, args.column, rows)
            write(beside(out, "-gradebook.csv"), text)
            for student in missing:
                print(f"note: {student} has no row in {args.gradebook}: enter the points by hand", file=sys.stderr)
    if found:
        lines = leaderboard(found, args.repeat, limits)
        print("", as_text(lines, Line._fields), "", sep="\n")
        write(beside(out, "-leaderboard.csv"), as_csv(lines, Line._fields))
    return 0


def leave(number: int, frame: Any) -> NoReturn:
    """End at SIGTERM as a program does that clears up: no process and no folder of a submission stays."""
    raise SystemExit(128 + number)


def write(path: Path, text: str) -> None:
    """Write a file, and print its name."""
    write_atomically(path, text.encode())
    print(path)


def beside(out: Path, ending: str) -> Path:
    """Return the path of another file next to the table of grades."""
    return out.with_name(f"{out.stem}{ending}")


def series(out: Path) -> tuple[list[Path], Path]:
    """Return the tables of a name that there are, and the first name that is free: grades.csv, then grades-02.csv."""
    tables, free = [], out
    while any(map(os.path.lexists, (free, *(beside(free, ending) for ending in BESIDE)))):
        tables.append(free)
        free = beside(out, f"-{len(tables) + 1:02d}.csv")
    return [table for table in tables if table.exists()], free


def graded(path: Path, before: list[Path], out: Path, limits: Limits, jobs: int) -> list[Row]:
    """Grade all submissions, `jobs` at once; print the table, write it and the texts, and return its rows.

    before: tables whose marks by hand are taken over. If it is interrupted, what was graded is written.
    """
    if importlib.util.find_spec("IPython") is None:
        raise BadInput(f"grading runs notebooks, for which packages are missing: {pip_install('minitrpo[course]')}")
    handed_in, marks = submissions(path), {key: mark for table in before for key, mark in marks_in(table).items()}
    done: dict[Path, list[Row]] = {}
    if not has_namespaces():
        print(OPEN, file=sys.stderr)

    async def all_of_them() -> None:
        places = asyncio.Semaphore(jobs)

        async def one(submission: Submission) -> None:
            async with places:
                outcome = Outcome() if submission.problem else await run(submission, limits)
                done[submission.path] = rows_of(submission, outcome, marks)
                print(f"{len(done)}/{len(handed_in)} {submission.student}", file=sys.stderr)

        await asyncio.gather(*map(one, handed_in))

    try:
        asyncio.run(all_of_them())
    finally:
        rows = [row for submission in handed_in for row in done.get(submission.path, ())]
        totals = [f"{student}: {points:g} of {possible}" for student, (points, possible) in sums(rows).items()]
        print(as_text(rows), "", *totals, "", sep="\n")
        write(out, as_csv(rows))
        for place, some in done.items():
            text = beside(out, "-texts") / place.with_suffix(".txt")
            text.parent.mkdir(parents=True, exist_ok=True)
            text.write_text(handed_back(some), "utf-8")
    there = {(as_text_cell(row.student), row.exercise) for row in rows}
    for student, exercise in (key for key, mark in marks.items() if mark and key not in there):
        print(f"note: a mark by hand for {student}, {exercise}, has no row in {out}", file=sys.stderr)
    return rows
