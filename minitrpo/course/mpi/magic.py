"""The cell magic %%mpi: a cell is a program that runs on several ranks."""

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any, NoReturn

from minitrpo.course.jupyter import in_jupyter
from minitrpo.course.mpi.run import MpiResult, run_mpi
from minitrpo.errors import BadInput, JobFailed

MOST_LINES = 300  # that a cell prints
_last: list[MpiResult] = []


class MpiProgramFailed(RuntimeError):
    """A program in a cell that did not end well; a notebook shows its text alone."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class Options(argparse.ArgumentParser):
    """The options of %%mpi; a mistake is one line."""

    def error(self, message: str) -> NoReturn:
        raise BadInput(f"%%mpi: {message}; such as %%mpi -n 3 --timeout 10 --save ring.py --show")


def options() -> Options:
    """Return what can follow %%mpi."""
    parser = Options("%%mpi", add_help=False, allow_abbrev=False)
    parser.add_argument("-n", type=int, default=2, metavar="RANKS")
    parser.add_argument("--timeout", type=float, default=10.0, metavar="SECONDS")
    parser.add_argument("--save", metavar="FILE")
    parser.add_argument("--name", metavar="NAME")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--by-rank", action="store_true")
    parser.add_argument("--fails", action="store_true")
    parser.add_argument("--plain", action="store_true")
    return parser


def run_cell(line: str, cell: str, variables: dict[str, Any]) -> None:
    """Run a cell as %%mpi does. line: the options; variables: those of the notebook."""
    try:
        chosen = options().parse_args(shlex.split(line, comments=True))
        if chosen.save is not None and not chosen.save.endswith(".py"):
            raise BadInput(f"%%mpi: --save {chosen.save}: a program's name ends in .py, such as ring.py")
        if chosen.name is not None and not chosen.name.isidentifier():
            raise BadInput(f"%%mpi: --name {chosen.name}: this is no name of a variable, such as ring")
        # The first line is that of the magic, so that the lines of the file are those of the cell.
        source = f"# mpiexec -n {chosen.n} python {chosen.save or 'program.py'}\n{cell}"
        if chosen.save is not None:
            Path(chosen.save).write_text(source, "utf-8")
        if chosen.name is not None:
            variables[chosen.name] = source
        shown = Shown(by_rank=chosen.by_rank)
        result = run_mpi(source, chosen.n, timeout=chosen.timeout, record=not chosen.plain, show_line=shown.line)
    except (BadInput, JobFailed, OSError) as error:
        raise MpiProgramFailed(str(error)) from None
    except KeyboardInterrupt:
        raise MpiProgramFailed("interrupted: all ranks were ended") from None
    shown.close(result)
    _last[:] = [result]
    if chosen.show:
        show_messages()
    report(result, chosen.fails)


class Shown:
    """What a cell prints of its ranks: at once, or rank after rank at the end; not more than a page or two."""

    def __init__(self, by_rank: bool) -> None:
        self.by_rank, self.count = by_rank, 0

    def line(self, rank: int, text: str) -> None:
        """Print a line that has arrived."""
        if not self.by_rank:
            self.show(rank, text)

    def show(self, rank: int, text: str) -> None:
        """Print a line behind the rank that printed it."""
        self.count += 1
        if self.count <= MOST_LINES:
            print(f"rank {rank} | {text}", flush=True)

    def close(self, result: MpiResult) -> None:
        """Print what is left."""
        if self.by_rank:
            for rank, text in sorted(result.lines, key=lambda line: line[0]):
                self.show(rank, text)
        if self.count > MOST_LINES:
            print(f"({self.count - MOST_LINES} more lines are not shown)")


def report(result: MpiResult, fails: bool) -> None:
    """Print why a program did not end well.

    Outside Jupyter, where "Run All" cannot go on past it, an unexpected failure is an exception: tests see it.
    """
    if result.ok or fails or in_jupyter():
        if result.explanation:
            print(result.explanation)
        return
    raise MpiProgramFailed(result.explanation)


def show_messages(result: MpiResult | None = None) -> None:
    """Draw the messages of a program as a space-time diagram.

    Args:
        result: what run_mpi has returned; without it, the program of the last %%mpi cell is drawn.

    Raises:
        BadInput: if no program has run yet.

    """
    from IPython.display import display

    from minitrpo.course.mpi.diagram import draw  # which loads matplotlib

    if result is None and not _last:
        raise BadInput("show_messages() draws the program of the last %%mpi cell, and none has run yet")
    display(draw((result or _last[0]).state))


def load_ipython_extension(shell: Any) -> None:
    """Give IPython the cell magic %%mpi: `%load_ext minitrpo.course.mpi`."""
    shell.register_magic_function(lambda line, cell: run_cell(line, cell, shell.user_ns), "cell", "mpi")


def in_notebook() -> None:
    """Give the notebook that imports this package the cell magic, if it is one."""
    if "IPython" in sys.modules:
        from IPython import get_ipython

        if (shell := get_ipython()) is not None:
            load_ipython_extension(shell)
