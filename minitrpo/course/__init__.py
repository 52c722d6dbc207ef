"""The course: what lectures need and training does not. NOTEBOOKS: their folder, of a wheel or of a clone."""

from pathlib import Path

_HERE = Path(__file__).resolve().parent
NOTEBOOKS = next((folder for folder in [_HERE / "notebooks"] if folder.is_dir()), _HERE.parents[1] / "notebooks")
