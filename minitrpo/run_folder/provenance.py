"""What made a result: command, versions, machine, date; and how a command of ours is typed."""

import datetime
import os
import platform
import shlex
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from minitrpo.parallel.this_process import SCRIPTS, cores, script

PACKAGES = ("minitrpo", "numpy", "scipy", "autograd", "gymnasium", "mujoco", "mpi4py", "mpich")


def provenance(ranks: int = 1, packages: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return what made a result on this many ranks; `packages` are named with our own dependencies."""
    versions = {name: installed(name) for name in (*PACKAGES, *packages)}
    return {
        "command": "a notebook"
        if in_notebook()
        else on_ranks(ranks, shlex.join([*typed(), *sys.argv[1:]]), Path.cwd()),
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "ranks": ranks,
        "cores": os.cpu_count(),
        "usable_cores": cores(),
        "machine": f"{platform.system()} {platform.machine()}, {processor()}",
        "python": platform.python_version(),
        "versions": {name: result for name, result in versions.items() if result},
    }


def typed() -> list[str]:
    """Return the words that started this program: python mpi_scripts/train.py, python -m minitrpo, or minitrpo."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    if spec is None:
        first = sys.argv[0]
        return ["minitrpo"] if os.path.basename(first) == "minitrpo" else ["python", first]
    return ["python", "-m", spec.name.removesuffix(".__main__")]


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook, of whose cells no command line tells."""
    return "kernel_launcher" in os.path.basename(sys.argv[0])


def processor() -> str:
    """Return the name of the processor, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"


def installed(package: str) -> str | None:
    """Return the version of a package, None if it is not there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def command(name: str, *arguments: str, ranks: int = 1, here: Path | None = None) -> str:
    """Return how a command of ours is typed so that it starts what this program was started by.

    Args:
        name: the command, such as train.
        arguments: its words, not quoted.
        ranks: how many processes mpiexec starts; one is started without mpiexec.
        here: the folder in which it is typed and this program was, by default the present one.

    Returns:
        A command line: by ./run if that was typed; as a script if this program is one that has such a neighbour, as
        minitrpo if that was typed, else by python -m.

    """
    here = here or Path.cwd()
    if script() is not None and name in SCRIPTS:
        words = [python(here), os.path.relpath((here / sys.argv[0]).with_name(f"{name}.py"), here)]
    elif typed() == ["minitrpo"] and script() is None:
        words = [found_by(Path(sys.argv[0]), ("minitrpo",), here), name]
    else:
        words = [python(here), "-m", "minitrpo", name]
    return by_run(on_ranks(ranks, shlex.join([*words, *arguments]), here), here)


def pip_install(*words: str) -> str:
    """Return how packages are installed beside this one."""
    return by_run(shlex.join([python(Path.cwd()), "-m", "pip", "install", *words]), Path.cwd())


def python(here: Path) -> str:
    """Return how the Python that runs this is typed in the folder `here`."""
    return found_by(Path(sys.executable), ("python", "python3"), here)


def found_by(program: Path, names: tuple[str, ...], here: Path) -> str:
    """Return the first of some names by which the shell finds a program, or else where it is, as seen from `here`.

    Names are compared by their folders: python and python3 of one environment are the same program, and the Python that
    an environment's is a link to is another.
    """
    place = os.path.abspath(here / program)
    for name in names:
        known = shutil.which(name)
        if known is not None and os.path.dirname(os.path.abspath(known)) == os.path.dirname(place):
            return name
    near = os.path.relpath(place, here)
    return place if near.startswith("..") else os.path.join(".", near)


def by_run(text: str, here: Path) -> str:
    """Return a command line that is typed in the folder `here`, begun with ./run if this program was.

    A kernel of JupyterLab has left the folder in which ./run was typed; PWD keeps it.
    """
    launcher = os.environ.get("MINITRPO_RUN")
    if not launcher:
        return text
    first = os.path.join(os.environ.get("PWD", here), launcher)
    if os.sep in launcher and not (here / launcher).is_file() and os.path.isfile(first):
        launcher = os.path.relpath(first, here)
    return f"{shlex.quote(launcher)} {text}"


def on_ranks(ranks: int, text: str, here: Path) -> str:
    """Return a command line, typed in the folder `here`, as it is started on this many ranks.

    By the mpiexec that the shell finds; by the one beside Python where it finds none.
    """
    beside = Path(sys.executable).with_name("mpiexec")
    launcher = "mpiexec"
    if shutil.which(launcher) is None and beside.is_file():
        launcher = shlex.quote(found_by(beside, (), here))
    return f"{launcher} -n {ranks} {text}" if ranks > 1 else text
