"""REINFORCE in parallel: rank 0 broadcasts theta, all ranks play, rank 0 gathers the episodes and makes the step.

mpiexec -n 2 python mpi_scripts/first_steps/reinforce.py
"""

import gymnasium
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
env = gymnasium.make("CartPole-v1")
iterations = 40
episodes = 20  # of all ranks together, in each iteration
step_size = 0.02
first_seed = 0


def play(theta: np.ndarray, seed: int) -> tuple[float, np.ndarray]:
    """Return the return of one episode, and the sum of the scores of its actions."""
    rng = np.random.default_rng(seed)
    observation, _ = env.reset(seed=seed)
    total, score, done = 0.0, np.zeros(4), False
    while not done:
        probability = 1 / (1 + np.exp(-observation @ theta))  # of pushing to the right
        action = int(rng.random() < probability)
        score += (action - probability) * observation  # the gradient of log pi
        observation, reward, terminated, truncated, _ = env.step(action)
        total, done = total + reward, terminated or truncated
    return total, score


theta = np.zeros(4)
for iteration in range(iterations):
    # 1. All ranks get the theta of rank 0.
    theta = comm.bcast(theta)

    first = first_seed + episodes * iteration
    seeds = range(first + comm.rank, first + episodes, comm.size)
    rows = [play(theta, seed) for seed in seeds]  # (return, score) of each episode
    batch = rows

    # 2. Rank 0 gets the rows of all ranks, and makes one list of them: `batch`.
    gathered = comm.gather(rows)
    if comm.rank == 0:
        batch = [row for part in gathered for row in part]

    if comm.rank == 0:
        returns, scores = (np.array(column) for column in zip(*batch, strict=True))
        theta = theta + step_size * (returns - returns.mean()) @ scores / len(returns)
        if iteration % 10 == 9:
            print(f"iteration {iteration + 1}: mean return {returns.mean():.1f}", flush=True)
