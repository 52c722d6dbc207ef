"""Play an episode that failed again: python mpi_scripts/replay.py RUN EPISODE."""

from minitrpo.commands.replay import main

raise SystemExit(main())
