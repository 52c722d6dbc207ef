"""Broadcast: the policy of rank 0 goes to all ranks, and each rank plays other episodes with it.

mpiexec -n 3 python mpi_scripts/first_steps/broadcast.py
"""

import gymnasium
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
env = gymnasium.make("CartPole-v1")
episodes = 4  # of each rank


def play(theta: np.ndarray, seed: int) -> float:
    """Return the return of one episode; the seed decides the first state and all actions."""
    rng = np.random.default_rng(seed)
    observation, _ = env.reset(seed=seed)
    total, done = 0.0, False
    while not done:
        probability = 1 / (1 + np.exp(-observation @ theta))  # of pushing to the right
        observation, reward, terminated, truncated, _ = env.step(int(rng.random() < probability))
        total, done = total + reward, terminated or truncated
    return total


theta = np.array([0.1, 0.2, 1.0, 0.5]) if comm.rank == 0 else None
theta = comm.bcast(theta)
returns = [play(theta, seed=1000 * comm.rank + number) for number in range(episodes)]  # no two ranks share a seed
everything = comm.gather(returns)
if comm.rank == 0:
    for rank, row in enumerate(everything):
        print(f"returns of rank {rank}: {row}", flush=True)
