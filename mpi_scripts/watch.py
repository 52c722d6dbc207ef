"""Make a film of a run's policy: python mpi_scripts/watch.py RUN."""

from minitrpo.commands.watch import main

raise SystemExit(main())
