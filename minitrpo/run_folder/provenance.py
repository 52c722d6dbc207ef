"""What made a result: command, versions, machine, date; and how a command of ours is typed."""

import datetime
import os
import platform
import shlex
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from minitrpo.parallel.launcher import script

PACKAGES = ("minitrpo", "numpy", "scipy", "autograd", "gymnasium", "mujoco", "mpi4py", "mpich")


def provenance(ranks: int = 1, packages: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return what made a result on this many ranks; `packages` are named with our own dependencies."""
    versions = {name: installed(name) for name in (*PACKAGES, *packages)}
    return {
        "command": "a notebook" if in_notebook() else on_ranks(ranks, shlex.join([*typed(), *sys.argv[1:]])),
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "ranks": ranks,
        "cores": os.cpu_count(),
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
    """Return how a command of ours is typed: by ./run if that was, as a script if this program is one, or python -m.

    here: the folder in which it is typed and this program was, by default the present one.
    """
    if script() is None:
        words = ["python", "-m", "minitrpo", name]
    else:
        here = here or Path.cwd()
        words = ["python", os.path.relpath((here / sys.argv[0]).with_name(f"{name}.py"), here)]
    return by_run(on_ranks(ranks, shlex.join([*words, *arguments])))


def pip_install(*words: str) -> str:
    """Return how packages are installed beside this one."""
    return by_run(shlex.join(["python", "-m", "pip", "install", *words]))


def by_run(text: str) -> str:
    """Return a command line, begun with ./run if this program was."""
    launcher = os.environ.get("MINITRPO_RUN")
    return f"{shlex.quote(launcher)} {text}" if launcher else text


def on_ranks(ranks: int, text: str) -> str:
    """Return a command line as it is started on this many ranks."""
    return f"mpiexec -n {ranks} {text}" if ranks > 1 else text
