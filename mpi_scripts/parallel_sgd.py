"""Descend on many workers: python mpi_scripts/parallel_sgd.py, or mpiexec -n 3 python mpi_scripts/parallel_sgd.py."""

from minitrpo.commands.parallel_sgd import main

raise SystemExit(main())
