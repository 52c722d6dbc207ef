"""Predict 1 to 100,000 ranks from this machine: python mpi_scripts/scaling.py predict."""

from minitrpo.course.scaling.command import main

raise SystemExit(main())
