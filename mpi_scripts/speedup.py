"""Measure the speed-up of more ranks: python mpi_scripts/speedup.py --ranks 1,2,4."""

from minitrpo.course.speedup.command import main

raise SystemExit(main())
