"""REINFORCE with allreduce: the ranks add up their sums, and each of them makes the same step with the result.

mpiexec -n 2 python mpi_scripts/first_steps/reinforce_allreduce.py
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
    first = first_seed + episodes * iteration
    seeds = range(first + comm.rank, first + episodes, comm.size)
    rows = [play(theta, seed) for seed in seeds]  # (return, score) of each episode

    # What the step needs, as sums over episodes: 4 + 4 + 1 + 1 numbers. A rank without episodes adds zeros.
    sums = np.zeros(10)
    for total, score in rows:
        sums += np.concatenate([total * score, score, [total, 1]])
    sums = comm.allreduce(sums)
    weighted, scores, total, number = sums[:4], sums[4:8], sums[8], sums[9]

    theta = theta + step_size * (weighted - total / number * scores) / number  # on every rank
    if iteration % 10 == 9 and comm.rank == 0:
        print(f"iteration {iteration + 1}: mean return {total / number:.1f} of {number:.0f}", flush=True)
