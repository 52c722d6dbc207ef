"""Where the time of a run goes, part by part: microseconds of an environment step, milliseconds of an update.

    python -m benchmarks.parts

One rank trains as typed, in this process, with a clock around each part; a part's time is without that of the parts
within it, and what belongs to none of them is the rest. The clocks themselves cost about half a microsecond a call,
shown as a line of its own. Exchange and waiting are those of the same run on two ranks, from its trace.
"""

import json
import pkgutil
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
from matplotlib import pyplot as plt

from benchmarks import tables
from benchmarks.options import make_parser, names
from benchmarks.record import RESULTS, origin, write_json
from minitrpo import train
from minitrpo.experience.batched_mujoco import MujocoVectorEnv
from minitrpo.experience.mujoco_tasks import TASKS
from minitrpo.policies import Array, GaussianPolicy
from minitrpo.reports.plots import BLUE, GREEN
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision.jobs import flags, mpiexec

COLLECTING = ("physics", "observation", "reward", "filter", "policy", "noise", "record", "rest of a tick")
COLLECTING += ("fragments and digest",)
UPDATING = ("advantages", "gradient", "Fisher products", "line search", "critic", "log and checkpoint", "rest")
WHERE = {  # the part that a function is
    "minitrpo.experience.rollouts.Rollouts.advance": "fragments and digest",
    "minitrpo.experience.rollouts.Rollouts._tick": "rest of a tick",
    "minitrpo.experience.batched_mujoco.MujocoVectorEnv._now": "observation",
    "minitrpo.experience.observation_filter.ObservationFilter.__call__": "filter",
    "minitrpo.experience.rollouts.ActionNoise.next": "noise",
    "minitrpo.experience.rollouts.StepBuffer.append": "record",
    "minitrpo.training.synchronous.digested": "fragments and digest",
    "minitrpo.algorithms.parallel_trpo.advantages_of": "advantages",
    "minitrpo.trpo.surrogate_gradient": "gradient",
    "minitrpo.trpo.conjugate_gradient": "Fisher products",
    "minitrpo.trpo.objective": "line search",
    "minitrpo.trpo.backtracking": "line search",
    "minitrpo.critics.MLPCritic.fit": "critic",
    "minitrpo.training.run_log.RunLog.write": "log and checkpoint",
    "minitrpo.training.run_log.RunLog.save": "log and checkpoint",
}


class Clock:
    """Exclusive seconds and calls of parts that lie within each other."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.calls: defaultdict[str, int] = defaultdict(int)
        self._within: list[float] = []  # for each open part: seconds of those within it

    def timed(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with a clock around it."""

        def with_clock(*args: Any, **kwargs: Any) -> Any:
            self._within.append(0.0)
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                took = time.perf_counter() - start
                self.seconds[part] += took - self._within.pop()
                self.calls[part] += 1
                if self._within:
                    self._within[-1] += took

        return with_clock


class TimedBatch:
    """MuJoCo's batch with a clock around its step."""

    def __init__(self, batch: Any, clock: Clock) -> None:
        self._batch, self.step = batch, clock.timed("physics", batch.step)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)


