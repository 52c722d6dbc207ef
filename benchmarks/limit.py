"""How close collecting comes to the speed of the physics: our rollouts beside the same physics stepped open-loop.

    python -m benchmarks.limit

One rank plays whole episodes in lockstep, one thread, 16 slots (what train.py takes) and 32: observations, filter,
policy, noise, actions, rewards, ends, records. The policy has learned from 100,000 steps: episodes are neither as short
as at the beginning of a run nor as long as at its end. What it asks of MuJoCo is written down, and asked again of a
bare `mujoco.batch.Batch`: the same resets, the same actions, the same slots, nothing else. The two take turns, now the
one first, now the other; a ratio of 1 would be free of charge.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mujoco
import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.record import RESULTS, interval, median, provenance, write_json
from minitrpo.classroom import launch
from minitrpo.experience.mujoco.vector_env import MujocoVectorEnv
from minitrpo.experience.environments import EnvironmentSpec, describe
from minitrpo.experience.filters import ObservationFilter
from minitrpo.experience.mujoco.tasks import TASKS
from minitrpo.experience.rollouts import Rollouts
from minitrpo.parallel.speedup import cores
from minitrpo.policies import Array
from minitrpo.runs.folder import RunFolder


def positive_numbers(text: str) -> list[int]:
    """Return the positive integers that stand in a text with commas."""
    if not all(word.isdecimal() and int(word) > 0 for word in text.split(",")):
        raise argparse.ArgumentTypeError(f"{text!r}: write positive integers with commas, such as 16,32")
    return [int(word) for word in text.split(",")]


class Scribe(MujocoVectorEnv):
    """VectorEnv that write down what is asked of MuJoCo."""

    def __init__(self, spec: EnvironmentSpec, width: int) -> None:
        super().__init__(spec, width)
        self.asked: list[tuple[Array | None, Array, Array]] = []

    def reset(self, slot: int, seed: int) -> Array:
        """Reset a slot, and note the state it starts from."""
        observation = super().reset(slot, seed)
        state = [self._fields[name][slot].copy() for name in ("qpos", "qvel")]
        self.asked.append((None, np.array([slot], np.int32), np.concatenate(state)))
        return observation

    def step(self, slots: Array, actions: Array) -> tuple[Array, Array, Array, Array]:
        """Step slots, and note the controls."""
        result = super().step(slots, actions)
        rows = slice(None) if len(slots) == self.width else slots
        self.asked.append((None if len(slots) == self.width else slots, slots, self._ctrl[rows].copy()))
        return result


class OpenLoop:
    """A bare batch that is asked the same again."""

    def __init__(self, model: Any, width: int, frame_skip: int, asked: list[tuple[Array | None, Array, Array]]) -> None:
        self.batch = mujoco.batch.Batch(model, width, nthread=1)
        self.width, self.nq, self.frame_skip, self.asked = width, model.nq, frame_skip, asked
        self.fields = [self.batch.bind(name) for name in ("qpos", "qvel", "ctrl")]

    def run(self) -> None:
        """Do all of it."""
        qpos, qvel, ctrl = self.fields
        for ids, slots, numbers in self.asked:
            if numbers.ndim == 1:
                self.batch.reset(slots, stage=mujoco.mjtStage.mjSTAGE_NONE.value)
                qpos[slots[0]], qvel[slots[0]] = numbers[: self.nq], numbers[self.nq :]
                self.batch.forward(slots)
            else:
                ctrl[slice(None) if ids is None else ids] = numbers
                self.batch.step(ids, nstep=self.frame_skip)


def checkpoint(env_id: str, steps: int) -> dict[str, Array]:
    """Return what a run has learned from this many steps."""
    with TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        job = ("--env", env_id, "--preset", "tuned", "--total-steps", steps, "--progress", "none", "--out", run)
        launch(cores(), "train.py", *job, timeout=600)
        return RunFolder(run).load_checkpoint()


class Case:
    """One environment: a policy, the numbers of the episodes to play, and the physics that they took."""

    def __init__(self, env_id: str, learned: dict[str, Array], width: int, steps: int) -> None:
        self.spec, self.width = describe(env_id), width
        self.theta, self.filter = learned["theta"], ObservationFilter.from_vector(learned["filter"])
        policy, scribe, self.episodes = self.spec.policy((64, 64)), Scribe(self.spec, width), 0
        rollouts = Rollouts(self.spec, policy, scribe, run_seed=0)
        while self.episodes == 0 or self.steps < steps:
            self.episodes += width * (1 if self.episodes else max(1, steps // (width * 1000)))
            scribe.asked.clear()
            self.steps = self._play(rollouts)
        self.open_loop = OpenLoop(scribe.model, width, scribe.task.frame_skip, scribe.asked)
        self.rollouts = Rollouts(self.spec, policy, MujocoVectorEnv(self.spec, width), run_seed=0)

    def _play(self, rollouts: Rollouts) -> int:
        numbers = iter(range(self.episodes))
        return rollouts.play(self.theta, self.filter, 1, lambda: next(numbers, None), self.width).steps

    def measure(self, bare_first: bool) -> tuple[float, float]:
        """Return steps per second, open-loop and ours."""
        if bare_first:
            return self._rate(self.open_loop.run), self._rate(lambda: self._play(self.rollouts))
        ours = self._rate(lambda: self._play(self.rollouts))
        return self._rate(self.open_loop.run), ours

    def _rate(self, work: Callable[[], object]) -> float:
        start = time.perf_counter()
        work()
        return self.steps / (time.perf_counter() - start)


def main() -> None:
    """Measure and write results/limit.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default=",".join(TASKS), help="ids with commas (default: all batched tasks)")
    parser.add_argument("--num-envs", type=positive_numbers, default="16,32", help="numbers of slots with commas")
    parser.add_argument("--steps", type=int, default=16_000, help="in one measurement, at least")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--learned", type=int, default=100_000, help="steps that the policy has learned from")
    arguments = parser.parse_args()
    lines: list[dict[str, Any]] = []
    with threadpool_limits(1):
        cases = []
        for env_id in arguments.env.split(","):
            learned = checkpoint(env_id, arguments.learned)
            cases += [Case(env_id, learned, width, arguments.steps) for width in arguments.slots]
        rounds = [[case.measure(number % 2 == 0) for case in cases] for number in range(arguments.rounds)]
    for i, case in enumerate(cases):
        limits, ours = np.array([measured[i] for measured in rounds]).T
        ratios = ours / limits
        line = {
            "environment": case.spec.id,
            "slots": case.width,
            "limit": median(limits),
            "ours": median(ours),
            "ratio": median(ratios),
            "interval": interval(ratios),
        }
        lines.append(line)
        print("{environment:28} {slots:3} slots {limit:9.0f} {ours:9.0f}  {ratio:.3f}".format(**line))
    settings = {key: value for key, value in vars(arguments).items() if key != "env"}
    write_json(RESULTS / "limit.json", {"provenance": provenance(), "settings": settings, "lines": lines})


if __name__ == "__main__":
    main()
