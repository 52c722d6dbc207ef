"""Who am I? Every rank says its number, and how many ranks there are; a variable belongs to one rank alone.

mpiexec -n 3 python mpi_scripts/first_steps/hello.py
"""

from mpi4py import MPI

comm = MPI.COMM_WORLD

apples = 10
if comm.rank == 1:
    apples = 99  # of rank 1 alone
print(f"I am rank {comm.rank} of {comm.size}, and I have {apples} apples", flush=True)