@contextmanager
def clocks() -> Iterator[Clock]:
    """Put clocks around all parts while it lasts."""
    clock, begin, act_function = Clock(), MujocoVectorEnv.__init__, GaussianPolicy.act_function

    def begin_timed(self: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        self.batch = TimedBatch(self.batch, clock)

    def timed_act_function(self: Any, theta: Array) -> Any:
        return clock.timed("policy", act_function(self, theta))

    with ExitStack() as stack:
        for place, part in WHERE.items():
            owner, _, name = place.rpartition(".")
            thing = pkgutil.resolve_name(owner)
            stack.enter_context(patch.object(thing, name, clock.timed(part, getattr(thing, name))))
        for task in set(TASKS.values()):
            for name, part in (("observe", "observation"), ("reward_and_terminated", "reward")):
                stack.enter_context(patch.object(task, name, clock.timed(part, getattr(task, name))))
        stack.enter_context(patch.object(MujocoVectorEnv, "__init__", begin_timed))
        stack.enter_context(patch.object(GaussianPolicy, "act_function", timed_act_function))
        yield clock


def cost_of_a_clock() -> float:
    """Return the seconds that a clock takes, the median of several thousand."""
    clock = Clock()
    empty = clock.timed("empty", lambda: None)
    taken = []
    for _ in range(5000):
        start = time.perf_counter()
        empty()
        taken.append(time.perf_counter() - start)
    return float(np.median(taken))


def alone(env: str, steps: int) -> dict[str, Any]:
    """Return what one rank's parts take, in microseconds of a step and milliseconds of an update."""
    with TemporaryDirectory() as folder:
        train("Reacher-v5", total_steps=4_000, progress="none", out=Path(folder) / "warm-up")
        with clocks() as clock:
            run = train(env, total_steps=steps, seed=100, progress="none", out=Path(folder) / "run")
        columns = run.columns()
    taken, updates, seconds = int(columns["env_steps"][-1]), len(columns["env_steps"]), float(columns["time_s"][-1])
    clock.seconds["rest"] = seconds - sum(clock.seconds.values())
    clocks_s = cost_of_a_clock() * sum(clock.calls.values())
    return {
        "environment": env,
        "steps": taken,
        "updates": updates,
        "seconds": seconds,
        "clocks_s": clocks_s,
        "collecting": {part: 1e6 * clock.seconds[part] / taken for part in COLLECTING},
        "updating": {part: 1e3 * clock.seconds[part] / updates for part in UPDATING},
    }


def together(env: str, steps: int) -> dict[str, list[float]]:
    """Return what each of two ranks does in an update, in milliseconds, by the names of the trace."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        words = flags({"env": env, "total_steps": steps, "seed": 100, "progress": "none", "out": out})
        mpiexec(2, "train", *words, "--trace", timeout=3600)
        events = json.loads((out / "trace.json").read_text())["traceEvents"]
        updates = len(RunFolder(out).columns()["env_steps"])
    found: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for event in events:
        if event.get("ph") == "X":
            found[event["name"]][int(event["tid"])] += event["dur"] / 1e3 / updates
    return dict(found)


def main() -> None:
    """Measure, and write results/parts.json."""
    parser = make_parser(__doc__)
    parser.add_argument("--env", type=names, default="HalfCheetah-v5,Reacher-v5", help="ids with commas")
    parser.add_argument("--steps", type=int, default=100_000)
    args = parser.parse_args()
    lines = [{**alone(env, args.steps), "two_ranks": together(env, args.steps)} for env in args.env]
    words = f"python -m benchmarks.parts --env {','.join(args.env)} --steps {args.steps}"
    write_json(RESULTS / "parts.json", {"provenance": origin() | {"command": words}, "lines": lines})
    print(table({"provenance": origin() | {"command": words}, "lines": lines}))


def table(result: dict[str, Any]) -> str:
    """Return the tables of one rank's parts, and of what two ranks do."""
    lines = result["lines"]
    header = ("one rank", *(x["environment"] for x in lines))
    rows = [(f"{part}, us a step", *(f"{x['collecting'][part]:.1f}" for x in lines)) for part in COLLECTING]
    rows += [(f"{part}, ms an update", *(f"{x['updating'][part]:.2f}" for x in lines)) for part in UPDATING]
    rows += [("of all this the clocks themselves, seconds in all", *(f"{x['clocks_s']:.2f}" for x in lines))]
    rows += [("everything, seconds in all", *(f"{x['seconds']:.1f}" for x in lines))]
    both = ("two ranks, ms an update: rank 0, rank 1", *(x["environment"] for x in lines))
    spans = sorted({name for x in lines for name in x["two_ranks"]})
    pairs = [(name, *(pair(x["two_ranks"].get(name, [0.0, 0.0])) for x in lines)) for name in spans]
    return f"{tables.table(header, rows)}\n\n{tables.table(both, pairs)}\n\n{tables.made_by(result)}"


def pair(milliseconds: list[float]) -> str:
    """Return both ranks' numbers as text."""
    return ", ".join(f"{ms:.1f}" for ms in milliseconds)


def picture(result: dict[str, Any]) -> Any:
    """Return a picture of one rank's parts: seconds of a million steps, a bar for each environment."""
    figure, axes = plt.subplots(
        len(result["lines"]), 1, figsize=(9, 3.6 * len(result["lines"])), layout="constrained", sharex=True
    )
    for axis, x in zip(np.atleast_1d(axes), result["lines"], strict=True):
        per_step = x["updates"] / x["steps"]
        seconds = dict(x["collecting"])
        seconds |= {part: 1e3 * ms * per_step for part, ms in x["updating"].items()}
        colors = [BLUE if part in COLLECTING else GREEN for part in seconds]
        bars = axis.barh(list(seconds), list(seconds.values()), color=colors)
        axis.bar_label(bars, fmt=" %.1f")
        axis.invert_yaxis()
        axis.margins(x=0.08)
        axis.set_title(x["environment"], loc="left")
    axis.set_xlabel("microseconds of an environment step (or: seconds of a million steps), one rank")
    return figure


if __name__ == "__main__":
    main()
