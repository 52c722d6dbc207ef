"""Run parallel SGD: python mpi_scripts/parallel_sgd.py, or mpiexec -n 3 python mpi_scripts/parallel_sgd.py."""

from minitrpo.course.parallel_sgd.command import main

raise SystemExit(main())
