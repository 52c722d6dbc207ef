"""How close collecting comes to the speed of the physics: our rollouts beside the same physics stepped open-loop.

    python -m benchmarks.limit

One rank plays whole episodes in lockstep, 16 lanes, one thread: observations, filter, policy, noise, actions, rewards,
ends, records. The policy has learned from 100,000 steps: episodes are neither as short as at the beginning of a run nor
as long as at its end. What it asks of MuJoCo is written down, and asked again of a bare `mujoco.batch.Batch`: the same
resets, the same actions, the same lanes, nothing else. The two take turns; a ratio of 1 would be free of charge.
"""

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mujoco
import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.record import RESULTS, interval, median, provenance, write_json
from minitrpo.classroom import launch
from minitrpo.experience.batched import BatchedSimulators
from minitrpo.experience.environments import EnvironmentSpec, describe
from minitrpo.experience.filters import ObservationFilter
from minitrpo.experience.mujoco_tasks import TASKS
from minitrpo.experience.rollouts import Rollouts
from minitrpo.parallel.speedup import cores
from minitrpo.policies import Array
from minitrpo.runs.folder import RunFolder

COLUMNS = ("environment", "limit, steps/s", "ours, steps/s", "ratio", "95 % interval")


class Scribe(BatchedSimulators):
    """Simulators that write down what is asked of MuJoCo."""

    def __init__(self, spec: EnvironmentSpec, width: int) -> None:
        super().__init__(spec, width)
        self.asked: list[tuple[Array | None, Array, Array]] = []

    def reset(self, lane: int, seed: int) -> Array:
        """Reset a lane, and note the state it starts from."""
        observation = super().reset(lane, seed)
        state = [self._fields[name][lane].copy() for name in ("qpos", "qvel")]
        self.asked.append((None, np.array([lane], np.int32), np.concatenate(state)))
        return observation

    def step(self, lanes: Array, actions: Array) -> tuple[Array, Array, Array, Array]:
        """Step lanes, and note the controls."""
        result = super().step(lanes, actions)
        rows = slice(None) if len(lanes) == self.width else lanes
        self.asked.append((None if len(lanes) == self.width else lanes, lanes, self._ctrl[rows].copy()))
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
        for ids, lanes, numbers in self.asked:
            if numbers.ndim == 1:
                self.batch.reset(lanes, stage=mujoco.mjtStage.mjSTAGE_NONE.value)
                qpos[lanes[0]], qvel[lanes[0]] = numbers[: self.nq], numbers[self.nq :]
                self.batch.forward(lanes)
            else:
                ctrl[slice(None) if ids is None else ids] = numbers
                self.batch.step(ids, nstep=self.frame_skip)


class Case:
    """One environment: a policy, the numbers of the episodes to play, and the physics that they took."""

    def __init__(self, env_id: str, width: int, steps: int, learned: int) -> None:
        self.spec, self.width = describe(env_id), width
        self.policy = self.spec.policy((64, 64))
        with TemporaryDirectory() as folder:
            run = Path(folder) / "run"
            job = ("--env", env_id, "--preset", "tuned", "--total-steps", learned, "--progress", "none", "--out", run)
            launch(cores(), "train.py", *job, timeout=600)
            arrays = RunFolder(run).load_checkpoint()
        self.theta, self.filter = arrays["theta"], ObservationFilter.from_vector(arrays["filter"])
        scribe, self.episodes = Scribe(self.spec, width), 0
        rollouts = Rollouts(self.spec, self.policy, scribe, run_seed=0)
        while self.episodes == 0 or self.steps < steps:
            self.episodes += width * (1 if self.episodes else max(1, steps // (width * 1000)))
            scribe.asked.clear()
            self.steps = self._play(rollouts)
        self.open_loop = OpenLoop(scribe.model, width, scribe.task.frame_skip, scribe.asked)
        self.rollouts = Rollouts(self.spec, self.policy, BatchedSimulators(self.spec, width), run_seed=0)

    def _play(self, rollouts: Rollouts) -> int:
        numbers = iter(range(self.episodes))
        return rollouts.play(self.theta, self.filter, 1, lambda: next(numbers, None), self.width).steps

    def measure(self) -> tuple[float, float]:
        """Return steps per second, open-loop and ours."""
        start = time.perf_counter()
        self.open_loop.run()
        middle = time.perf_counter()
        self._play(self.rollouts)
        return self.steps / (middle - start), self.steps / (time.perf_counter() - middle)


def main() -> None:
    """Measure and write results/limit.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default=",".join(TASKS), help="ids with commas (default: all batched tasks)")
    parser.add_argument("--lanes", type=int, default=16)
    parser.add_argument("--steps", type=int, default=16_000, help="in one measurement, at least")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--learned", type=int, default=100_000, help="steps that the policy has learned from")
    arguments = parser.parse_args()
    lines = []
    with threadpool_limits(1):
        cases = [
            Case(env_id, arguments.lanes, arguments.steps, arguments.learned) for env_id in arguments.env.split(",")
        ]
        rounds = [[case.measure() for case in cases] for _ in range(arguments.rounds)]
    for i, case in enumerate(cases):
        limits, ours = np.array([measured[i] for measured in rounds]).T
        ratios = ours / limits
        lines.append(
            {
                "environment": case.spec.id,
                "limit": median(limits),
                "ours": median(ours),
                "ratio": median(ratios),
                "interval": interval(ratios),
            }
        )
        print(f"{case.spec.id:28} {lines[-1]['limit']:9.0f} {lines[-1]['ours']:9.0f}  {lines[-1]['ratio']:.3f}")
    settings = {key: value for key, value in vars(arguments).items() if key != "env"}
    write_json(RESULTS / "limit.json", {"provenance": provenance(), "settings": settings, "lines": lines})


if __name__ == "__main__":
    main()
