"""The scaling experiment: training runs on several numbers of ranks, timed by turns. Serves lecture 08."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, TypeVar

import numpy as np

from minitrpo.course.speedup.statistics import efficiency, karp_flatt, speedup, speedup_interval
from minitrpo.policies import Array
from minitrpo.run_folder.folder import RunFolder
from minitrpo.run_folder.metrics_csv import SECONDS
from minitrpo.supervision.mpiexec import mpiexec

Key = TypeVar("Key")


def by_turns(rounds: int, keys: Sequence[Key]) -> Iterator[tuple[int, Key]]:
    """Yield (round, key): every round visits all keys, every other one backwards, so that a drift hits all alike."""
    for number in range(1, rounds + 1):
        for key in keys if number % 2 else reversed(keys):
            yield number, key


def timed_run(ranks: int, words: list[str], timeout: float = 3600.0) -> dict[str, Array]:
    """Return steps and seconds per phase of every update, (updates,) each, of one training run; its folder goes.

    That of a run that failed stays: the commands in JobFailed's text play the episode again, or go on.

    words: arguments of train, without --out and --progress.
    """
    folder = Path(mkdtemp(prefix="minitrpo-"))
    run = folder / "run"
    try:
        mpiexec(ranks, "train", "--out", run, "--progress", "none", *words, timeout=timeout)
        columns = RunFolder(run).columns()
    finally:
        if not (run / "failure.txt").exists():
            rmtree(folder, ignore_errors=True)
    return {"steps": np.diff(columns["env_steps"], prepend=0.0), **{name: columns[name] for name in SECONDS}}


def compared(alone: Array, together: Array, ranks: int) -> dict[str, Any]:
    """Return what the seconds of the same work on one rank (n,) and on several (m,) say about speed.

    On one rank the speed-up is 1 by definition and no serial fraction follows.
    """
    if ranks == 1:
        return {"speedup": 1.0, "speedup_interval": (1.0, 1.0), "efficiency": 1.0, "karp_flatt": None}
    factor = speedup(alone, together)
    return {
        "speedup": factor,
        "speedup_interval": speedup_interval(alone, together),
        "efficiency": efficiency(factor, ranks),
        "karp_flatt": karp_flatt(factor, ranks),
    }
