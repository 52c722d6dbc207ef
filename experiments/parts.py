"""Where the time of a run goes, part by part: microseconds of an environment step, on one rank.

The run is as typed, in a process of its own. Every millisecond of processor time its stack is looked at, which costs
next to nothing; a sample belongs to the first of the parts that it fits. What two ranks of TRPO do is read from their
trace. The floor of a part is what its matrix products and tanh alone take in float32, at the rates of this core.
"""

import json
import re
import signal
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from timeit import repeat
from types import FrameType

import numpy as np
from threadpoolctl import threadpool_limits

from experiments import harness
from experiments.harness import Arm, Experiment, Job, Measured, Runs, Size, alone
from experiments.tables import markdown as table
from minitrpo import train
from minitrpo.block_sums import BLOCK
from minitrpo.commands.command_line import parse
from minitrpo.critics import MLPCritic
from minitrpo.experience.environments import describe

WIDTH = 64  # units of a hidden layer
EVERY = 1e-3  # seconds of processor time between two samples; systems with a slower clock take longer
LOOP = "synchronous.py:root_loop"  # what lies outside, start-up and pictures, does not count
Parts = dict[str, str]  # what is in a stack, the innermost function first
TICK, POLICY = "rollouts.py:_tick", "(perceptron|policies|q_learning).py.*rollouts.py:_tick"
TRPO: Parts = {
    "physics": "mujoco/batch.py",
    "observation": ":observe|:_now",
    "reward": ":reward_and_terminated",
    "filter": "observation_filter.py:__call__",
    "policy": POLICY,
    "noise": "rollouts.py:next",
    "record": "rollouts.py:append",
    "rest of a tick": TICK,
    "fragments and digest": "rollouts.py|:prepare_fragments",
    "advantages": ":advantages_of",
    "gradient": ":surrogate_gradient",
    "Fisher products": ":conjugate_gradient",
    "line search": ":objective|:backtracking",
    "critic": "critics.py:fit",
    "log and checkpoint": "run_log.py:(write|save)",
    "rest": LOOP,
}
FAMILY: Parts = {
    "environment": "gymnasium/|mujoco/batch.py",
    "policy": POLICY,
    "rest of a tick": TICK,
    "replay": "replay_buffer.py",
    "optimiser": "optimisers.py",
    "network": "perceptron.py|policy_gradient.py|natural_gradient.py",
    "advantages and targets": "advantages.py|shared_update.py|q_learning.py:q_gradient_sums",
    "log and checkpoint": "run_folder/|run_log.py|reports/",
    "rest of an update": "/root.py|learner.py",
    "episodes and messages": "synchronous.py:collect|parallel/|rollouts.py",
    "loop": LOOP,
}


@contextmanager
def sampled(parts: Parts) -> Iterator[Counter[str]]:
    """Count the samples of each part while it lasts, in the main thread."""
    counted: Counter[str] = Counter()

    def look(number: int, frame: FrameType | None) -> None:
        frames = [f"{each.f_code.co_filename}:{each.f_code.co_name}" for each, _ in traceback.walk_stack(frame)]
        stack = "\n".join(frames)
        if LOOP in stack:
            counted[next(name for name, words in parts.items() if re.search(words, stack, re.DOTALL))] += 1

    before = signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, EVERY, EVERY)
    try:
        yield counted
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def measure(parts: Parts, job: Job, ranks: int, folder: Path) -> Measured:
    """Return microseconds of a step, part by part; of TRPO what two ranks do, too."""
    row, points = alone(one_rank, parts, job, folder)
    return row, {**points, **(two_ranks(job, folder) if parts == TRPO else {})}


