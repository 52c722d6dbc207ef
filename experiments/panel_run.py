"""One run on a task of the panel, in a process of its own: `panel` starts it, and reads the episodes that it writes.

The file is a JSON list of [environment steps at the end, return, episodes], in the environment's own rewards. A row of
ours is an update: its episodes with their mean return.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gymnasium

from experiments.panel_environments import TASKS, Task

Rows = list[tuple[int, float, int]]
RANDOM, TRPO, PPO = "random", "sb3-contrib TRPO", "stable-baselines3 PPO"
PEERS = (TRPO, PPO)
EPISODES, FEWEST, ENOUGH = 100, 10, 20_000  # of the random policy; fewer episodes after ENOUGH steps
ARMS: dict[str, dict[str, Any]] = {  # of ours: the command as typed, and what is added to it
    "typed": {},
    "nofilter": {"filter": "none"},
    "logstd-1": {"initial_log_std": -1},
    "logstd-1,nofilter": {"initial_log_std": -1, "filter": "none"},
}


def at_random(task: Task, seed: int) -> Rows:
    """Return episodes of actions drawn uniformly from their space."""
    env, steps = gymnasium.make(task.env, disable_env_checker=True), 0
    rows: Rows = []
    env.action_space.seed(seed)
    while len(rows) < EPISODES and (len(rows) < FEWEST or steps < ENOUGH):
        env.reset(seed=seed if not rows else None)
        total, over = 0.0, False
        while not over:
            _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            total, over, steps = total + float(reward), terminated or truncated, steps + 1
        rows.append((steps, total, 1))
    return rows


def of_peer(system: str, task: Task, seed: int) -> Rows:
    """Return the training episodes of a library with its own defaults, as its documentation types it."""
    import torch
    from sb3_contrib import TRPO as SB3TRPO
    from stable_baselines3 import PPO as SB3PPO
    from stable_baselines3.common.callbacks import BaseCallback

    class Episodes(BaseCallback):
        rows: Rows = []  # noqa: RUF012

        def _on_step(self) -> bool:
            ended = [info["episode"]["r"] for info in self.locals["infos"] if "episode" in info]
            self.rows.extend((self.num_timesteps, float(each), 1) for each in ended)
            return True

    torch.set_num_threads(1)
    model: Any = {TRPO: SB3TRPO, PPO: SB3PPO}[system]("MlpPolicy", task.env, seed=seed, device="cpu")
    model.learn(task.steps, callback=(episodes := Episodes()))
    return episodes.rows


def of_ours(words: dict[str, Any], task: Task, seed: int) -> Rows:
    """Return the training episodes of ours, on one rank: the bits are those of any number of ranks."""
    from minitrpo.run_folder.folder import RunFolder
    from minitrpo.supervision.jobs import flags

    with TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        given = {"env": task.env, "total_steps": task.steps, "seed": seed, **words}
        unseen = {"progress": "none", "stuck_after": 3600, "out": out}  # what does not touch the result
        subprocess.run([sys.executable, "-m", "minitrpo", "train", *flags({**given, **unseen})], check=True)
        columns = RunFolder(out).columns()
    rows = zip(columns["env_steps"], columns["mean_return"], columns["episodes"], strict=True)
    return [(int(steps), float(mean), int(episodes)) for steps, mean, episodes in rows if episodes]


def main() -> None:
    """Run once and write the episodes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("system", help=f"{', '.join((RANDOM, *PEERS, *ARMS))}; any name, with --flags")
    parser.add_argument("seed", type=int)
    parser.add_argument("out", type=Path)
    parser.add_argument("--flags", type=json.loads, help="of ours, as JSON: '{\"max_kl\": 0.02}'")
    args = parser.parse_args()
    task = TASKS[args.task]
    if args.system == RANDOM:
        rows = at_random(task, args.seed)
    elif args.system in PEERS:
        rows = of_peer(args.system, task, args.seed)
    else:
        rows = of_ours(ARMS[args.system] if args.flags is None else args.flags, task, args.seed)
    args.out.write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
