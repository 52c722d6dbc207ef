"""Checks of lecture 07a: MPI programs, run on 1, 2, 3 and 5 ranks with other data."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from minitrpo.course.checks.framework.programs import ProgramCase
from minitrpo.course.checks.framework.register import program_exercise
from minitrpo.policies import Array

Row = tuple[float, Array]  # the return of an episode, and the sum of the scores of its actions


@program_exercise(
    "first_steps/ring.py",
    """
        ? Rank 0 begins. Which rank waits for nothing before it sends? Which one receives last?
        ? `comm.send(number, dest=right)`, and `x = comm.recv(source=left)`, which returns what was sent.
        ? The others: receive first, then send. Rank 0: send first, then receive.
    """,
    lecture="07a",
    by_messages=True,
)
def _ring() -> Iterator[ProgramCase]:
    for ranks, numbers in ((2, [5, 7]), (1, [4]), (3, [1, 10, 100, 1000]), (5, [2, -3, 5, 0, 11])):
        total = sum(numbers[:ranks])
        mistakes = {
            "This is the number of rank 0 alone: the total of all must come back to it, into `total`.": numbers[0],
            "The number of rank 0 is in it twice: rank 0 adds nothing to the total that comes back.": total
            + numbers[0],
            "This is the sum of the others: rank 0 has to send its own number, too.": total - numbers[0],
            "This is the number of the last rank: a rank passes on the total, not its number.": numbers[ranks - 1],
            "Only the numbers of ranks 0 and 1 are in it.": sum(numbers[:2]),
        }
        yield ProgramCase(ranks, {"numbers": numbers}, {"total": total}, named("total", mistakes))


@program_exercise(
    "first_steps/mean_return.py",
    """
        ? The mean of two ranks' means is the mean of all episodes only if both have played equally many.
        ? `comm.reduce(x)` adds up the x of all ranks. On rank 0 it returns the sum, on the others None.
        ? `total = comm.reduce(sum(returns))`, the same with `len(returns)`, and on rank 0 `mean = total / episodes`.
    """,
    lecture="07a",
)
def _mean_return() -> Iterator[ProgramCase]:
    cases = (
        (1, [8.0, 3.0], ""),
        (2, [10.0, 40.0], ""),
        (2, [10.0, 20.0, 90.0], "rank 0 has two episodes, rank 1 has one"),
        (3, [12.0, 33.0], "rank 2 has no episode"),
        (5, [9.0, 200.0, 31.0, 17.0, 25.0, 55.0, 10.0], "ranks 0 and 1 have two episodes, the others one"),
    )
    for ranks, returns, remark in cases:
        parts = [returns[rank::ranks] for rank in range(ranks)]
        played = [part for part in parts if part]
        means = [np.mean(part) for part in played]
        mistakes = {
            "This is the mean of the ranks' means: a rank with more episodes has to count for more.": np.mean(means),
            "This is the mean of the ranks' means, with 0 for a rank without episodes.": sum(means) / ranks,
            "This is the mean of the episodes of rank 0 alone.": means[0],
            "This is the sum of all returns, not yet divided by the number of episodes.": sum(returns),
            "The sum of all returns is divided by the number of ranks, not of episodes.": sum(returns) / ranks,
            "All returns are divided by the number of episodes of rank 0 alone.": sum(returns) / len(parts[0]),
            "Only the first return of each rank is in it.": np.mean([part[0] for part in played]),
        }
        expected = {"mean": float(np.mean(returns))}
        yield ProgramCase(ranks, {"all_returns": returns}, expected, named("mean", mistakes), remark)


@program_exercise(
    "first_steps/reinforce.py",
    """
        ? Two calls are missing, one before the ranks play and one afterwards. Both are collective: all ranks make them.
        ? First `theta = comm.bcast(theta)`. Then `comm.gather(rows)`: what does it return on rank 0?
        ? `gather` returns a list with one list of rows per rank: `[row for part in gathered for row in part]`.
    """,
    lecture="07a",
)
def _reinforce() -> Iterator[ProgramCase]:
    for ranks, iterations, episodes, first_seed, remark in (
        (2, 3, 4, 50, ""),
        (1, 2, 3, 70, ""),
        (3, 2, 4, 10, "rank 0 has two episodes, the others one"),
        (5, 2, 3, 90, "ranks 3 and 4 have no episode"),
    ):
        data = {"iterations": iterations, "episodes": episodes, "step_size": 0.05, "first_seed": first_seed}
        numbers = range(iterations * episodes)
        seeds = [first_seed + number for number in numbers]
        doubled = [first_seed + episodes * (n // episodes) + n % episodes // ranks for n in numbers]
        mistakes = {
            "The step of rank 0 uses the episodes of rank 0 alone.": learned(ranks, data, seeds, "own"),
            "The other ranks play with their first theta: send it before each iteration.": learned(
                ranks, data, seeds, "stale"
            ),
            "This is the mean of the ranks' gradients: a rank with more episodes has to count for more.": learned(
                ranks, data, seeds, "means"
            ),
            "Each rank subtracts the mean return of its own episodes; it should be that of all.": learned(
                ranks, data, seeds, "baselines"
            ),
            "All ranks play the same episodes: their seeds are the same.": learned(ranks, data, doubled),
        }
        right = learned(ranks, data, seeds)
        mistakes = {symptom: value for symptom, value in mistakes.items() if not np.allclose(value, right)}
        yield ProgramCase(ranks, data, {"theta": right}, named("theta", mistakes), remark)


def named(name: str, mistakes: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return mistakes as a case wants them, of one variable."""
    return {symptom: {name: value} for symptom, value in mistakes.items()}


