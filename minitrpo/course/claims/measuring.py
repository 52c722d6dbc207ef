"""Measure what is missing of a set, by real training runs: going on where it was interrupted, and never over again."""

import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from minitrpo.course.claims.claim import Claim, Run
from minitrpo.course.claims.store import Job, Place, missing, write
from minitrpo.course.machine import BUSY, Others, busy_share
from minitrpo.parallel.launcher import cores
from minitrpo.policies import Array
from minitrpo.run_folder.folder import RunFolder
from minitrpo.run_folder.metrics_log import SECONDS
from minitrpo.run_folder.provenance import on_ranks, provenance
from minitrpo.supervision.jobs import flags, mpiexec

ROWS = 100  # of a recorded run
LIMIT = 6 * 3600.0  # seconds of a run
Say = Callable[[str], None]


class Busy(RuntimeError):
    """Other programs use the cores: seconds measured now would be theirs, too."""


def measure(place: Place, claim: Claim, kind: str, ranks: int, say: Say) -> None:
    """Train and record what is missing. Raises Busy where seconds count and others use the cores; JobFailed.

    ranks: of a run, where its arm does not say; as many runs at a time as there are cores for. Seconds: one at a time.
    """
    waiting, began = missing(place, claim, kind), time.monotonic()
    most = 1 if claim.seconds else max(1, cores() // ranks)
    with ThreadPoolExecutor(most) as pool:
        try:
            results = pool.map(lambda job: record(place, claim, job, ranks), waiting)
            for done, (job, run) in enumerate(zip(waiting, results, strict=True), 1):
                left = (time.monotonic() - began) / done * (len(waiting) - done)
                last = next((r for r in reversed(run["rows"]["mean_return"]) if r is not None), float("nan"))
                what = f"{job.arm.env}, {job.arm.name}, seed {job.seed}: return {last:.4g}"
                say(f"{claim.name} {kind}: {done} of {len(waiting)}: {what}; {minutes(left)} to go")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def minutes(seconds: float) -> str:
    """Return so many seconds as words."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def record(place: Place, claim: Claim, job: Job, ranks: int) -> Run:
    """Train one run, or go on with it, and record it; its folder goes. Runs whose seconds count begin anew."""
    ranks = job.arm.ranks or ranks
    folder = place.work / job.claim / job.kind / f"{job.name}-{job.digest}"
    if claim.seconds:
        shutil.rmtree(folder, ignore_errors=True)
        refuse_if_busy(claim, busy_share(1.0))
    words = [*flags({"env": job.arm.env, "seed": job.seed, "total_steps": job.steps}), *job.arm.words.split()]
    words += ["--oversubscribe"] if ranks > cores() else []
    resumed = (folder / "config.json").exists()
    where = ["--resume", folder] if resumed else [*words, "--out", folder]
    folder.parent.mkdir(parents=True, exist_ok=True)
    others = Others()
    output = mpiexec(ranks, "train", *where, "--progress", "none", timeout=LIMIT)
    busy = others.share()
    if claim.seconds:
        refuse_if_busy(claim, busy)
    run = {
        "claim": job.claim,
        "set": job.kind,
        "arm": job.arm.name,
        "env": job.arm.env,
        "seed": job.seed,
        "digest": job.digest,
        "ranks": ranks,
        "usable_cores": cores(),
        "resumed": resumed,
        "busy_share_of_others": round(busy, 3) if claim.seconds and np.isfinite(busy) else None,
        "theta_sha256": output.split()[-1],
        "provenance": provenance(ranks)
        | {"command": on_ranks(ranks, f"python mpi_scripts/train.py {' '.join(words)}")},
        **read_off(RunFolder(folder).columns(), claim.seconds),
    }
    write(place.record(job), run)
    shutil.rmtree(folder)
    return run


def refuse_if_busy(claim: Claim, share: float) -> None:
    """Raise Busy if others use more of the cores than leaves seconds alone."""
    if share > BUSY:
        raise Busy(
            f"{claim.name} is about seconds, and other programs use {share * cores():.1f} of {cores()} cores: "
            "not measured; try again when the machine is idle"
        )


def read_off(columns: dict[str, Array], with_seconds: bool) -> dict[str, Any]:
    """Return what is kept of a run's metrics.csv: rows, means of several updates; fresh returns; decisions."""
    count = len(columns["iteration"])
    ends = np.unique(np.linspace(0, count, min(ROWS, count) + 1).astype(int))[1:]
    places = ["iteration", "env_steps", *(["time_s"] if with_seconds else [])]
    means = ["mean_return", "steps_per_update", "max_kl", *(SECONDS if with_seconds else ())]
    kept = {name: rounded(columns[name][ends - 1]) for name in places}
    for name in filter(columns.__contains__, means):
        kept[name] = rounded(np.array([mean_of(part) for part in np.split(columns[name], ends)[:-1]]))
    fresh: list[list[float | None]] = []
    if "eval_return" in columns:
        known = np.isfinite(columns["eval_return"])
        both = (rounded(columns[name][known]) for name in ("env_steps", "eval_return"))
        fresh = [list(point) for point in zip(*both, strict=True)]
    return {"rows": kept, "fresh": fresh, "decisions": decisions(columns)}


def mean_of(part: Array) -> float:
    """Return the mean of the numbers that there are; NaN if there is none."""
    part = part[np.isfinite(part)]
    return float(part.mean()) if len(part) else float("nan")


def decisions(columns: dict[str, Array]) -> list[list[float | None]]:
    """Return [update, environment steps, steps/update, max-KL] where the adaptive rule changed one of the last two."""
    if "max_kl" not in columns:
        return []
    asked = np.stack([columns["steps_per_update"], columns["max_kl"]], axis=1)
    changed = np.flatnonzero(np.any(np.diff(asked, axis=0) != 0, axis=1)) + 1
    names = ("iteration", "env_steps", "steps_per_update", "max_kl")
    return [rounded(np.array([columns[name][i] for name in names])) for i in [0, *changed]] if len(changed) else []


def rounded(values: Array) -> list[float | None]:
    """Return numbers as JSON has them: integers whole, others with six digits, None where there is none."""
    return [None if np.isnan(v) else int(v) if v == int(v) else float(f"{v:.6g}") for v in values]
