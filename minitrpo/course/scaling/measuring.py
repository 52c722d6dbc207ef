"""Lecture 15: take all inputs of a prediction on this machine: parts of an update, messages, start-up.

Parts and messages are measured under mpiexec, by `measuring.py parts ENV STEPS UPDATES` and `measuring.py messages
PARAMETERS`, which print JSON. Seconds of parts are those in which a process computed: waiting for a core that others
use does not count, a cache that others fill does. Those of messages are wall-clock.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from minitrpo.advantages import standardise
from minitrpo.algorithms.shared_update import advantages_of
from minitrpo.commands.command_line import parse
from minitrpo.course.scaling.formulas import noise_scale
from minitrpo.course.scaling.model import MEASURED_PARTS, Line
from minitrpo.experience.environments import describe
from minitrpo.parallel.comm import Comm, MPIComm, packed, unpacked
from minitrpo.parallel.this_process import cores, launched_rank
from minitrpo.parallel.timing import Timeline
from minitrpo.policies import Array
from minitrpo.policy_gradient import policy_gradient
from minitrpo.run_folder.atomic_files import write_atomically
from minitrpo.run_folder.folder import RunFolder
from minitrpo.run_folder.provenance import provenance
from minitrpo.supervision.mpiexec import flags, launcher, mpiexec
from minitrpo.training.collect import in_episode_order, prepare_fragments
from minitrpo.training.root import Root
from minitrpo.training.run_context import RunContext
from minitrpo.training.synchronous import make_rank

Samples = list[tuple[float, float]]  # a number, and the seconds that it took
FIRST = 4  # updates that are not counted
WIDTHS = (1, 2, 4, 8, 16)  # episodes in play
TICKS = 100  # in a measurement
PIECES = 16  # of a batch, whose gradients make the noise scale
SIZES = tuple(8 * 8**k for k in range(8))  # bytes of a message: 8 to 16 Mi
DRAWS = 500
NAP = 0.003  # seconds that the others wait for the root: longer than the longest sleep of a waiting rank
STARTED = (1, 2, 4, 8, 16)  # ranks whose start is timed


def measured(environments: list[str], steps: int, updates: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """Return all inputs, as they are recorded. Raises JobFailed."""
    tasks = {}
    for name in environments:
        tell(f"{name}: parts of an update, alone and with all {cores()} cores in use")
        tasks[name] = child(1, "parts", name, steps, updates)
        with ThreadPoolExecutor(cores()) as side_by_side:
            crowd = [*side_by_side.map(lambda _, name=name: child(1, "parts", name, steps, updates), range(cores()))]
        ticks = [Line(*each["tick"])(16) for each in (tasks[name], *crowd)]
        slowdown = max(1.0, float(np.median(ticks[1:])) / ticks[0])
        tasks[name]["shared_slowdown"] = slowdown if cores() > 1 else 1.0
    tell("messages between ranks, and their start")
    parameters = max(each["parameters"] for each in tasks.values())
    messages = child(2, "messages", parameters) | starts() | {"checkpoint": checkpoint(parameters)}
    return {"provenance": provenance(), "tasks": tasks, "messages": messages}


def child(ranks: int, *words: object) -> dict[str, Any]:
    """Return what this program prints on some ranks. Raises JobFailed."""
    content: dict[str, Any] = json.loads(mpiexec(ranks, __file__, *words, timeout=3600.0))
    return content


def line(samples: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Return (fixed, each) of a line through the medians of samples, those of about equal numbers taken together.

    Whole episodes never make the same number of steps twice. A line never has a negative part: where the fit would, it
    is drawn through 0.
    """
    groups: defaultdict[int, Samples] = defaultdict(list)
    for number, seconds in samples:
        groups[round(2 * np.log2(number))].append((number, seconds))
    counts = np.array([np.mean([number for number, _ in group]) for group in groups.values()])
    medians = np.array([np.median([seconds for _, seconds in group]) for group in groups.values()])
    weights = 1 / medians  # a part of a small number counts like that of a large one
    matrix = np.stack([np.ones_like(counts), counts], axis=1) * weights[:, None]
    fixed, each = np.linalg.lstsq(matrix, medians * weights, rcond=None)[0]
    if fixed < 0:
        fixed, each = 0.0, np.sum(counts * weights * medians * weights) / np.sum((counts * weights) ** 2)
    return float(fixed), max(float(each), 0.0)


# --- parts of an update: seconds in which this process computed


