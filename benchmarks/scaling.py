"""Time per update and phase on 1 to 4 times the cores, for both learners and both pools.

    python -m benchmarks.scaling

Every run is `mpiexec -n RANKS python -m minitrpo train` in a folder of its own; the rounds go through all combinations
by turns. A run's first update is not counted. On more ranks than cores the question is what is lost. As many separate
runs of one rank as there are cores, side by side, show what the machine itself has to give: cores share caches, memory
and power, and those of a virtual machine may be two threads of one.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from benchmarks.options import make_parser, names, positive_numbers
from benchmarks.record import RESULTS, origin, write_json
from benchmarks.summaries import interval, median, rounded
from minitrpo.course.speedup.experiment import by_turns, compared, timed_run
from minitrpo.course.speedup.statistics import speedup
from minitrpo.parallel.launcher import cores
from minitrpo.policies import Array
from minitrpo.run_folder.metrics_log import SECONDS
from minitrpo.supervision.jobs import flags


@dataclass(frozen=True)
class Experiment:
    """What is timed: a run on `ranks` ranks or, if `separate`, so many runs of one rank that share nothing."""

    env: str
    learner: str
    pool: str
    ranks: int
    separate: bool = False

    @property
    def name(self) -> str:
        """Return what the times of the experiment are called in the results."""
        return f"{self.env}, {'separate' if self.separate else self.learner}, {self.pool}, {self.ranks}"

    @property
    def alone(self) -> "Experiment":
        """Return the same on one rank."""
        return replace(self, ranks=1, separate=False)


def measured(result: dict[str, Any]) -> Iterator[tuple[Experiment, Array]]:
    """Yield every experiment of a recorded result with its seconds, (updates, SECONDS)."""
    for line in result["lines"]:
        experiment = Experiment(**{field.name: line[field.name] for field in fields(Experiment)})
        yield experiment, np.array(result[experiment.name])


def experiments(envs: list[str], learners: list[str], pools: list[str], ranks: list[int]) -> list[Experiment]:
    """Return all combinations, one rank among them, and of every environment as many separate runs as cores."""
    crossed = [Experiment(*each) for each in itertools.product(envs, learners, pools, sorted({1, *ranks}))]
    if cores() == 1:
        return crossed
    return crossed + [Experiment(env, learners[0], pools[0], cores(), separate=True) for env in envs]


def run(experiment: Experiment, steps: int, updates: int) -> Array:
    """Return the seconds of the counted updates, (updates, SECONDS); of separate runs those of all, divided by ranks.

    steps: per update.
    """
    if experiment.separate:
        with ThreadPoolExecutor(experiment.ranks) as side_by_side:
            runs = [side_by_side.submit(run, experiment.alone, steps, updates) for _ in range(experiment.ranks)]
            return np.concatenate([each.result() for each in runs]) / experiment.ranks
    settings = {"env": experiment.env, "learner": experiment.learner, "pool": experiment.pool}
    words = flags({"preset": "episodes", **settings, "steps_per_update": steps, "total_steps": steps * updates})
    columns = timed_run(experiment.ranks, words)
    return np.stack([columns[name] for name in SECONDS], axis=1)[1:]


def collecting(times: Array) -> Array:
    """Return the seconds of every update that went into collecting, waiting and gathering."""
    return times[:, :3].sum(axis=1)


def line(experiment: Experiment, times: Array, alone: Array) -> dict[str, Any]:
    """Return what is to be reported of one experiment; alone: the times of the same on one rank."""
    figures = compared(alone[:, -1], times[:, -1], experiment.ranks)
    low, high = figures["speedup_interval"]
    return {
        **asdict(experiment),
        **{name: median(times[:, i]) for i, name in enumerate(SECONDS)},
        "collect_speedup": rounded(speedup(collecting(alone), collecting(times))),
        "speedup": rounded(figures["speedup"]),
        "interval": (rounded(low), rounded(high)),
        "efficiency": rounded(figures["efficiency"]),
        "karp_flatt": None if figures["karp_flatt"] is None else rounded(figures["karp_flatt"]),
        "seconds_interval": interval(times[:, -1]),
    }


def main() -> None:
    """Measure and write results/scaling.json."""
    parser = make_parser(__doc__)
    ranks = ",".join(str(cores() * k // 2) for k in (1, 2, 4, 8) if cores() * k // 2)
    parser.add_argument("--env", type=names, default="HalfCheetah-v5,Reacher-v5", help="ids with commas")
    parser.add_argument("--ranks", type=positive_numbers, default=ranks, help=f"with commas (default: {ranks})")
    parser.add_argument("--learner", type=names, default="root,sharded")
    parser.add_argument("--pool", type=names, default="dynamic,static")
    parser.add_argument("--steps", type=int, default=20_000, help="per update")
    parser.add_argument("--updates", type=int, default=5, help="in a run, the first of which is not counted")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    by_round = defaultdict(list)
    for number, experiment in by_turns(args.rounds, experiments(args.env, args.learner, args.pool, args.ranks)):
        by_round[experiment].append(run(experiment, args.steps, args.updates))
        seconds = dict(zip(SECONDS, np.median(by_round[experiment][-1], axis=0).round(3).tolist(), strict=True))
        print(f"round {number}, {experiment.name} rank(s): {seconds}", flush=True)
    times = {experiment: np.concatenate(parts) for experiment, parts in by_round.items()}
    lines = [line(experiment, seconds, times[experiment.alone]) for experiment, seconds in times.items()]
    settings = {key: value for key, value in vars(args).items() if key != "env"}
    head = {"provenance": origin(), "cores": cores(), "settings": settings, "lines": lines, "phases": SECONDS}
    raw = {experiment.name: seconds.round(5).tolist() for experiment, seconds in times.items()}
    write_json(RESULTS / "scaling.json", head | raw)


if __name__ == "__main__":
    main()
