"""Time per update and phase on 1 to 8 ranks, for both learners and both pools; and what one rank's seconds predict.

A run's first update is not counted. On more ranks than cores the question is what is lost. Two separate runs of one
rank, side by side, show what the machine itself has to give: cores share caches, memory and power, and those of a
virtual machine may be two threads of one.

`prediction`: lecture 15's model takes from the row of one rank the seconds of playing and of learning, and from the
separate runs how much slower a core is while the other works. What several ranks take is then predicted, and was
measured: here, in earlier RECORDS, whose tables have medians, and by Frans in 2016.
"""

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from experiments import tables
from experiments.claims.author import MEASURED
from experiments.harness import Arm, Experiment, Job, Measured, Runs, Size
from experiments.tables import Run
from experiments.tables import markdown as table
from minitrpo.course.scaling.formulas import Network
from minitrpo.course.scaling.model import Design, Inputs, Line, Machine, Messages, Task, iteration
from minitrpo.course.speedup.experiment import compared, timed_run
from minitrpo.course.speedup.statistics import speedup, speedup_interval
from minitrpo.course.statistics import Interval
from minitrpo.policies import Array
from minitrpo.run_folder.metrics_csv import SECONDS

STEPS, UPDATES, CORES = 20_000, 5, 2  # of an update; of a run; separate runs
LENGTHS = {"HalfCheetah-v5": 1000, "Reacher-v5": 50}  # steps of an episode; all alike
SEPARATE = "separate runs"
KINDS = tuple(f"{learner}, {pool}" for learner in ("root", "sharded") for pool in ("dynamic", "static"))
RECORDS = ("scaling", "scaling_amd_0.1.0", "scaling_amd", "scaling_xeon", "scaling_repeat_3", "scaling_repeat_6")


def one_rank(kind: str) -> str:
    """Return what a run of this kind is on one rank."""
    return KINDS[0] if kind == SEPARATE else kind


def arm(env: str, kind: str, ranks: int) -> Arm:
    """Return a run of this kind on `ranks` ranks, or that number of separate runs of one rank."""
    learner, pool = one_rank(kind).split(", ")
    words = f"--preset episodes --learner {learner} --pool {pool} --steps-per-update {STEPS}"
    return Arm(f"{kind}, {ranks}", env, words, ranks)


