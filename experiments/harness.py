"""What all experiments share: which runs there are to be, which are missing, and how they are made and recorded."""

import datetime
import re
import shutil
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from experiments import tables
from experiments.tables import Points, Run
from minitrpo.course.machine import BUSY, Others, busy_share
from minitrpo.parallel.this_process import cores
from minitrpo.policies import Array
from minitrpo.run_folder.folder import RunFolder
from minitrpo.run_folder.provenance import provenance
from minitrpo.supervision.mpiexec import flags, mpiexec

FULL, QUICK = "full", "quick"
AT_WORK = Path(__file__).parents[1] / "runs" / "experiments"
LIMIT = 6 * 3600.0  # seconds of a run
Runs = Mapping[tuple[str, str], list[Run]]  # (name of the arm, task) -> its runs, in the order of their seeds
Measured = tuple[dict[str, Any], Points]  # what is added to the run's row, and its points


class Busy(RuntimeError):
    """Other programs use the cores: seconds measured now would be theirs, too."""


class Arm(NamedTuple):
    """One setting of a comparison: its name, its task, the words of train, and the number of ranks (0: any)."""

    name: str
    env: str
    words: str = ""
    ranks: int = 0


class Size(NamedTuple):
    """How much is measured: seeds, environment steps of a run of each task (none: as typed), arms (none named: all).

    times: by what factor the runs of some arms are longer. other: the number of seeds of a task, or of an arm on a
    task, if it is another number. first: the first seed.
    """

    seeds: int
    steps: Mapping[str, int] = MappingProxyType({})
    only: tuple[str, ...] = ()
    times: Mapping[str, int] = MappingProxyType({})
    other: Mapping[Any, int] = MappingProxyType({})
    first: int = 0


class Job(NamedTuple):
    """One run of an experiment."""

    arm: Arm
    seed: int
    steps: int = 0

    @property
    def words(self) -> list[str]:
        """Return the words of train without the seed: runs of other settings have other words."""
        steps = {"total_steps": self.steps} if self.steps else {}
        return [*flags({"env": self.arm.env} | steps), *self.arm.words.split()]

    @property
    def key(self) -> tuple[str, str, int]:
        """Return what its run is found by."""
        return self.arm.name, " ".join(self.words), self.seed


@dataclass(frozen=True)
class Experiment:
    """Arms that are compared, on several seeds. `measure` makes one run: job, ranks, a folder to go on in."""

    name: str
    title: str
    arms: tuple[Arm, ...]
    full: Size
    quick: Size
    measure: Callable[[Job, int, Path], Measured] = field(repr=False)
    report: Callable[[Any, Runs], str] = field(repr=False)  # what the runs say, for a terminal
    draw: Any = field(default=None, repr=False)  # experiment and runs onto a matplotlib Figure; None: a table says all
    data: str = ""  # folder of tables, if it has not the experiment's name
    home: str = ""  # experiment whose runs these are, if they are not its own
    seconds: bool = False  # the runs' seconds count: they are refused on a busy machine
    packages: tuple[str, ...] = ()  # other libraries, whose versions are recorded

    def folder(self, kind: str, root: Path | None = None) -> Path:
        """Return where the tables of the full or the quick set are."""
        return (root or (tables.DATA if kind == FULL else AT_WORK / QUICK)) / (self.data or self.name)

    def jobs(self, kind: str) -> list[Job]:
        """Return the runs of a set, seeds outermost, every other round backwards: what disturbs hits all arms alike."""
        size, found = self.full if kind == FULL else self.quick, []
        arms = [a for a in self.arms if a.env in (size.steps or [a.env]) and (not size.only or a.name in size.only)]
        for number in range(max(size.seeds, *size.other.values(), 0)):
            for arm in arms[::-1] if number % 2 else arms:
                if number < size.other.get((arm.name, arm.env), size.other.get(arm.env, size.seeds)):
                    steps = size.steps.get(arm.env, 0) * size.times.get(arm.name, 1)
                    found.append(Job(arm, size.first + number, steps))
        return found

    def recorded(self, kind: str, root: Path | None) -> dict[Any, Run]:
        """Return what is recorded of this experiment; the newest of several runs of one job."""
        mine = [run for run in tables.load(self.folder(kind, root)) if run["experiment"] == (self.home or self.name)]
        return {(run["arm"], run["setting"], int(run["seed"])): run for run in mine}

    def runs(self, kind: str = FULL, root: Path | None = None) -> Runs:
        """Return the recorded runs of a set, in the order of its arms."""
        known, found = self.recorded(kind, root), {arm[:2]: list[Run]() for arm in self.arms}
        for job in self.jobs(kind):
            if run := known.get(job.key):
                found[job.arm[:2]].append(run)
        return {key: some for key, some in found.items() if some}

    def missing(self, kind: str = FULL, root: Path | None = None) -> list[Job]:
        """Return the runs of a set that are not recorded."""
        known = self.recorded(kind, root)
        return [job for job in self.jobs(kind) if job.key not in known]

    def state(self) -> str:
        """Return what is known of it, in a few words."""
        return f"{sum(map(len, self.runs().values())):,} runs, {len(self.missing()):,} missing"


