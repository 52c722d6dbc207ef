"""Jobs of several ranks, started from a notebook, a benchmark or a script: this process itself never starts MPI."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from minitrpo.errors import JobFailed


def mpiexec(ranks: int, program: str, *arguments: object, timeout: float = 120.0) -> str:
    """Run `mpiexec -n ranks python program arguments` and return what it printed on stdout.

    program: a file.py, or one of minitrpo's own commands, such as train. Raises JobFailed with the ranks' own messages
    if the job fails, takes longer than `timeout` seconds, or runs on another number of ranks.
    """
    words = command(ranks, program, *arguments)
    try:
        done = subprocess.run(
            words,
            env=environment(ranks, timeout),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise JobFailed(f"no end after {timeout:g} s: {' '.join(words[3:])}") from None
    if done.returncode != 0:
        raise JobFailed(f"exit code {done.returncode}: {' '.join(words[3:])}\n{done.stderr[-3000:]}", done.returncode)
    return done.stdout


def command(ranks: int, program: str, *arguments: object) -> list[str]:
    """Return the words of `mpiexec -n ranks python program arguments`; program: as for `mpiexec`."""
    words = [program] if program.endswith(".py") else ["-m", "minitrpo", program]
    return [launcher(), "-n", str(ranks), sys.executable, *words, *map(str, arguments)]


def environment(ranks: int, timeout: float) -> dict[str, str]:
    """Return the environment of a job: mpiexec ends it, too, a while after `timeout` seconds."""
    return {**os.environ, "MPIEXEC_TIMEOUT": str(int(timeout) + 5), "MINITRPO_RANKS": str(ranks)}


def launcher() -> str:
    """Return the mpiexec in the folder of this Python, or else the one on the PATH."""
    near = Path(sys.executable).parent / "mpiexec"
    path = str(near) if near.exists() else shutil.which("mpiexec")
    if path is None:
        raise JobFailed("there is no mpiexec here; see python -m minitrpo doctor")
    return path


def flags(settings: dict[str, Any]) -> list[str]:
    """Return settings as words of a command line: {"max_kl": 0.1} -> ["--max-kl", "0.1"]."""
    return [word for name, value in settings.items() for word in (f"--{name.replace('_', '-')}", str(value))]
