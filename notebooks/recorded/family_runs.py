"""What the lectures take of a run of `python -m benchmarks.family`: when it was at a goal, and who judged that."""

from typing import Any


def outcome(run: dict[str, Any], goal: float | None) -> dict[str, Any]:
    """Return columns of a run: steps and seconds to the goal (empty if it was not reached) and the last return.

    fresh: 1 if episodes judged from which nothing was learned; 0 in older records, where the mean of the last 100
    training episodes did, which holds thousands of steps itself.
    """
    if "fresh" in run:
        points, last = run["fresh"], run["final"]
    else:
        points = [(at, clock, mean) for (at, mean), (clock, _) in zip(run["curve"], run["clock"], strict=True)]
        last = run["curve"][-1][1]
    reached = next(((at, clock) for at, clock, mean in points if goal is not None and mean >= goal), ("", ""))
    return {
        "steps_to_goal": reached[0],
        "seconds_to_goal": reached[1],
        "last_return": last,
        "fresh": int("fresh" in run),
    }
