"""Measure how much faster more ranks are: python mpi_scripts/speedup.py --ranks 1,2,4."""

from minitrpo.commands.speedup import main

raise SystemExit(main())
