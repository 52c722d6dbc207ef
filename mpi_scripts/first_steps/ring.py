"""Send and receive: a total goes once round a ring of ranks, and each rank adds its number to it.

mpiexec -n 3 python mpi_scripts/first_steps/ring.py
"""

from mpi4py import MPI

comm = MPI.COMM_WORLD
numbers = [3, 1, 4, 1, 5, 9, 2, 6]
number = numbers[comm.rank]  # rank r adds numbers[r] and no other

right = (comm.rank + 1) % comm.size
left = (comm.rank - 1) % comm.size
total = number

if comm.rank == 0 and comm.size > 1:
    # 1. Rank 0 sends its number to the right, and then receives the total from the left.
    comm.send(number, dest=right)
    total = comm.recv(source=left)

if comm.rank > 0:
    # 2. The others receive a total from the left, add their number, and send it to the right.
    total = comm.recv(source=left) + number
    comm.send(total, dest=right)

print(f"rank {comm.rank} added {number}: total = {total}", flush=True)