class Updates:
    """A run of whole episodes on one rank, an update at a time, with the seconds of each part."""

    def __init__(self, environment: str, steps: int) -> None:
        job = {"env": environment, "preset": "episodes", "steps_per_update": steps, "total_steps": 10**9}
        choice, spec = parse(flags(job)).choice, describe(environment)
        self.timeline = Timeline(Comm(), keep=False)
        self.timeline.now = time.process_time  # type: ignore[method-assign] # its spans are of the same seconds
        context = RunContext(choice, spec, RunFolder(Path("nowhere")), {})
        rank, _ = make_rank(context, Comm(), self.timeline)
        self.algorithm: Any = rank.algorithm
        self.learner = Root(context, rank.algorithm)
        self.collector: Any = rank.collector
        self.lengths: list[int] = []
        self.trials: list[float] = []
        self.gradients: list[Array] = []
        self.sizes: dict[str, float] = {}

    def update(self) -> tuple[int, dict[str, float]]:
        """Play, prepare, sort and learn; return the number of steps, and the seconds of each part."""
        algorithm, theta, s = self.algorithm, self.algorithm.theta.copy(), self.algorithm.settings
        plan, request = self.learner.plan()
        self.collector.refill()
        played = self.collector.collect(request)
        steps = sum(fragment.steps for fragment in played)
        buffer, prepare = computed(lambda: packed(prepare_fragments(algorithm, plan, request, played)))
        gathered, order = computed(lambda: in_episode_order([unpacked(buffer)]))
        values = advantages_of(algorithm.critic, algorithm.critic_state, gathered.batch, s.discount, s.gae_lambda)
        self.timeline.take()
        _, rest = computed(lambda: self.learner.learn(gathered))
        spans = self.timeline.take()
        learned = {part: spans[part] for part in ("advantages", "policy", "critic")}
        # what is not seconds
        self.sizes = {"step_bytes": len(buffer) / steps}
        self.lengths = (self.lengths + gathered.fragments["lengths"].tolist())[-1000:]
        self.trials.append(float(self.learner.row().columns["line_search_steps"]))
        columns = (gathered.batch["observations"], gathered.batch["actions"], standardise(values["advantages"]))
        pieces = zip(*(np.array_split(column, PIECES) for column in columns), strict=True)
        self.gradients.append(np.array([policy_gradient(algorithm.policy, theta, *piece) for piece in pieces]))
        return steps, {"prepare": prepare, "order": order, "rest": rest - sum(learned.values()), **learned}

    def ticks(self) -> Samples:
        """Return the seconds of one step of all episodes in play; afterwards there are no more updates."""
        rollouts, theta, frozen, found = self.collector.rollouts, self.algorithm.theta, self.learner.filter, []
        for width in WIDTHS:
            advance = partial(rollouts.advance, theta, frozen, 0, range(width), width, TICKS)
            advance()  # it begins episodes
            found += [(float(width), computed(advance)[1] / TICKS) for _ in range(10)]
        rollouts.envs.close()
        return found


def computed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return what `work` returns, and its seconds."""
    began = time.process_time()
    return work(), time.process_time() - began


def parts(environment: str, steps: int, updates: int) -> dict[str, Any]:
    """Return everything about one environment, as it is recorded; from updates of two sizes, the first not counted."""
    samples: defaultdict[str, Samples] = defaultdict(list)
    for size in (steps // 4, steps):
        run = Updates(environment, size)
        for number in range(FIRST + updates):
            count, seconds = run.update()
            for part in seconds if number >= FIRST else ():
                samples[part].append((count, seconds[part]))
    samples["tick"] = run.ticks()
    return {part: line(samples[part]) for part in MEASURED_PARTS} | {
        "environment": environment,
        **run.sizes,
        "trials": float(np.mean(run.trials)),
        "parameters": len(run.algorithm.theta),
        "noise_scale": noise_scale(np.array(run.gradients[-updates:]), steps / PIECES),
        "lengths": run.lengths,
    }


# --- messages, start-up and checkpoints: wall-clock


def seconds_of(work: Callable[[], Any], again: int, before: Callable[[], Any] = lambda: None) -> list[float]:
    """Return the seconds of each of some calls; before: is done before each, and does not count."""
    found = []
    for _ in range(again):
        before()
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return found


def messages(parameters: int, again: int = 100) -> dict[str, Any]:
    """Return what messages cost: the seconds of the slowest rank of calls that all ranks begin together."""
    comm = MPIComm()
    native, counter = comm.native, comm.counter()
    theta, short = {"theta": np.zeros(parameters)}, np.zeros((1, 64))

    def slowest(work: Callable[[], Any], again: int) -> list[float]:
        return [max(each) for each in zip(*native.allgather(seconds_of(work, again, native.Barrier)), strict=True)]

    def wait_for_root() -> None:
        native.Barrier()
        if comm.rank == 0:
            time.sleep(NAP)  # as if it learned; the others go to sleep

    def exchange() -> None:
        comm.broadcast(theta)
        comm.barrier()
        comm.gather({"none": np.zeros(1)})

    broadcasts: Samples = []
    for size in SIZES:
        sent = partial(native.Bcast, np.zeros(size // 8), 0)
        broadcasts += [(size, seconds) for seconds in slowest(sent, again if size < 1e6 else again // 5)]
    draws = slowest(lambda: [counter.next() for _ in range(DRAWS)], again // 10)  # all draw as quickly as they can
    found = {
        "network": line(broadcasts),
        "draw": float(np.median(draws)) / (DRAWS * comm.size),
        "exchange": float(np.median(seconds_of(exchange, again, wait_for_root))),  # the root's
        "all_gather": float(np.median(slowest(lambda: comm.all_gather(short, [1] * comm.size), again))),
    }
    comm.close()
    return found


def starts() -> dict[str, float]:
    """Return the seconds of one rank's start, package and MPI included, and how many more each further rank takes."""

    def start(ranks: int, *command: str) -> list[float]:
        words = [launcher(), "-n", str(ranks), *command]
        return seconds_of(lambda: subprocess.run(words, check=True, capture_output=True, stdin=subprocess.DEVNULL), 5)

    script = "from minitrpo.training import synchronous; from mpi4py import MPI; MPI.COMM_WORLD.Barrier()"
    several = [(ranks, seconds) for ranks in STARTED for seconds in start(ranks, shutil.which("true") or "true")]
    return {"start": float(np.median(start(1, sys.executable, "-c", script))), "start_each": line(several)[1]}


def checkpoint(parameters: int) -> float:
    """Return the seconds in which a checkpoint is on the disk: theta, the critic, and its two moments."""
    content = os.urandom(4 * 8 * parameters)
    with tempfile.TemporaryDirectory() as folder:
        return float(np.median(seconds_of(lambda: write_atomically(Path(folder) / "checkpoint", content), 10)))


if __name__ == "__main__":
    with threadpool_limits(1):
        what, *words = sys.argv[1:]
        content = parts(words[0], int(words[1]), int(words[2])) if what == "parts" else messages(int(words[0]))
    if launched_rank() == 0:
        print(json.dumps(content))
