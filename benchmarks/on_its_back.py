"""Why HalfCheetah learns well on one seed and badly on another: how much of an episode is upside down, as it learns.

    python -m benchmarks.on_its_back
    python -m benchmarks.on_its_back --seeds 0,1,2 --with initial_log_std=-1

Each seed is trained as typed, but in 16 environments, 50,000 steps at a time. After each piece the mean action plays an
episode of Gymnasium's own environment. It is upside down where the cosine of the trunk's pitch is negative. What is
recorded is not run again.
"""

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gymnasium
import numpy as np
from matplotlib import pyplot as plt

from benchmarks import tables
from benchmarks.options import make_parser, names
from benchmarks.record import RESULTS, origin, read_json, write_json
from minitrpo import load, train
from minitrpo.experience.environments import without_mujoco_warnings
from minitrpo.parallel.launcher import cores
from minitrpo.reports.plots import BLUE, ORANGE

ENV, STEPS, PIECE = "HalfCheetah-v5", 600_000, 50_000
PITCH = 2  # where the trunk's angle stands in qpos
ENVIRONMENTS = {"num_envs": 16}  # as all others have
FOLDER = RESULTS / "on_its_back"


def look(policy: Any, episode: int) -> tuple[float, float]:
    """Return the return of an episode of the mean action, and the fraction of it that was upside down."""
    with without_mujoco_warnings():
        env = gymnasium.make(ENV)
    observation, _ = env.reset(seed=1_000_000 + episode)
    total, upside_down, steps, over = 0.0, 0, 0, False
    while not over:
        observation, reward, terminated, truncated, _ = env.step(policy(observation))
        total, steps, over = total + float(reward), steps + 1, terminated or truncated
        upside_down += np.cos(env.unwrapped.data.qpos[PITCH]) < 0
    env.close()
    return total, upside_down / steps


def measured(settings: dict[str, str], seed: int) -> Path:
    """Train a seed, look at it after every piece, and record both; return where."""
    words = "".join(f"_{name}={value}" for name, value in settings.items())
    path = FOLDER / f"seed{seed}{words}.json"
    if path.exists():
        return path
    looks, run = [], None
    with TemporaryDirectory() as folder:
        for steps in range(PIECE, STEPS + 1, PIECE):
            if run is None:
                told = ENVIRONMENTS | settings
                run = train(ENV, seed=seed, total_steps=steps, progress="none", out=Path(folder) / "run", **told)
            else:
                run = train(resume=run, total_steps=steps, progress="none")
            looks.append((steps, *look(load(run), steps)))
    about = {"env": ENV, "seed": seed, "settings": settings, "provenance": origin()}
    write_json(path, about | {"looks": looks})
    return path


def main() -> None:
    """Measure what is missing, and print the table."""
    parser = make_parser(__doc__)
    parser.add_argument("--seeds", type=names, default="0,1,2,3,4", help="with commas")
    parser.add_argument("--with", type=names, default="", dest="settings", help="settings of train, as name=value")
    args = parser.parse_args()
    settings = dict(word.split("=", 1) for word in args.settings if word)
    with ProcessPoolExecutor(cores()) as pool:
        paths = list(pool.map(partial(measured, settings), map(int, args.seeds)))
    print(table([read_json(path) for path in paths]))


def recorded() -> list[dict[str, Any]]:
    """Return all that has been recorded, what was run as typed first."""
    runs = [read_json(path) for path in FOLDER.glob("*.json")]
    return sorted(runs, key=lambda run: (sorted(run["settings"].items()), run["seed"]))


def table(runs: list[dict[str, Any]]) -> str:
    """Return a line for each run: its end, and when it lay on its back."""
    header = ("seed", "with", "return in the end", "upside down at 200,000", "at 400,000", "in the end")
    rows = []
    for run in runs:
        steps, returns, down = map(np.array, zip(*run["looks"], strict=True))
        at = [down[np.searchsorted(steps, n)] for n in (200_000, 400_000, steps[-1])]
        words = ", ".join(f"{name} {value}" for name, value in run["settings"].items())
        rows.append((str(run["seed"]), words or "as typed", f"{returns[-1]:,.0f}", *(f"{part:.0%}" for part in at)))
    return f"{tables.table(header, rows)}\n\n{tables.made_by(runs[0])}"


def picture(runs: list[dict[str, Any]]) -> Any:
    """Return a picture of return and posture: blue are runs as typed, orange and dashed the others."""
    figure, (above, below) = plt.subplots(2, 1, figsize=(8, 6), sharex=True, layout="constrained")
    for run in runs:
        steps, returns, down = map(np.array, zip(*run["looks"], strict=True))
        colour, style = (ORANGE, "--") if run["settings"] else (BLUE, "-")
        above.plot(steps / 1e3, returns, style, color=colour)
        below.plot(steps / 1e3, 100 * down, style, color=colour)
    above.set_ylabel("return of the mean action")
    below.set_ylabel("of it upside down, %")
    below.set_xlabel("environment steps (thousands)")
    above.set_title(f"{ENV}: as typed (blue), and begun with another deviation (dashed)", loc="left", fontsize=11)
    return figure


if __name__ == "__main__":
    main()
