"""Play a failed episode again: python mpi_scripts/replay.py RUN EPISODE."""

from minitrpo.commands.replay import main

raise SystemExit(main())
