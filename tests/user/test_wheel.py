"""Installed as a wheel, without a checkout, it works from an empty folder in an environment that holds it alone."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from runs import ROOT

# The launcher and the library of MPI are this environment's, as they would be the cluster's own
MPI = {
    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    "LD_LIBRARY_PATH": os.pathsep.join([str(Path(sys.prefix) / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]),
}
IN_PYTHON = """
from minitrpo import evaluate, load
from minitrpo.checks import check, names
from minitrpo.conjugate_gradient import conjugate_gradient
check("conjugate_gradient", conjugate_gradient)
print(evaluate("run", 2), load("run")([0.0, 0.0, 0.0, 0.0]))
"""


def call(*words, cwd=None, **extra):
    """Run a command without this project's own paths."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")} | MPI | extra
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{words}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def installed(folder):
    """Return the python of a new environment that holds the wheel alone, and the script that came with it.

    It sees the packages that minitrpo depends on. The wheel is built of a copy of the sources: a build leaves folders.
    """
    source, wheels, environment = (folder / name for name in ("checkout", "wheels", "environment"))
    source.mkdir()
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in ("minitrpo", "notebooks", "mpi_scripts/first_steps"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "solutions"))
    call(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", wheels, source)
    shutil.rmtree(source)
    call(sys.executable, "-m", "venv", "--without-pip", environment)
    python = environment / "bin" / "python"
    site = Path(call(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (wheel,) = wheels.glob("minitrpo-*.whl")
    call(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", site, wheel)
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    assert (site / "minitrpo" / "py.typed").exists(), "type checkers read the types"
    return python, site / "bin" / "minitrpo"  # where --target puts the script


@pytest.mark.mpi
@pytest.mark.slow
def test_a_wheel_trains_resumes_checks_an_exercise_and_has_the_course_from_an_empty_folder(tmp_path):
    python, script = installed(tmp_path)
    place = tmp_path / "empty"
    place.mkdir()
    job = ("--env", "CartPole-v1", "--total-steps", 600, "--steps-per-update", 300, "--progress", "none")
    said = call("mpiexec", "-n", 2, python, script, "train", *job, "--out", "run", cwd=place)
    digest = re.search(r"theta sha256: [0-9a-f]{64}", said).group()
    assert '"mpiexec -n 2 minitrpo train' in (place / "run" / "config.json").read_text()
    assert digest in call(python, "-m", "minitrpo", "train", "--resume", "run", cwd=place)
    call(python, "-m", "minitrpo", "watch", "run", "--steps", 10, "--frames", 4, cwd=place)
    assert (place / "run" / "video.mp4").exists()
    call(python, script, "new", "mine", cwd=place)
    assert "theta sha256" in call(python, script, "train", "--algorithm", "mine:Reinforce", *job, cwd=place)
    output = call(python, "-c", IN_PYTHON, cwd=place)
    assert "fresh episodes" in output
    words = '"--env", "CartPole-v1", "--total-steps", 600, "--steps-per-update", 300'
    code = f"from minitrpo.course.classroom import train; print(len(train(2, {words}).rows()))"
    assert int(call(python, "-c", code, cwd=place)) >= 1, "a notebook finds the commands, wherever the package lies"
    call(python, script, "lab", "--copy", cwd=place)
    assert len([*(place / "my").glob("[01]*.ipynb")]) == len([*(ROOT / "notebooks").glob("[01]*.ipynb")])
    call(python, "-c", "from minitrpo.course.classroom import recorded; recorded('seconds.json')", cwd=place)
    call(python, script, "grade", "my/16_the_family.ipynb", cwd=place)
