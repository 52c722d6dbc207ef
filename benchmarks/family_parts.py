"""Where the time of other members goes, part by part, and how much of it nobody could save: the environment's own.

    python -m benchmarks.family_parts

One rank trains as typed, in this process. Every few milliseconds of processor time the stack is looked at; a sample
belongs to the first of PARTS that it fits: that costs next to nothing.
"""

import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, NamedTuple

from matplotlib import pyplot as plt

from benchmarks import tables
from benchmarks.options import make_parser
from benchmarks.record import RESULTS, origin, write_json
from minitrpo import train
from minitrpo.reports.plots import BLUE, GREEN, GREY

EVERY = 1e-3  # seconds of processor time between two samples; systems with a slower clock take longer


class Part(NamedTuple):
    """A part, and what a stack must have in it to belong: one of the words of each group, of files and functions."""

    name: str
    groups: tuple[tuple[str, ...], ...]


COLLECTING = ("environment", "policy", "rest of a tick", "episodes and messages")
PARTS = (
    Part("environment", (("gymnasium/", "mujoco/batch.py"),)),
    Part("policy", (("rollouts.py:_tick",), ("perceptron.py", "policies.py", "q_learning.py"))),
    Part("rest of a tick", (("rollouts.py:_tick",),)),
    Part("replay", (("replay_buffer.py",),)),
    Part("optimiser", (("optimisers.py",),)),
    Part("network", (("perceptron.py", "log_probability.py"),)),
    Part("advantages and targets", (("returns.py", "samples.py", "q_learning.py:q_gradient_sums"),)),
    Part("log and checkpoint", (("run_folder/", "run_log.py", "reports/"),)),
    Part("rest of an update", (("learner.py",),)),
    Part("episodes and messages", (("synchronous.py:collect", "parallel/", "rollouts.py"),)),
)
REST = "loop"
RUNS = {"a2c": ("CartPole-v1", 60_000), "dqn": ("CartPole-v1", 30_000), "batch-ppo": ("HalfCheetah-v5", 60_000)}


LOOP = "synchronous.py:root_loop"  # what lies outside, start-up and pictures, does not count


def stack_of(frame: FrameType | None) -> str:
    """Return the files and functions of a stack, the innermost first, as one text."""
    found = []
    while frame is not None:
        found.append(f"{frame.f_code.co_filename}:{frame.f_code.co_name}")
        frame = frame.f_back
    return "\n".join(found)


def part_of(stack: str) -> str:
    """Return the part that a stack belongs to."""
    fits = (part.name for part in PARTS if all(any(word in stack for word in words) for words in part.groups))
    return next(fits, REST)


@contextmanager
def sampled() -> Iterator[Counter[str]]:
    """Count the samples of each part while it lasts."""
    counted: Counter[str] = Counter()

    def look(number: int, frame: FrameType | None) -> None:
        stack = stack_of(frame)
        if LOOP in stack:
            counted[part_of(stack)] += 1

    before = signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, EVERY, EVERY)
    try:
        yield counted
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def measured(algorithm: str, env: str, steps: int) -> dict[str, Any]:
    """Return microseconds of an environment step, part by part, of one rank's run."""
    with TemporaryDirectory() as folder:
        train(env, algorithm=algorithm, total_steps=steps // 10, progress="none", out=Path(folder) / "warm-up")
        with sampled() as counted:
            run = train(env, algorithm=algorithm, total_steps=steps, progress="none", out=Path(folder) / "run")
        columns = run.columns()
    taken, seconds = int(columns["env_steps"][-1]), float(columns["time_s"][-1])
    names = [*(part.name for part in PARTS), REST]
    share = {name: counted[name] / counted.total() for name in names}
    return {
        "algorithm": algorithm,
        "environment": env,
        "steps": taken,
        "updates": len(columns["env_steps"]),
        "samples": counted.total(),
        "step_us": 1e6 * seconds / taken,
        "parts": {name: 1e6 * seconds * share[name] / taken for name in names},
    }


def main() -> None:
    """Measure, and write results/family_parts.json."""
    make_parser(__doc__).parse_args()
    lines = [measured(algorithm, *run) for algorithm, run in RUNS.items()]
    result = {"provenance": origin(), "lines": lines}
    write_json(RESULTS / "family_parts.json", result)
    print(table(result))


def table(result: dict[str, Any]) -> str:
    """Return the table of all parts."""
    lines = result["lines"]
    header = ("microseconds of an environment step", *(f"{x['algorithm']}, {x['environment']}" for x in lines))
    rows = [(name, *(f"{x['parts'][name]:.1f}" for x in lines)) for name in lines[0]["parts"]]
    rows += [("everything", *(f"{x['step_us']:.1f}" for x in lines))]
    rows += [("samples", *(f"{x['samples']:,}" for x in lines))]
    return f"{tables.table(header, rows)}\n\n{tables.made_by(result)}"


def picture(result: dict[str, Any]) -> Any:
    """Return a picture of the parts, a row of bars for each member."""
    lines = result["lines"]
    figure, all_axes = plt.subplots(1, len(lines), figsize=(4.2 * len(lines), 4.2), layout="constrained", sharey=True)
    for axes, x in zip(all_axes, lines, strict=True):
        colours = [GREY if n == "environment" else BLUE if n in COLLECTING else GREEN for n in x["parts"]]
        bars = axes.barh(list(x["parts"]), list(x["parts"].values()), color=colours)
        axes.bar_label(bars, fmt=" %.1f")
        axes.margins(x=0.15)
        axes.set_title(f"{x['algorithm']}, {x['environment']}", loc="left")
        axes.set_xlabel("microseconds of an environment step")
    all_axes[0].invert_yaxis()
    return figure


if __name__ == "__main__":
    main()