def one_rank(parts: Parts, job: Job, folder: Path) -> Measured:
    """Return microseconds of a step, part by part, of one rank's run in this process."""
    given = {"algorithm": job.arm.name, "seed": job.seed, "progress": "none"}
    train(job.arm.env, total_steps=job.steps // 10, out=folder / "warm-up", **given)
    with sampled(parts) as counted:
        columns = train(job.arm.env, total_steps=job.steps, out=folder / "sampled", **given).columns()
    step_us = 1e6 * columns["time_s"][-1] / columns["env_steps"][-1]
    found = {"part": [*parts], "step_us": [step_us * counted[name] / counted.total() for name in parts]}
    if parts == TRPO:
        floor = floors(job, columns["line_search_steps"].mean())
        found["floor_us"] = [floor.get(name, np.nan) for name in parts]
    return {"step_us": step_us}, {"parts": found}


def floors(job: Job, tried: float) -> dict[str, float]:
    """Return the least microseconds of a step for the parts that are networks' work; tried: policies a line search.

    A gradient has two products more than a forward pass, and none in the first layer's inputs; J v has one more.
    """
    s, spec = parse(job.words).choice.flat(), describe(job.arm.env)
    policy, critic = spec.policy((WIDTH, WIDTH)).sizes, MLPCritic(spec.observation_size, (WIDTH, WIDTH)).sizes
    fisher, cg, epochs = s["fisher_fraction"], s["cg_iterations"], s["critic_epochs"]
    passes = {  # sizes, products with weights of the first layer and of the others, tanh per unit, rows at once
        "policy": (policy, 1, 1, 1, s["num_envs"]),
        "advantages": (critic, 1, 1, 1, BLOCK),
        "gradient": (policy, 2, 3, 1, BLOCK),
        "Fisher products": (policy, fisher * (1 + 2 * cg), fisher * (1 + 4 * cg), fisher, BLOCK),
        "line search": (policy, 1 + tried, 1 + tried, 1 + tried, BLOCK),
        "critic": (critic, 2 * epochs, 3 * epochs, epochs, s["critic_minibatch"]),
    }
    found = {}
    for part, (sizes, of_first, of_others, tanhs, rows) in passes.items():
        x, w = np.ones((rows, WIDTH), np.float32), np.ones((WIDTH, WIDTH), np.float32)
        known = {"x": x, "w": w, "np": np}
        with threadpool_limits(1):
            both = [min(repeat(work, globals=known, number=1, repeat=1000)) for work in ("x @ w", "np.tanh(x)")]
        product, tanh = (1e6 * seconds / (rows * count) for seconds, count in zip(both, (w.size, WIDTH), strict=True))
        first, *others = (inputs * outputs for inputs, outputs in sizes)
        found[part] = product * (of_first * first + of_others * sum(others)) + tanh * tanhs * 2 * WIDTH
    return found


def two_ranks(job: Job, folder: Path) -> harness.Points:
    """Return what each of two ranks does in an update, in milliseconds, by the names of the trace."""
    out, _ = harness.train(job._replace(arm=job.arm._replace(words=f"{job.arm.words} --trace")), 2, folder)
    found: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for event in json.loads((out.path / "trace.json").read_text())["traceEvents"]:
        if event.get("ph") == "X":
            found[event["name"]][int(event["tid"])] += event["dur"] / 1e3 / len(out.columns()["iteration"])
    names = sorted(found)
    return {"ranks_ms": {"span": names} | {f"rank_{n}_ms": [found[name][n] for name in names] for n in (0, 1)}}


def report(experiment: Experiment, runs: Runs) -> str:
    """Return the table of all parts, and of what two ranks do."""
    each, arms = [run for [run] in runs.values()], [", ".join(key) for key in runs]
    texts = []
    for number, part in enumerate(each[0]["parts"]["part"]):
        least = [run["parts"]["floor_us"][number] if "floor_us" in run["parts"] else np.nan for run in each]
        took = [f"{run['parts']['step_us'][number]:.1f}" for run in each]
        texts.append((part, *(f"{t}, {x:.1f}" if np.isfinite(x) else t for t, x in zip(took, least, strict=True))))
    texts.append(("everything", *(f"{run['step_us']:.1f}" for run in each)))
    floor = ": taken, floor" if any(", " in cell for cells in texts for cell in cells[1:]) else ""
    text = table((f"microseconds of an environment step{floor}", *arms), texts)
    if not len(each[0].get("ranks_ms", {"span": ()})["span"]):
        return text
    spans = [zip(run["ranks_ms"]["rank_0_ms"], run["ranks_ms"]["rank_1_ms"], strict=True) for run in each]
    found = zip(each[0]["ranks_ms"]["span"], *spans, strict=True)
    texts = [(span, *("{:.1f}, {:.1f}".format(*both) for both in numbers)) for span, *numbers in found]
    return f"{text}\n\n{table(('two ranks, ms an update: rank 0, rank 1', *arms), texts)}"


def experiment_of(name: str, title: str, parts: Parts, arms: tuple[Arm, ...], size: Size) -> Experiment:
    """Return an experiment with these parts."""
    return Experiment(
        name=name,
        title=title,
        arms=arms,
        full=size,
        quick=size._replace(steps={env: steps // 5 for env, steps in size.steps.items()}),
        measure=partial(measure, parts),
        report=report,
        data="parts",
        seconds=True,
    )


MEMBERS = (Arm("a2c", "CartPole-v1", "--algorithm a2c", 1), Arm("dqn", "CartPole-v1", "--algorithm dqn", 1))
MEMBERS += (Arm("batch-ppo", "HalfCheetah-v5", "--algorithm batch-ppo", 1),)
TASKS = {"HalfCheetah-v5": 100_000, "Reacher-v5": 100_000}
SHORT = Size(1, {"CartPole-v1": 30_000, "HalfCheetah-v5": 60_000}, times={"a2c": 2})
TYPED = tuple(Arm("trpo", env, "", 1) for env in TASKS)
EXPERIMENTS = (
    experiment_of("parts", "where the time of TRPO goes", TRPO, TYPED, Size(1, TASKS, first=100)),
    experiment_of("family_parts", "where the time of other members goes", FAMILY, MEMBERS, SHORT),
)
