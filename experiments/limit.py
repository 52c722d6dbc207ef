"""How close collecting comes to the speed of the physics: our rollouts and the same physics stepped open-loop.

One rank plays whole episodes in lockstep, one thread: observations, filter, policy, noise, actions, rewards, ends,
records. The policy has learned from 100,000 steps: episodes are neither as short as at the beginning of a run nor as
long as at its end. What it asks of MuJoCo is written down, and asked again of a bare `mujoco.batch.Batch`: the same
resets, the same actions, the same slots, nothing else. The two take turns, now the one first, now the other; a ratio of
1 would mean that only the physics takes time. `whole` asks the same of a whole training run as typed, on all cores: how
many times as long does it take as its physics alone, with a thread per core?
"""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from experiments.harness import Arm, Experiment, Job, Measured, Runs, Size, train
from experiments.tables import markdown as table
from experiments.tables import ranged
from minitrpo.experience.batched_mujoco import MujocoVectorEnv
from minitrpo.experience.environments import EnvironmentSpec, describe
from minitrpo.experience.mujoco_tasks import TASKS
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.rollouts import Rollouts
from minitrpo.parallel.this_process import cores
from minitrpo.policies import Array

ROUNDS, LEARNED = 3, 100_000  # of one measurement; steps that the policy has learned from
STEPS, WHOLE = 16_000, 1_000_000  # of one round, at least; of a whole run
ALL = slice(None)
Call = tuple[Any, ...]  # (slots, their controls) of a step, (slot, qpos, qvel) of a reset; slots: None for all


class RecordingVectorEnv(MujocoVectorEnv):
    """A vector of environments that writes down what is asked of MuJoCo."""

    def __init__(self, spec: EnvironmentSpec, width: int) -> None:
        super().__init__(spec, width)
        self.calls: list[Call] = []

    def reset(self, slot: int, seed: int) -> Array:
        """Reset a slot, and note the state it starts from."""
        observation = super().reset(slot, seed)
        state = (self._fields[name][slot].copy() for name in ("qpos", "qvel"))
        self.calls.append((np.array([slot], np.int32), *state))
        return observation

    def step(self, slots: Array, actions: Array) -> tuple[Array, Array, Array, Array]:
        """Step slots, and note the controls."""
        result = super().step(slots, actions)
        ids, rows = (None, ALL) if len(slots) == self.num_envs else (slots, slots)
        self.calls.append((ids, self._ctrl[rows].copy()))
        return result


class OpenLoop:
    """A bare batch that is asked the same again."""

    def __init__(self, envs: RecordingVectorEnv, threads: int = 1) -> None:
        self.batch = mujoco.batch.Batch(envs.model, envs.num_envs, nthread=threads)
        self.frame_skip, self.calls = envs.task.frame_skip, envs.calls
        self.fields = [self.batch.bind(name) for name in ("qpos", "qvel", "ctrl")]

    def run(self) -> None:
        """Do all of it."""
        qpos, qvel, ctrl = self.fields
        for slots, *numbers in self.calls:
            if len(numbers) == 2:
                self.batch.reset(slots, stage=mujoco.mjtStage.mjSTAGE_NONE.value)
                qpos[slots[0]], qvel[slots[0]] = numbers
                self.batch.forward(slots)
            else:
                ctrl[ALL if slots is None else slots] = numbers[0]
                self.batch.step(slots, nstep=self.frame_skip)


Case = tuple[Callable[[], Any], Callable[[], Any], int]  # what plays, the same of its physics, the steps of both


