"""Reduce: the mean return of the episodes of all ranks, of which some may have played more episodes than others.

mpiexec -n 3 python mpi_scripts/first_steps/mean_return.py
"""

from mpi4py import MPI

comm = MPI.COMM_WORLD
all_returns = [21.0, 14.0, 35.0, 10.0, 50.0]
returns = all_returns[comm.rank :: comm.size]  # of this rank; perhaps it has none
mean = None

# 1. Rank 0 gets what it needs to know of the other ranks, by reduce or by gather.
total = comm.reduce(sum(returns))
episodes = comm.reduce(len(returns))

if comm.rank == 0:
    # 2. Rank 0 computes the mean return of all episodes.
    mean = total / episodes

print(f"rank {comm.rank} has {len(returns)} episodes: mean = {mean}", flush=True)