def learned(ranks: int, data: Mapping[str, Any], seeds: list[int], mistake: str = "") -> Array:
    """Return theta of rank 0 as the program of lecture 07a learns it, computed without MPI.

    Args:
        ranks: among which the episodes are shared.
        data: the settings of the program.
        seeds: of all episodes of all iterations.
        mistake: "" for none; "own": rank 0 uses its own episodes alone; "stale": the other ranks never get a new theta;
            "means": the gradient is the mean of those of the ranks; "baselines": each rank subtracts the mean of its
            own returns.
    """
    theta, episodes = np.zeros(4), data["episodes"]
    for begin in range(0, len(seeds), episodes):
        batch = seeds[begin : begin + episodes]
        thetas = [np.zeros(4) if mistake == "stale" and rank else theta for rank in range(ranks)]
        parts = [[play(thetas[rank], seed) for seed in batch[rank::ranks]] for rank in range(ranks)]
        everything = [row for part in parts for row in part]
        played = [part for part in parts if part]
        if mistake == "own":
            gradient = gradient_of(parts[0])
        elif mistake == "means":
            gradient = np.sum([gradient_of(part) for part in played], axis=0) / ranks
        elif mistake == "baselines":
            gradient = np.sum([len(part) * gradient_of(part) for part in played], axis=0) / len(everything)
        else:
            gradient = gradient_of(everything)
        theta = theta + data["step_size"] * gradient
    return theta


def gradient_of(rows: list[Row]) -> Array:
    """Return the gradient of REINFORCE from returns and scores of episodes, with their mean return as baseline."""
    returns, scores = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    return np.asarray((returns - returns.mean()) @ scores / len(returns))


def play(theta: Array, seed: int) -> Row:
    """Return the return of an episode of CartPole, and the sum of its scores, as the program of lecture 07a does."""
    import gymnasium  # which the checks of other lectures do not need

    env = gymnasium.make("CartPole-v1")
    rng = np.random.default_rng(seed)
    observation, _ = env.reset(seed=seed)
    total, score, done = 0.0, np.zeros(4), False
    while not done:
        probability = 1 / (1 + np.exp(-observation @ theta))
        action = int(rng.random() < probability)
        score += (action - probability) * observation
        observation, reward, terminated, truncated, _ = env.step(action)
        total, done = total + float(reward), terminated or truncated
    return total, score
