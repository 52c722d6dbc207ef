"""Measure, draw and test the claims of the sources again: python mpi_scripts/figures.py S1 --quick."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from experiments.__main__ import figures

raise SystemExit(figures())