def case(env: str, folder: Path, slots: int, steps: int, threads: int = 1) -> Case:
    """Return the episodes that a run as typed plays once it has learned. steps: in all of them, at least."""
    checkpoint = train(Job(Arm("", env), 0, LEARNED), cores(), folder / "learned")[0].load_checkpoint()
    theta, frozen = checkpoint["theta"], ObservationFilter.from_vector(checkpoint["run_filter"])
    spec = describe(env)
    policy, recording = spec.policy((64, 64)), RecordingVectorEnv(spec, slots)

    def play(rollouts: Rollouts, episodes: int) -> int:
        numbers = iter(range(episodes))
        played = rollouts.play(theta, frozen, 1, lambda: next(numbers, None), slots)
        return sum(fragment.steps for fragment in played)

    noting = Rollouts(spec, policy, recording, run_seed=0)
    episodes, played = slots * (max(1, steps // (slots * 1000)) - 1), 0
    while played < steps:
        episodes += slots  # as many are begun as there are slots
        recording.calls.clear()
        played = play(noting, episodes)
    ours = Rollouts(spec, policy, MujocoVectorEnv(spec, slots), run_seed=0)
    return partial(play, ours, episodes), OpenLoop(recording, threads).run, played


def seconds_of(work: Callable[[], object], times: int = 1) -> float:
    """Return the seconds of some work that is done `times` times."""
    begin = time.perf_counter()
    for _ in range(times):
        work()
    return time.perf_counter() - begin


def told(first: str, second: str, pairs: list[tuple[float, float]]) -> Measured:
    """Return the row of a run: the medians of its rounds, and the lowest and highest ratio of second to first."""
    middle, ratios = np.median(pairs, axis=0), [ours / bare for bare, ours in pairs]
    row = {first: middle[0], second: middle[1], "ratio": np.median(ratios)}
    return row | {"lowest": min(ratios), "highest": max(ratios)}, {}


def measure(job: Job, ranks: int, folder: Path) -> Measured:
    """Return the rates of collecting and of its physics, by turns."""
    ours, physics, steps = case(job.arm.env, folder, int(job.arm.words.split()[-1]), job.steps)
    pairs = []
    for number in range(ROUNDS):
        turn = (ours, physics) if number % 2 else (physics, ours)
        found = {work: steps / seconds_of(work) for work in turn}
        pairs.append((found[physics], found[ours]))
    return told("limit", "ours", pairs)


def measure_whole(job: Job, ranks: int, folder: Path) -> Measured:
    """Return the seconds of a run as typed, a rank per core, and of its physics on all cores, by turns.

    A machine that slows down while it is busy for long slows down both.
    """
    _, physics, steps = case(job.arm.env, folder, 32, LEARNED, threads=cores())
    times, pairs = -(-job.steps // steps), []
    for number in range(ROUNDS):
        bare = seconds_of(physics, times) * job.steps / (times * steps)
        columns = train(job, cores(), folder / f"round-{number}")[0].columns()
        pairs.append((bare, columns["time_s"][-1] / columns["env_steps"][-1] * job.steps))
    return told("physics_s", "run_s", pairs)


def report(experiment: Experiment, runs: Runs) -> str:
    """Return the table of collecting and open-loop physics."""
    rows = [
        (env, name.split()[0], f"{run['limit']:,.0f}", f"{run['ours']:,.0f}", ranged(run, ".2f"))
        for (name, env), [run] in runs.items()
    ]
    return table(("environment", "slots", "open-loop, steps/s", "ours, steps/s", f"ratio, of {ROUNDS} rounds"), rows)


def report_whole(experiment: Experiment, runs: Runs) -> str:
    """Return the table of a whole run and its physics."""
    rows = [
        (env, f"{WHOLE:,}", f"{run['physics_s']:.1f}", f"{run['run_s']:.1f}", ranged(run, ".2f"))
        for (_, env), [run] in runs.items()
    ]
    header = ("environment", "steps", "physics alone, s", "whole run, s", f"times as long, of {ROUNDS} rounds")
    return table(header, rows)


NAMES = ("16 slots", "32 slots")
EXPERIMENT = Experiment(
    name="limit",
    title="collecting and bare physics",
    arms=tuple(Arm(name, env, f"--num-envs {name.split()[0]}", 1) for env in TASKS for name in NAMES),
    full=Size(1, dict.fromkeys(TASKS, STEPS)),
    quick=Size(1, {"Reacher-v5": STEPS}),
    measure=measure,
    report=report,
    seconds=True,
)
OF_A_RUN = Experiment(
    name="whole",
    title="a whole run as typed, and its physics alone",
    arms=(Arm("as typed", "HalfCheetah-v5", "", 2),),
    full=Size(1, {"HalfCheetah-v5": WHOLE}),
    quick=Size(1, {"HalfCheetah-v5": LEARNED}),
    measure=measure_whole,
    report=report_whole,
    data="limit",
    seconds=True,
)
