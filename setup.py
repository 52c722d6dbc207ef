"""Put the course's notebooks into a wheel, where `minitrpo lab` finds them, and the programs of its exercises.

All else stands in pyproject.toml.
"""

import runpy
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
MERGING = runpy.run_path(str(ROOT / "minitrpo/course/lab/merging.py"))


class WithNotebooks(build_py):
    """Build the package, and copy what students get beside it: lectures without an answer, and what was recorded."""

    def run(self) -> None:
        """Build; a lecture that was changed by hand may hold answers, and ends it."""
        super().run()
        if self.editable_mode:
            return
        course, folder = ROOT / "notebooks", Path(self.build_lib) / "minitrpo/course/notebooks"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(course / "recorded", folder / "recorded", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
        for path in (*course.glob("[0-9]*.ipynb"), *course.glob("*.md"), course / "LICENSE"):
            if path.suffix == ".ipynb" and MERGING["changed_by_hand"](MERGING["read"](path), path.stem):
                raise SystemExit(f"{path} was changed by hand, and may hold answers: git checkout it")
            shutil.copy(path, folder)
        programs = "mpi_scripts/first_steps"  # as functions of the package, they are the solutions of exercises
        beside = folder.parent / programs
        shutil.rmtree(beside, ignore_errors=True)
        shutil.copytree(ROOT / programs, beside, ignore=shutil.ignore_patterns("__pycache__"))


setup(cmdclass={"build_py": WithNotebooks})
