"""What the author measured in 2016, as grey points behind ours: kvfrans/parallel-trpo at a08599d, results/."""

import json
from pathlib import Path
from typing import Any

from experiments.pictures import Ghost

FILE = Path(__file__).parents[2] / "notebooks" / "recorded" / "author_2016.json"
Table = dict[int, tuple[float, ...]]
TASK = {"Reacher-v5": "Reacher-v1", "Swimmer-v5": "Swimmer-v1", "HalfCheetah-v5": "HalfCheetah-v1"}
REACHER = "Reacher-v5"
# Mean return on Reacher-v1 with 1,000, 5,000, 10,000 and 20,000 steps/update, read in the files themselves
STEPS = ("1,000 steps", "5,000 steps", "10,000 steps", "20,000 steps")
AFTER_STEPS: Table = {
    100_000: (-28.5, -65.3, -87.1, -105),
    300_000: (-8, -23.8, -45.8, -72.6),
    500_000: (-6, -11.7, -26.4, -50.9),
}
AFTER_UPDATES: Table = {60: (-47.7, -23.8, -20.5, -18.1), 100: (-28.5, -11.7, -9.0, -7.7)}
MEASURED: dict[str, Any] = json.loads(FILE.read_text())


def table(points: Table) -> tuple[Ghost, ...]:
    """Return points of Reacher, {x: a number for each of STEPS}."""
    each = zip(STEPS, zip(*points.values(), strict=True), strict=True)
    return tuple(Ghost(REACHER, name, tuple(map(float, points)), y) for name, y in each)


def limits() -> tuple[Ghost, ...]:
    """Return the curves of three max-KL on Reacher, 20,000 steps/update, against environment steps; run 1."""
    ghosts = []
    for name, curve in MEASURED["returns"]["Reacher-v1"].items():
        steps = tuple(20_000.0 * (update + 1) for update in curve["updates"])
        ghosts.append(Ghost(REACHER, f"max-KL {name.rpartition(' ')[2]}", steps, tuple(curve["mean_return"][0])))
    return tuple(ghosts)


def collecting() -> tuple[Ghost, ...]:
    """Return the seconds to collect 20,000 steps of Reacher on 1 to 8 threads."""
    found = MEASURED["speedup"]
    return (Ghost(REACHER, "5 cores", tuple(found["threads"]), tuple(found["rollout_s"])),)


def share_of_collecting() -> tuple[Ghost, ...]:
    """Return the share of an update on one thread that was collecting, in per cent."""
    return (Ghost(REACHER, "1 thread", (1,), (100 * MEASURED["speedup"]["collecting_fraction"][0],)),)


def last_tenths(names: tuple[str, ...]) -> tuple[Ghost, ...]:
    """Return the mean return over the last tenth of both runs, of these settings on three tasks."""
    found = MEASURED["last_tenth"]["tasks"]
    return tuple(Ghost(env, name, (0.0, 0.0), tuple(found[old][name])) for env, old in TASK.items() for name in names)
