"""The course: what lectures need and training does not. NOTEBOOKS, MPI_SCRIPTS: folders of a wheel or of a clone."""

from pathlib import Path

_HERE = Path(__file__).resolve().parent
NOTEBOOKS = next((folder for folder in [_HERE / "notebooks"] if folder.is_dir()), _HERE.parents[1] / "notebooks")
MPI_SCRIPTS = next((folder for folder in [_HERE / "mpi_scripts"] if folder.is_dir()), _HERE.parents[1] / "mpi_scripts")
