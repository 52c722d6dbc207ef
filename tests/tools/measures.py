"""How many files and functions a reader meets: counts of the package's structure, taken by running and by reading it.

    python tests/tools/measures.py

A run of TRPO on one rank is watched by `sys.setprofile`: which files of the package an iteration enters, which ones lie
between the command line and the loop, and through which functions the value of --max-kl goes until a step uses it.
"""

import ast
import re
import sys
import tempfile
from dataclasses import fields, is_dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "minitrpo"
sys.path.insert(0, str(ROOT))

JOB = ["--env", "HalfCheetah-v5", "--total-steps", "2048", "--progress", "lines", "--max-kl", "0.0123"]
SHOWS = ("reports/", "run_folder/", "training/run_log", "run/log", "run/folder", "parallel/timing", "supervision/")
SHORT = 3  # lines of a body


class Watch:
    """What a run enters: files and functions of the package, before the loop and in it."""

    def __init__(self):
        self.before, self.inside, self.with_value = {}, {}, {}
        self.looping = False

    def __call__(self, frame, event, _argument):
        file = frame.f_code.co_filename
        if not file.startswith(str(PACKAGE)):
            return
        name = str(Path(file).relative_to(PACKAGE))
        if frame.f_code.co_name == "root_loop":
            self.looping = event == "call"
        function = (name, frame.f_code.co_qualname if hasattr(frame.f_code, "co_qualname") else frame.f_code.co_name)
        (self.inside if self.looping else self.before).setdefault(name, set()).add(function)
        if event == "call" and not name.startswith(SHOWS) and any(holds(value) for value in frame.f_locals.values()):
            self.with_value.setdefault(name, set()).add(function)


def holds(value, deep=True):
    """Return whether a value is that of --max-kl, or has it as an entry or a field."""
    if isinstance(value, float | str):
        return value in (0.0123, "0.0123")
    if not deep:
        return False
    if isinstance(value, dict):
        return any(holds(each, False) for each in value.values())
    if isinstance(value, list | tuple):
        return any(holds(each, False) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        return any(holds(getattr(value, f.name, None), False) for f in fields(value))
    return False


def watched():
    """Return what a short run of TRPO on one rank enters."""
    from minitrpo.commands import train

    watch = Watch()
    with tempfile.TemporaryDirectory() as folder:
        sys.setprofile(watch)
        try:
            train.main([*JOB, "--out", f"{folder}/run"])
        finally:
            sys.setprofile(None)
    return watch


def functions():
    """Return how many lines the body of each function of the package without the course has, its docstring apart."""
    lengths = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.is_relative_to(PACKAGE / "course"):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[ast.get_docstring(node) is not None :]
                lengths.append(body[-1].end_lineno - body[0].lineno + 1 if body else 0)
    return lengths


def lists_of_algorithms():
    """Return the files of Python that name at least ten of the registered algorithms."""
    from minitrpo.algorithms.registry import ALGORITHMS

    found = []
    for folder in ("minitrpo", "tests", "experiments", "mpi_scripts", "notebooks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = path.read_text("utf-8")
            if sum(bool(re.search(f"""["']{name}["']""", text)) for name in ALGORITHMS) >= 10:
                found.append(str(path.relative_to(ROOT)))
    return found


def main():
    """Print the counts, and under each of them what was counted."""
    watch, lengths = watched(), functions()
    shown = {file for file in watch.inside if file.startswith(SHOWS)}
    calls = sum(map(len, watch.inside.values()))
    print(f"an iteration of TRPO on one rank enters {len(watch.inside)} files and {calls} functions")
    print(f"  without log, clock and display: {len(watch.inside) - len(shown)} files")
    print(f"  {' '.join(sorted(watch.inside.keys() - shown))}\n  log, clock and display: {' '.join(sorted(shown))}")
    print(f"from the command line to the loop: {len(watch.before)} files\n  {' '.join(sorted(watch.before))}")
    stops = [function for functions in watch.with_value.values() for function in sorted(functions)]
    print(f"the value of --max-kl goes through {len(watch.with_value)} files and {len(stops)} functions")
    print("\n".join(f"  {file}: {name}" for file, name in stops))
    short = sum(length <= SHORT for length in lengths)
    print(f"the package without the course has {len(lengths)} functions; {short} have at most {SHORT} lines")
    lists = lists_of_algorithms()
    print(f"all algorithms are listed in {len(lists)} files of Python: {' '.join(lists)}")


if __name__ == "__main__":
    main()
