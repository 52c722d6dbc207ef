"""Grade notebooks: a table of student, exercise, points and symptom, whatever became of a notebook's check cells."""

import asyncio
import math
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import minitrpo
from minitrpo.algorithms.options import whole
from minitrpo.commands.command_line import RootParser
from minitrpo.errors import BadInput
from minitrpo.run_folder.checkpoint import write_atomically
from minitrpo.supervision.exit_codes import command

EPILOG = """Every notebook runs from top to bottom, in a process and a temporary folder of its own, with short budgets.
An exercise has 1 point if its function passes the check of this package; that of the notebook does not count, and
neither does a function of the package. Where Linux has namespaces for this user, a submission can write into its own
folder alone; elsewhere a line says that it can write where you can. It is no sandbox against malice: grade what
strangers hand in as a user of its own, or in a container.

The column by_hand is yours: a number there is added, and words behind it are for the student. The next table,
grades-02.csv, takes over what stands in the newest. A folder beside it, grades-texts, has a text for each student.

With --gradebook, a table that Canvas or Moodle exported is written again with the points filled in: they take their own
file back. A student is found by number, login, mail address or name in the submission's name.

A file NAME.run.json beside the notebooks is a claim for the leaderboard: `minitrpo entry RUN` prints one."""
OPEN = "note: there are no namespaces (unshare) here: submissions can write where you can write, in each other too"
NO_DATA = """note: minitrpo is installed without the course's recorded measurements: cells that read them are said not
to run; points do not depend on them"""
BESIDE = ("-leaderboard.csv", "-gradebook.csv", "-texts")  # what is written beside a table


@command("grade")
def main(name: str, words: list[str]) -> int:
    """Print the table, and write it."""
    parser = RootParser(prog=name, allow_abbrev=False, description=__doc__, epilog=EPILOG)
    parser.add_argument("path", type=Path, help="a notebook, or a folder of them: a student is what the file is called")
    parser.add_argument(
        "--out", type=Path, default=Path("grades.csv"), help="the table; if there is one, -02 and so on is added"
    )
    parser.add_argument("--seconds", type=float, default=120.0, help="for each cell and each check (default: 120)")
    parser.add_argument("--memory", type=whole, default=4096, help="MiB for each process (default: 4096)")
    parser.add_argument("--jobs", type=whole, default=os.cpu_count() or 1, help="notebooks at once (default: cores)")
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
    if args.repeat < 0 or args.jobs < 1:
        raise BadInput(f"--repeat must be 0 or more, --jobs 1 or more, not {args.repeat} and {args.jobs}")
    if args.out.suffix != ".csv" or not args.out.absolute().parent.is_dir():
        raise BadInput(f"cannot write {args.out}: name a file that ends in .csv, in a folder that exists")
    from minitrpo.course.grading.gradebook import filled
    from minitrpo.course.grading.leaderboard import claims
    from minitrpo.course.grading.running import Limits

    found, limits = claims(args.path), Limits(args.seconds, args.memory)
    before, out = series(args.out)
    if args.gradebook is not None:
        filled(args.gradebook, args.column, [])  # what is wrong with it is said before any work
    signal.signal(signal.SIGTERM, leave)
    if not found or any(args.path.rglob("*.ipynb")):
        rows = graded(args.path, before, out, limits, args.jobs)
        if args.gradebook is not None:
            fill(args.gradebook, args.column, rows, beside(out, "-gradebook.csv"))
    if found:
        ranked(found, beside(out, "-leaderboard.csv"), args.repeat, limits)
    return 0


def leave(number: int, frame: Any) -> NoReturn:
    """End at SIGTERM as a program does that clears up: no process and no folder of a submission stays."""
    raise SystemExit(128 + number)


def series(out: Path) -> tuple[Path | None, Path]:
    """Return the newest table of a name, None if there is none, and the first name that is free: grades-02.csv."""

    def names() -> Iterator[Path]:
        yield out
        yield from (out.with_stem(f"{out.stem}-{number:02d}") for number in range(2, 10_000))

    before = None
    for name in names():
        if not any(map(os.path.lexists, (name, *(beside(name, ending) for ending in BESIDE)))):
            return before, name
        before = name if name.exists() else before
    raise BadInput(f"there are too many tables like {out}: move them away")


def beside(out: Path, ending: str) -> Path:
    """Return where something goes beside the table of grades."""
    return out.with_name(f"{out.stem}{ending}")


def fill(book: Path, column: str | None, rows: list[Any], out: Path) -> None:
    """Write the gradebook with the points in it, and say who is not in it."""
    from minitrpo.course.grading.gradebook import filled

    text, missing = filled(book, column, rows)
    write_atomically(out, text.encode())
    print(out)
    for student in missing:
        print(f"note: {student} has no row of its own in {book}: enter these points by hand", file=sys.stderr)


def ranked(found: list[Any], out: Path, steps: int, limits: Any) -> None:
    """Print the leaderboard of these claims, and write it."""
    from minitrpo.course.grading.leaderboard import Line, leaderboard
    from minitrpo.course.grading.table import as_csv, as_text

    lines = leaderboard(found, steps, limits)
    write_atomically(out, as_csv(lines, Line._fields).encode())
    print("", as_text(lines, Line._fields), f"\n{out}", sep="\n")


def graded(path: Path, before: Path | None, out: Path, limits: Any, jobs: int) -> list[Any]:
    """Grade all submissions, so many at once; print the table, write it and the texts, and return its rows.

    before: a table whose marks by hand are taken over. If it is interrupted, what was graded is written.
    """
    try:
        import IPython  # noqa: F401
    except ImportError:
        raise BadInput(
            "grading runs notebooks, which needs the course's packages: pip install 'minitrpo[course]'"
        ) from None
    from minitrpo.course.grading.running import Outcome, has_namespaces, run
    from minitrpo.course.grading.submissions import submissions
    from minitrpo.course.grading.table import Row, as_csv, as_text, as_text_cell, handed_back, marks_in, rows_of, sums

    handed_in, marks = submissions(path), marks_in(before) if before else {}
    done: dict[Path, list[Row]] = {}
    if not has_namespaces():
        print(OPEN, file=sys.stderr)
    if not (Path(minitrpo.__file__).parents[1] / "notebooks" / "recorded").is_dir():
        print(NO_DATA, file=sys.stderr)

    async def all_of_them() -> None:
        places = asyncio.Semaphore(jobs)

        async def one(submission: Any) -> None:
            async with places:
                outcome = Outcome() if submission.problem else await run(submission, limits)
                done[submission.path] = rows_of(submission, outcome, marks)
                print(f"{len(done)}/{len(handed_in)} {submission.student}", file=sys.stderr)

        await asyncio.gather(*map(one, handed_in))

    try:
        asyncio.run(all_of_them())
    finally:
        rows = [row for submission in handed_in for row in done.get(submission.path, ())]
        write_atomically(out, as_csv(rows).encode())
        for place, some in done.items():
            text = beside(out, "-texts") / place.with_suffix(".txt")
            text.parent.mkdir(parents=True, exist_ok=True)
            text.write_text(handed_back(some), "utf-8")
    totals = [f"{student}: {points:g} of {exercises}" for student, (points, exercises) in sums(rows).items()]
    print(as_text(rows), "", *totals, f"\n{out}", sep="\n")
    for student, exercise in sorted(marks.keys() - {(as_text_cell(row.student), row.exercise) for row in rows}):
        print(f"note: {before} has a mark by hand for {student}, {exercise}, which is not in {out}", file=sys.stderr)
    return rows
