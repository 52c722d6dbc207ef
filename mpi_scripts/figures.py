"""Measure again what the seeds claim, draw it and judge it: python mpi_scripts/figures.py S1 --quick."""

from minitrpo.course.claims.command import main

raise SystemExit(main())