def measure(job: Job, ranks: int, folder: Path) -> Measured:
    """Return the seconds of the counted updates; of separate runs those of all, divided by their number."""
    apart = ranks if job.arm.name.startswith(SEPARATE) else 1
    words = [*job.words, "--seed", f"{job.seed}"]
    with ThreadPoolExecutor(apart) as side_by_side:
        found = [*side_by_side.map(lambda _: timed_run(ranks // apart, words), range(apart))]
    return {}, {"times": {name: np.concatenate([each[name][1:] for each in found]) / apart for name in SECONDS}}


def times(runs: list[Run]) -> Array:
    """Return the seconds of all counted updates of some runs, (updates, SECONDS)."""
    return np.concatenate([np.transpose([run["times"][name] for name in SECONDS]) for run in runs])


def phases(seconds: Array) -> tuple[Array, Array]:
    """Return the seconds of every update that went into collecting, waiting and gathering, and those of all of it."""
    return seconds[:, :3].sum(axis=1), seconds[:, -1]


def gain(alone: Array, together: Array) -> Interval:
    """Return how many times as fast something is, and the interval."""
    return Interval(speedup(alone, together), *speedup_interval(alone, together))


def pooled(runs: Runs) -> dict[tuple[str, str], tuple[int, Interval, Interval]]:
    """Return how many times as fast as 1 rank all updates are that a rank on every core worked for.

    By environment and learner: the number of updates, the gain in collecting, and the gain of whole updates.
    """
    same, cores = defaultdict[tuple[str, str], list[Array]](list), cores_of(runs)
    for (name, env), some in runs.items():
        kind, _, ranks = name.rpartition(", ")
        if kind != SEPARATE and (ranks == "1" or int(ranks) >= cores):
            same[env, "alone" if ranks == "1" else kind.partition(", ")[0]].append(times(some))
    found = {}
    for env, learner in sorted(key for key in same if key[1] != "alone"):
        alone, together = (phases(np.concatenate(same[env, which])) for which in ("alone", learner))
        collecting, whole = map(gain, alone, together)
        found[env, learner] = len(together[0]), collecting, whole
    return found


def cores_of(runs: Runs) -> int:
    """Return how many cores the machine of these runs has."""
    return int(next(iter(runs.values()))[0]["machine"]["cores"])


def crowded(runs: Runs, few: int = 2, many: int = 8) -> list[float]:
    """Return how many times as fast whole updates are on `many` ranks as on `few`, for each environment and kind."""
    whole = {key: phases(times(some))[1] for key, some in runs.items()}
    kinds = [(env, kind) for env in LENGTHS for kind in KINDS if (f"{kind}, {many}", env) in whole]
    return [speedup(whole[f"{kind}, {few}", env], whole[f"{kind}, {many}", env]) for env, kind in kinds]


def report(experiment: Experiment, runs: Runs) -> str:
    """Return the tables of speed-up against ranks, and of all updates that did the same work."""
    rows, cores = [], cores_of(runs)
    for (name, env), some in runs.items():
        kind, _, count = name.rpartition(", ")
        seconds, ranks = times(some), int(count)
        (collected, whole), (alone, base) = map(phases, (seconds, times(runs[f"{one_rank(kind)}, 1", env])))
        cells = (*(f"{x:.3f}" for x in np.median(seconds, 0)), f"{speedup(alone, collected):.2f}")
        found, compare = compared(base, whole, ranks), ("1", "1.00", "-")
        if ranks > 1:
            compare = (f"{gain(base, whole):.2f}", f"{found['efficiency']:.2f}", f"{found['karp_flatt']:.2f}")
        rows.append((f"{env}, {kind}", f"{ranks}{'*' * (ranks > cores)}", *cells, *compare))
    header = ("environment, learner, pool", "ranks", *(name.removesuffix("_s") for name in SECONDS[:-1]), "whole, s")
    header += ("collecting, times 1 rank", "whole, times 1 rank", "efficiency", "Karp-Flatt")
    note = f"\\* more ranks than the {cores} cores: shows what is lost, not what more cores would give."
    gains = [
        (f"{env}, {learner}, {cores} ranks or more", f"{updates}", f"{collecting:.2f}", f"{whole:.2f}")
        for (env, learner), (updates, collecting, whole) in pooled(runs).items()
    ]
    second = table(("all updates of the same work", "updates", "collecting", "whole"), gains)
    return f"{table(header, rows)}\n\n{note}\n\n{second}"


# --- what one rank's seconds predict


class Row(NamedTuple):
    """A prediction: of which record, whether there are more ranks than cores, how far it is off, in per cent."""

    record: str
    many: bool
    error: float


def median(run: list[Run], name: str) -> float:
    """Return the median seconds of a phase."""
    return float(run[0][name]) if run[0].get(name, "") != "" else float(np.median(times(run)[:, SECONDS.index(name)]))


def of_one_rank(env: str, run: list[Run], slowdown: float) -> Task:
    """Return a task whose playing and learning take what they took on one rank; a step at any width takes the same."""
    nothing = dict.fromkeys(("prepare", "rest", "advantages", "critic"), Line(0.0, 0.0))
    each = {"tick": "collect_s", "order": "gather_s", "policy": "update_s"}
    seconds = {part: Line(0.0, median(run, name) / STEPS) for part, name in each.items()}
    sizes = {"parameters": 5000, "step_bytes": 200.0, "lengths": np.full(100, LENGTHS[env])}
    rest = {"trials": 0.0, "noise_scale": np.inf, "shared_slowdown": slowdown}
    return Task(environment=env, **nothing, **seconds, **sizes, **rest)


def predicted(name: str) -> list[Row]:
    """Return the predictions from a record for all its runs on several ranks where rank 0 learned."""
    known: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in tables.load(tables.DATA / "scaling"):
        if run["experiment"] == name:
            known[run["arm"], run["env"]].append(run)
    rows, free = [], Messages(Network(0.0, 0.0), *[0.0] * 6)
    for (arm_name, env), some in known.items():
        kind, _, count = arm_name.rpartition(", ")
        if kind not in KINDS[:2] or count == "1":
            continue
        ranks, cores, same = int(count), int(some[0]["machine"]["cores"]), known[f"{KINDS[0]}, 1", env]
        slowdown = 1.0
        if crowd := known.get((f"{SEPARATE}, {CORES}", env)):
            slowdown = max(1.0, median(crowd, "collect_s") * CORES / median(same, "collect_s"))
        task = of_one_rank(env, known[f"{kind}, 1", env], slowdown)
        design, working = Design(*kind.split(", ")), min(ranks, cores)  # those beyond the cores do not
        seconds = iteration(Inputs({}, free, {}), task, Machine(free.network, cores), design, working, STEPS).seconds
        maker = some[0]["machine"]["machine"].partition(", ")[2].split("(")[0]
        rows.append(Row(f"{maker}, {name}", ranks > cores, 100 * (seconds / median(some, "iteration_s") - 1)))
    return rows


def of_the_author(cores: int) -> list[Row]:
    """Return the predictions from Frans's seconds on one thread, if his machine had `cores` cores."""
    each = [MEASURED["speedup"][name] for name in ("threads", "rollout_s", "learn_s")]
    (_, played, learned), *several = zip(*each, strict=True)
    off = [(n, 100 * ((played / min(n, cores) + learned) / (rollout + learn) - 1)) for n, rollout, learn in several]
    return [Row(f"2016, if {cores} cores", n > cores, error) for n, error in off]


def prediction() -> str:
    """Return the table of how far predictions from recorded runs of one rank are off."""
    ours = {name: predicted(name) for name in RECORDS}
    each = [(some[0].record, some) for some in (*ours.values(), of_the_author(4), of_the_author(5))]
    rows = []
    for name, some in (*each, ("all but those of 2016", [*chain(*ours.values())])):
        errors = np.array([row.error for row in some])
        own = np.abs(errors[[not row.many for row in some]])
        span, middle = f"{min(errors):+.0f} to {max(errors):+.0f} %", np.median(np.abs(errors))
        rows.append((name, f"{len(some)}", f"{middle:.0f} %", span, f"{np.median(own):.0f} %"))
    header = ("machine and record", "configurations", "median error", "from ... to")
    return table((*header, "a core for every rank: median error"), rows)


EXPERIMENT = Experiment(
    name="scaling",
    title="whole updates on more ranks",
    arms=(
        *(arm(env, kind, ranks) for env in LENGTHS for kind in KINDS for ranks in (1, 2, 4, 8)),
        *(arm(env, SEPARATE, CORES) for env in LENGTHS),
    ),
    full=Size(4, dict.fromkeys(LENGTHS, STEPS * UPDATES)),
    quick=Size(1, {"Reacher-v5": STEPS * 2}),
    measure=measure,
    report=report,
    seconds=True,
)