def made_by(experiment: Experiment, runs: Runs) -> str:
    """Return what made some runs, in a line: how many, machines, versions, dates, and others' versions."""
    each = [run for found in runs.values() for run in found]
    made = [run["machine"] for run in each]
    machines = sorted({f"{one['cores']} cores, {one['machine'].partition(', ')[2]}" for one in made})
    dates, versions = sorted({run["date"] for run in each}), sorted({run["version"] for run in each})
    libraries = sorted({f"{name} {one[name]}" for one in made for name in experiment.packages if name in one})
    when = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    count = f"{len(each):,} runs" if len(each) > 1 else "one run"
    others = [100 * run["others"] for run in each if experiment.seconds and run["others"] != ""]
    busy = [f"other programs used at most {max(others):.0f} % of the cores"] if others else []
    return "; ".join((count, *machines, f"version {', '.join(versions)}", when, *libraries, *busy))


def run(experiment: Experiment, kind: str, ranks: int, root: Path | None, say: Callable[[str], None]) -> None:
    """Make and record what is missing. Raises Busy where seconds count and others use the cores; JobFailed.

    ranks: of a run, where its arm does not say; as many runs at a time as there are cores for. Seconds: one at a time.
    """
    waiting, began = experiment.missing(kind, root), time.monotonic()
    most = 1 if experiment.seconds else max(1, cores() // max(ranks, *(job.arm.ranks for job in waiting), 1))
    with ThreadPoolExecutor(most) as pool, threadpool_limits(1):
        try:
            done = pool.map(lambda job: record(experiment, job, kind, ranks, root), waiting)
            for count, (job, _) in enumerate(zip(waiting, done, strict=True), 1):
                left = (time.monotonic() - began) / count * (len(waiting) - count)
                what = f"{job.arm.env}, {job.arm.name}, seed {job.seed}; {left / 60:.0f} min to go"
                say(f"{experiment.name} {kind}: {count} of {len(waiting)}: {what}")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def record(experiment: Experiment, job: Job, kind: str, ranks: int, root: Path | None) -> None:
    """Make one run, or go on with it, and record it with what made it; its folder goes."""
    ranks, name = job.arm.ranks or ranks, experiment.home or experiment.name
    folder = AT_WORK / name / re.sub(r"\W", "-", " ".join(map(str, job.key)))
    if experiment.seconds:  # a run whose seconds count begins anew
        shutil.rmtree(folder, ignore_errors=True)
        refuse_if_busy(name, busy_share(1.0))
    folder.mkdir(parents=True, exist_ok=True)
    others = Others()
    row, points = experiment.measure(job, ranks, folder)
    busy = others.share()
    if experiment.seconds:
        refuse_if_busy(name, busy)
    machine, version = machine_and_version(experiment.packages)
    ours = {"experiment": name, "arm": job.arm.name, "env": job.arm.env, "seed": job.seed}
    ours |= {"ranks": ranks, "version": version, "date": f"{datetime.date.today()}"}
    ours |= {"others": busy if experiment.seconds else None}
    tables.add(experiment.folder(kind, root), ours | row, " ".join(job.words), machine, points)
    shutil.rmtree(folder)


def machine_and_version(packages: tuple[str, ...] = ()) -> tuple[dict[str, Any], str]:
    """Return what origin.json says of this machine and its libraries, and the version of minitrpo."""
    made = provenance(packages=packages)
    version: str = made["versions"].pop("minitrpo")
    return {"machine": made["machine"], "cores": cores(), "python": made["python"], **made["versions"]}, version


def refuse_if_busy(name: str, share: float) -> None:
    """Raise Busy if other programs use so much of the cores that they change seconds."""
    if share > BUSY:
        used = f"other programs use {share * cores():.1f} of {cores()} cores"
        raise Busy(f"{name} is about seconds, and {used}: not measured; try again when the machine is idle")


def train(job: Job, ranks: int, folder: Path, longer: int = 0) -> tuple[RunFolder, str]:
    """Return the folder of a new or continued training run, and the hash of its parameters.

    longer: until how many steps an existing run continues.
    """
    out = folder / "run"
    words = [*job.words, "--seed", str(job.seed), *(["--oversubscribe"] if ranks > cores() else [])]
    more = flags({"total_steps": longer}) if longer else []
    where = ["--resume", out, *more] if (out / "config.json").exists() else [*words, "--out", out]
    output = mpiexec(ranks, "train", *where, "--progress", "none", timeout=LIMIT)
    return RunFolder(out), output.split()[-1][:16]


def alone(work: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Return what a function returns in a new process, which has its own memory and its own seconds."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *given, **named).result()


def thinned(columns: Mapping[str, Array], last: tuple[str, ...], means: tuple[str, ...], rows: int) -> dict[str, Array]:
    """Return columns of metrics.csv in at most `rows` rows, each of several updates: the last value, or their mean.

    last, means: which columns. A mean leaves out missing numbers.
    """
    count = len(columns["iteration"])
    ends = np.unique(np.linspace(0, count, min(rows, count) + 1).astype(int))[1:]
    kept = {name: columns[name][ends - 1] for name in last}
    for name in filter(columns.__contains__, means):
        parts = (part[np.isfinite(part)] for part in np.split(columns[name], ends)[:-1])
        kept[name] = np.array([part.mean() if len(part) else np.nan for part in parts])
    return kept
