"""Record what lecture 12 shows of the number of simulators: python notebooks/recorded/12_simulators.py.

Batch PPO with 2,048 steps per update of all simulators together, five seeds each, one rank a run, two runs at a time,
stopped after a fixed number of environment steps of the usual schedule; 48 fresh episodes then say what was learned:

- `final`: as the package does it, with 1 to 256 simulators;
- `next`: after a cut, V of the first observation of an episode (twelve.py);
- `out of step`: Pendulums whose very first episode is cut at random (twelve.py).

Writes 12_simulators.csv (a row per run) and in origins.json (what made it). Takes about 4 minutes of two cores.
"""

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from keep import keep, processor_seconds

from minitrpo.experience.environments import describe
from minitrpo.experience.observation_filter import ObservationFilter
from minitrpo.experience.rollouts import Rollouts, concatenate, make_vector_env
from minitrpo.run_folder.folder import RunFolder
from minitrpo.run_folder.provenance import provenance
from minitrpo.training.workers import OWN

HERE = Path(__file__).parent
TRAIN = HERE.parent.parent / "mpi_scripts" / "train.py"
SEEDS = (0, 1, 2, 3, 4)
EPISODES = 48  # of the policy that was learned


class Group(NamedTuple):
    """Runs that differ in the number of simulators and the seed."""

    what: str
    env: str
    steps: int  # environment steps
    schedule: int  # over which step size and clip would fall to 0
    simulators: tuple[int, ...]
    words: tuple[str, ...] = ()


GROUPS = (
    Group("final", "CartPole-v1", 12_288, 150_000, (1, 4, 16, 64, 256)),
    Group("final", "Pendulum-v1", 61_440, 500_000, (1, 4, 16, 64, 256)),
    Group("next", "Pendulum-v1", 61_440, 500_000, (1, 16), ("--algorithm", "twelve:NextReading")),
    Group("out of step", "Pendulum-v1", 61_440, 500_000, (64, 256), ("--env", "twelve:OutOfStep-v0")),
)
COLUMNS = ("what", "env", "simulators", "seed", "env_steps", "updates", "average_return", "score")


def train(group: Group, simulators: int, seed: int) -> dict[str, Any]:
    """Train one policy in a process of its own; return a row, and the words of its command line."""
    words = ["--algorithm", "batch-ppo", "--env", group.env, "--total-steps", str(group.steps)]
    words += ["--anneal-steps", str(group.schedule), "--num-envs", str(simulators), "--seed", str(seed), *group.words]
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as scratch:
        where = ["--learner", "root", "--out", f"{scratch}/run", "--progress", "none"]
        command = [sys.executable, str(TRAIN), *words, *where]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        folder = RunFolder(Path(scratch) / "run")
        last, score = folder.rows()[-1], evaluated(group.env, folder.load_checkpoint())
    average = round(float(last["average_return"]), 2)
    row = (group.what, group.env, simulators, seed, last["env_steps"], last["iteration"], average, round(score, 2))
    print(*row, flush=True)
    return dict(zip(COLUMNS, row, strict=True)) | {"words": " ".join(words)}


def evaluated(env: str, arrays: dict[str, Any]) -> float:
    """Return the mean return of fresh episodes."""
    spec = describe(env)
    rollouts = Rollouts(spec, spec.policy((64, 64)), make_vector_env(spec, 16), 12_345)
    requests = iter(range(EPISODES))
    frozen = ObservationFilter.from_vector(arrays[OWN + "filter"])
    episodes = rollouts.play(arrays["theta"], frozen, 1, lambda: next(requests, None), concurrency=16)
    return float(np.mean(concatenate(episodes).returns))


def main() -> None:
    """Run all, two at a time, then write both files."""
    jobs = [(group, simulators, seed) for seed in SEEDS for group in GROUPS for simulators in group.simulators]
    with ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(lambda job: train(*job), jobs))
    commands = [f"python mpi_scripts/train.py {row.pop('words')}" for row in rows]
    about = {**provenance(1), "runs": commands, "seeds": SEEDS, "cpu_seconds": processor_seconds()}
    keep("12_simulators", rows, about)


if __name__ == "__main__":
    main()
