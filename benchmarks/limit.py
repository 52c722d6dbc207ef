"""How close collecting comes to the speed of the physics: our rollouts beside the same physics stepped open-loop.

    python -m benchmarks.limit

One rank plays whole episodes in lockstep, one thread, in 16 environment slots (as train.py does) and in 32:
observations, filter, policy, noise, actions, rewards, ends, records. The policy has learned from 100,000 steps:
episodes are neither as short as at the beginning of a run nor as long as at its end. What it asks of MuJoCo is written
down, and asked again of a bare `mujoco.batch.Batch`: the same resets, the same actions, the same slots, nothing else.
The two take turns, now the one first, now the other; a ratio of 1 would mean that only the physics takes time.

Then, for `--whole`, the same question of a whole training run as typed, on all cores: how many times as long does it
take as its physics alone, with a thread per core?
"""

import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import mujoco
import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import whole
from benchmarks.options import make_parser, names, positive_numbers
from benchmarks.record import RESULTS, origin, write_json
from benchmarks.summaries import interval, median
from minitrpo.course.speedup.experiment import by_turns
from minitrpo.experience.batched_mujoco import MujocoVectorEnv
from minitrpo.experience.environments import EnvironmentSpec, describe
from minitrpo.experience.mujoco_tasks import TASKS
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.rollouts import Rollouts
from minitrpo.parallel.launcher import cores
from minitrpo.policies import Array, Policy
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision.jobs import flags, mpiexec

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
    """One environment and number of slots: a policy, the episodes to play, and the physics that they take.

    envs: environment slots. steps: how many the episodes take together, at least.
    """

    def __init__(self, env_id: str, learned: dict[str, Array], envs: int, steps: int, threads: int = 1) -> None:
        self.spec, self.envs = describe(env_id), envs
        self.theta, self.filter = learned["theta"], ObservationFilter.from_vector(learned["run_filter"])
        policy = self.spec.policy((64, 64))
        recording = self._record(policy, steps)
        self.open_loop = OpenLoop(recording.model, envs, recording.task.frame_skip, recording.calls, threads)
        self.rollouts = Rollouts(self.spec, policy, MujocoVectorEnv(self.spec, envs), run_seed=0)

    def measure(self, bare_first: bool) -> tuple[float, float]:
        """Return steps per second, open-loop and ours."""
        if bare_first:
            return self._rate(self.open_loop.run), self._rate(lambda: self._play(self.rollouts))
        ours = self._rate(lambda: self._play(self.rollouts))
        return self._rate(self.open_loop.run), ours

    def _record(self, policy: Policy, steps: int) -> RecordingVectorEnv:
        """Return what is asked of MuJoCo for enough episodes, of which as many are begun as there are slots."""
        recording = RecordingVectorEnv(self.spec, self.envs)
        rollouts = Rollouts(self.spec, policy, recording, run_seed=0)
        self.episodes = self.envs * max(1, steps // (self.envs * 1000))
        self.steps = self._play(rollouts)
        while self.steps < steps:
            self.episodes += self.envs
            recording.calls.clear()
            self.steps = self._play(rollouts)
        return recording

    def _play(self, rollouts: Rollouts) -> int:
        numbers = iter(range(self.episodes))
        played = rollouts.play(self.theta, self.filter, 1, lambda: next(numbers, None), self.envs)
        return sum(fragment.steps for fragment in played)

    def _rate(self, work: Callable[[], object]) -> float:
        start = time.perf_counter()
        work()
        return self.steps / (time.perf_counter() - start)


def checkpoint(env_id: str, steps: int) -> dict[str, Array]:
    """Return what a run has learned from this many steps."""
    with TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        words = flags({"env": env_id, "total_steps": steps, "progress": "none", "out": run})
        mpiexec(cores(), "train", *words, timeout=600)
        return RunFolder(run).load_checkpoint()


def make_cases(env_ids: list[str], widths: list[int], steps: int, learned_steps: int) -> list[Case]:
    """Return a case for every environment and number of slots; one policy for all of an environment's."""
    cases = []
    for env_id in env_ids:
        learned = checkpoint(env_id, learned_steps)
        cases += [Case(env_id, learned, envs, steps) for envs in widths]
    return cases


def whole_run(env_id: str, steps: int, learned_steps: int, rounds: int) -> dict[str, Any]:
    """Return how long a whole run as typed takes, and its physics alone on all cores, by turns."""
    case = Case(env_id, checkpoint(env_id, learned_steps), 32, 100_000, threads=cores())
    pairs = []
    for _ in range(rounds):
        physics = whole.physics_seconds(case.open_loop, case.steps, steps)
        pairs.append((physics, whole.run_seconds(env_id, steps)))
        print(f"{steps:,} steps of {env_id}: physics {pairs[-1][0]:.1f} s, whole run {pairs[-1][1]:.1f} s", flush=True)
    return whole.summary(env_id, steps, pairs)


def summary(case: Case, rates: list[tuple[float, float]]) -> dict[str, Any]:
    """Return what is to be reported of one case; rates: steps per second of every round, open-loop and ours."""
    limits, ours = np.array(rates).T
    ratios = ours / limits
    return {
        "environment": case.spec.id,
        "envs": case.envs,
        "limit": median(limits),
        "ours": median(ours),
        "ratio": median(ratios),
        "interval": interval(ratios),
    }


def main() -> None:
    """Measure and write results/limit.json."""
    parser = make_parser(__doc__)
    parser.add_argument(
        "--env", type=names, default=",".join(TASKS), help="ids with commas, empty for none (default: all of MuJoCo's)"
    )
    parser.add_argument("--envs", type=positive_numbers, default="16,32", help="numbers of environment slots")
    parser.add_argument("--steps", type=int, default=16_000, help="in one measurement, at least")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--whole", default="HalfCheetah-v5", help="environment of the whole run; empty for none")
    parser.add_argument("--whole-steps", type=int, default=1_000_000)
    parser.add_argument("--learned", type=int, default=100_000, help="steps that the policy has learned from")
    args = parser.parse_args()
    rates = defaultdict(list)
    with threadpool_limits(1):
        cases = make_cases([env for env in args.env if env], args.envs, args.steps, args.learned)
        for number, case in by_turns(args.rounds, cases):
            rates[case].append(case.measure(bare_first=number % 2 == 1))
    lines = [summary(case, rates[case]) for case in cases]
    for line in lines:
        print("{environment:28} {envs:3} slots {limit:9.0f} {ours:9.0f}  {ratio:.3f}".format(**line))
    settings = {key: value for key, value in vars(args).items() if key != "env"}
    if lines:
        write_json(RESULTS / "limit.json", {"provenance": origin(), "settings": settings, "lines": lines})
    if args.whole:
        run = whole_run(args.whole, args.whole_steps, args.learned, min(args.rounds, 3))
        write_json(RESULTS / "whole.json", {"provenance": origin(), "settings": settings, "lines": [run]})


if __name__ == "__main__":
    main()
