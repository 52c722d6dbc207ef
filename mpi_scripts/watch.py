"""See the policy of a run: python mpi_scripts/watch.py RUN."""

from minitrpo.commands.watch import main

raise SystemExit(main())
