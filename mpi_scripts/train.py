"""Train a policy: mpiexec -n 8 python mpi_scripts/train.py --env HalfCheetah-v5."""

from minitrpo.commands.train import main

raise SystemExit(main())
