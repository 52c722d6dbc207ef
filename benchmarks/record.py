"""What every result says about its making: command, versions, machine, date."""

import json
import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from minitrpo.parallel import speedup
from minitrpo.parallel.speedup import cores
from minitrpo.runs.start import processor

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("minitrpo", "numpy", "autograd", "gymnasium", "mujoco", "mpi4py", "mpich")


def provenance(packages: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return where and with what a result was made; `packages` are named beside our own dependencies."""
    return {
        "command": "python -m " + " ".join([module_name(), *sys.argv[1:]]),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{cores()} cores, {processor()}",
        "python": platform.python_version(),
        "versions": {name: found for name in (*PACKAGES, *packages) if (found := installed(name))},
    }


def module_name() -> str:
    """Return the name under which this program was started with `python -m`."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return spec.name if spec else Path(sys.argv[0]).stem


def installed(package: str) -> str | None:
    """Return the version of a package, None if it is not there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def median(values: Any) -> float:
    """Return the median, with four digits."""
    return rounded(np.median(values))


def interval(values: Any) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the median, with four digits."""
    low, high = speedup.interval(np.asarray(values, dtype=float))
    return rounded(low), rounded(high)


def rounded(number: Any) -> float:
    """Return a number with four digits, all that a measurement deserves."""
    return float(f"{float(number):.4g}")


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write `content` whole or not at all, a line per key."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in content.items()]
    partial.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    os.replace(partial, path)


def thinned(points: list[tuple[int, float]], most: int = 100) -> list[tuple[int, float]]:
    """Return at most `most` of the points of a curve, evenly spaced, the last one among them."""
    every = -(-len(points) // most)
    return [(steps, round(mean, 3)) for steps, mean in points[:: -max(every, 1)][::-1]]
