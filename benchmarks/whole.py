"""A whole run as typed beside its physics alone: what `limit` measures of training, not only of collecting."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.summaries import interval, median
from minitrpo.parallel.launcher import cores
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision.jobs import flags, mpiexec


def run_seconds(env_id: str, steps: int) -> float:
    """Return the seconds of a run as typed, a rank per core, from its first update to its last."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        words = flags({"env": env_id, "total_steps": steps, "progress": "none", "out": out})
        mpiexec(cores(), "train", *words, timeout=3600)
        columns = RunFolder(out).columns()
        return float(columns["time_s"][-1] / columns["env_steps"][-1] * steps)


def physics_seconds(open_loop: Any, steps_in_it: int, steps: int) -> float:
    """Return the seconds that so many steps of bare physics take on all cores, all played; open_loop plays some.

    A machine that slows down while it is busy for long slows down both, the physics and the run.
    """
    times, begin = -(-steps // steps_in_it), time.perf_counter()
    for _ in range(times):
        open_loop.run()
    return (time.perf_counter() - begin) * steps / (times * steps_in_it)


def summary(env_id: str, steps: int, pairs: list[tuple[float, float]]) -> dict[str, Any]:
    """Return what is to be reported; pairs: seconds of the physics and of the run, in every round."""
    physics, runs = zip(*pairs, strict=True)
    ratios = [run / bare for bare, run in pairs]
    return {
        "environment": env_id,
        "steps": steps,
        "physics_s": median(physics),
        "run_s": median(runs),
        "ratio": median(ratios),
        "interval": interval(ratios),
    }
