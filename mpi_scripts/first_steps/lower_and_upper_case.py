"""Lower case and upper case: `bcast` pickles any object, `Bcast` sends the memory of an array; both are timed.

mpiexec -n 2 python mpi_scripts/first_steps/lower_and_upper_case.py
"""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
sizes = [5_000, 5_000_000]
repeats = 10
milliseconds = {}  # by name of the call and size of theta

for size in sizes:
    theta = np.full(size, 1.0 + comm.rank)
    for name in ("bcast", "Bcast"):
        times = []
        for _ in range(repeats):
            theta[:] = 1.0 + comm.rank
            comm.Barrier()
            begin = MPI.Wtime()
            if name == "bcast":
                received = comm.bcast(theta)  # a new array on all ranks but the root
            else:
                comm.Bcast(theta)  # into the array that each rank has: of the right size and type
                received = theta
            seconds = comm.allreduce(MPI.Wtime() - begin, MPI.MAX)  # of the slowest rank
            times.append(seconds)
            assert received[-1] == 1.0
        milliseconds[name, size] = 1000 * min(times)
        if comm.rank == 0:
            print(f"{name} of {size:>9,} numbers: {milliseconds[name, size]:8.3f} ms", flush=True)
