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
from pathlib import Path
from typing import Any, NamedTuple

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
from minitrpo.parallel.launcher import cores
from minitrpo.policies import Array

ROUNDS, LEARNED = 3, 100_000  # of one measurement; steps that the policy has learned from
STEPS, WHOLE = 16_000, 1_000_000  # of one round, at least; of a whole run
ALL = slice(None)


class Reset(NamedTuple):
    """MuJoCo is to start a slot from this state."""

    slot: Array  # (1,)
    qpos: Array
    qvel: Array


class Step(NamedTuple):
    """MuJoCo is to step these slots with these controls."""

    slots: Array  # (k,)
    all_slots: bool
    ctrl: Array  # (k, controls)


class RecordingVectorEnv(MujocoVectorEnv):
    """A vector of environments that writes down what is asked of MuJoCo."""

    def __init__(self, spec: EnvironmentSpec, width: int) -> None:
        super().__init__(spec, width)
        self.calls: list[Reset | Step] = []

    def reset(self, slot: int, seed: int) -> Array:
        """Reset a slot, and note the state it starts from."""
        observation = super().reset(slot, seed)
        qpos, qvel = (self._fields[name][slot].copy() for name in ("qpos", "qvel"))
        self.calls.append(Reset(np.array([slot], np.int32), qpos, qvel))
        return observation

    def step(self, slots: Array, actions: Array) -> tuple[Array, Array, Array, Array]:
        """Step slots, and note the controls."""
        result = super().step(slots, actions)
        all_slots = len(slots) == self.num_envs
        self.calls.append(Step(slots, all_slots, self._ctrl[ALL if all_slots else slots].copy()))
        return result


class OpenLoop:
    """A bare batch that is asked the same again."""

    def __init__(self, model: Any, width: int, frame_skip: int, calls: list[Reset | Step], threads: int = 1) -> None:
        self.batch = mujoco.batch.Batch(model, width, nthread=threads)
        self.frame_skip, self.calls = frame_skip, calls
        self.fields = [self.batch.bind(name) for name in ("qpos", "qvel", "ctrl")]

    def run(self) -> None:
        """Do all of it."""
        qpos, qvel, ctrl = self.fields
        for call in self.calls:
            if isinstance(call, Reset):
                self.batch.reset(call.slot, stage=mujoco.mjtStage.mjSTAGE_NONE.value)
                qpos[call.slot[0]], qvel[call.slot[0]] = call.qpos, call.qvel
                self.batch.forward(call.slot)
            else:
                ctrl[ALL if call.all_slots else call.slots] = call.ctrl
                self.batch.step(None if call.all_slots else call.slots, nstep=self.frame_skip)


class Case:
    """The episodes that a policy plays, and their physics. steps: the smallest number in all episodes."""

    def __init__(self, env: str, learned: dict[str, Array], slots: int, steps: int, threads: int = 1) -> None:
        spec = describe(env)
        self.policy, self.slots = spec.policy((64, 64)), slots
        self.theta, self.filter = learned["theta"], ObservationFilter.from_vector(learned["run_filter"])
        recording = RecordingVectorEnv(spec, slots)
        rollouts = Rollouts(spec, self.policy, recording, run_seed=0)
        self.episodes, self.steps = slots * (max(1, steps // (slots * 1000)) - 1), 0
        while self.steps < steps:
            self.episodes += slots  # as many are begun as there are slots
            recording.calls.clear()
            self.steps = self.play(rollouts)
        self.physics = OpenLoop(recording.model, slots, recording.task.frame_skip, recording.calls, threads).run
        ours = Rollouts(spec, self.policy, MujocoVectorEnv(spec, slots), run_seed=0)
        self.ours = lambda: self.play(ours)

    def play(self, rollouts: Rollouts) -> int:
        """Play all episodes, and return their steps."""
        numbers = iter(range(self.episodes))
        played = rollouts.play(self.theta, self.filter, 1, lambda: next(numbers, None), self.slots)
        return sum(fragment.steps for fragment in played)


def learned(env: str, folder: Path) -> dict[str, Array]:
    """Return what a run as typed has learned."""
    return train(Job(Arm("", env), 0, LEARNED), cores(), folder / "learned")[0].load_checkpoint()


def seconds_of(work: Callable[[], object], times: int = 1) -> float:
    """Return the seconds of some work that is done `times` times."""
    begin = time.perf_counter()
    for _ in range(times):
        work()
    return time.perf_counter() - begin


def told(first: str, second: str, pairs: list[tuple[float, float]], ratios: Array) -> dict[str, float]:
    """Return the row of a run: the medians of its rounds, and the lowest and highest ratio."""
    middle = np.median(pairs, axis=0)
    row = {first: middle[0], second: middle[1], "ratio": np.median(ratios)}
    return row | {"lowest": ratios.min(), "highest": ratios.max()}


def measure(job: Job, ranks: int, folder: Path) -> Measured:
    """Return the rates of collecting and of its physics, by turns."""
    case = Case(job.arm.env, learned(job.arm.env, folder), int(job.arm.words.split()[-1]), job.steps)
    pairs = []
    for number in range(ROUNDS):
        turn = (case.ours, case.physics) if number % 2 else (case.physics, case.ours)
        found = {work: case.steps / seconds_of(work) for work in turn}
        pairs.append((found[case.physics], found[case.ours]))
    bare, ours = np.transpose(pairs)
    return told("limit", "ours", pairs, ours / bare), {}


def measure_whole(job: Job, ranks: int, folder: Path) -> Measured:
    """Return the seconds of a run as typed, a rank per core, and of its physics on all cores, by turns.

    A machine that slows down while it is busy for long slows down both.
    """
    case = Case(job.arm.env, learned(job.arm.env, folder), 32, LEARNED, threads=cores())
    times, pairs = -(-job.steps // case.steps), []
    for number in range(ROUNDS):
        physics = seconds_of(case.physics, times) * job.steps / (times * case.steps)
        columns = train(job, cores(), folder / f"round-{number}")[0].columns()
        pairs.append((physics, columns["time_s"][-1] / columns["env_steps"][-1] * job.steps))
    bare, ours = np.transpose(pairs)
    return told("physics_s", "run_s", pairs, ours / bare), {}


def report(experiment: Experiment, runs: Runs) -> str:
    """Return the table of collecting and open-loop physics."""
    rows = []
    for (name, env), [run] in runs.items():
        rates = (f"{run[rate]:,.0f}" for rate in ("limit", "ours"))
        rows.append((env, name.split()[0], *rates, ranged(run, ".2f")))
    return table(("environment", "slots", "open-loop, steps/s", "ours, steps/s", f"ratio, of {ROUNDS} rounds"), rows)


def report_whole(experiment: Experiment, runs: Runs) -> str:
    """Return the table of a whole run and its physics."""
    rows = []
    for (_, env), [run] in runs.items():
        seconds = (f"{run[column]:.1f}" for column in ("physics_s", "run_s"))
        rows.append((env, f"{WHOLE:,}", *seconds, ranged(run, ".2f")))
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
