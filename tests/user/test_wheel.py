"""Installed as a wheel, without a checkout, it trains, watches and measures from an empty folder."""

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


def call(*words, cwd=None, **extra):
    """Run a command without this project's own paths."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")} | extra
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{words}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from a copy of the sources: a build leaves folders behind."""
    source, folder = tmp_path_factory.mktemp("source") / "checkout", tmp_path_factory.mktemp("wheel")
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "minitrpo", source / "minitrpo", ignore=shutil.ignore_patterns("__pycache__"))
    call(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, source)
    (found,) = folder.glob("minitrpo-*.whl")
    return found


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """The python of an environment that holds the wheel alone, and sees the packages that it depends on."""
    folder = tmp_path_factory.mktemp("environment")
    call(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    site = Path(call(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    call(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", site, wheel)
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def test_the_package_is_the_wheels_own(python, tmp_path):
    place = call(python, "-c", "import minitrpo; print(minitrpo.__file__)", cwd=tmp_path).strip()
    assert Path(place).is_relative_to(python.parent.parent)
    assert not Path(place).is_relative_to(ROOT)


def test_it_brings_its_types_its_command_and_an_example(python, wheel, tmp_path):
    package = Path(call(python, "-c", "import minitrpo; print(minitrpo.__file__)", cwd=tmp_path).strip()).parent
    assert (package / "py.typed").exists()
    script = package.parent / "bin" / "minitrpo"  # where --target puts it
    call(python, script, "new", "mine", cwd=tmp_path)
    job = ("--algorithm", "mine:Reinforce", "--env", "CartPole-v1", "--total-steps", 600, "--steps-per-update", 300)
    said = call("mpiexec", "-n", 2, python, script, "train", *job, "--out", "run", cwd=tmp_path, **MPI)
    assert "theta sha256" in said
    assert '"mpiexec -n 2 minitrpo train' in (tmp_path / "run" / "config.json").read_text()
    assert "fresh episodes" in call(python, script, "evaluate", "run", *job[:2], "--episodes", 2, cwd=tmp_path)
    code = "from minitrpo import evaluate, train; print(evaluate(train('CartPole-v1', total_steps=300), 2))"
    assert "fresh episodes" in call(python, "-c", code, cwd=tmp_path)


def test_it_trains_watches_and_resumes_from_an_empty_folder(python, tmp_path):
    job = (
        "train",
        "--preset",
        "episodes",
        "--env",
        "CartPole-v1",
        "--total-steps",
        2000,
        "--out",
        "run",
        "--progress",
        "none",
    )
    said = call("mpiexec", "-n", 2, python, "-m", "minitrpo", *job, cwd=tmp_path, **MPI)
    digest = re.search(r"theta sha256: [0-9a-f]{64}", said).group()
    assert '"python -m minitrpo train' in (tmp_path / "run" / "config.json").read_text().replace("mpiexec -n 2 ", "")
    assert digest in call(python, "-m", "minitrpo", "train", "--resume", "run", "--progress", "none", cwd=tmp_path)
    call(python, "-m", "minitrpo", "watch", "run", "--steps", 10, "--frames", 4, cwd=tmp_path)
    assert (tmp_path / "run" / "video.mp4").exists()
    assert "episode 0 of iteration" in call(python, "-m", "minitrpo", "replay", "run", 0, cwd=tmp_path)


def test_a_notebook_finds_its_commands_without_a_checkout(python, tmp_path):
    """classroom.train starts jobs by the package's own name, wherever it lies."""
    job = '"--env", "CartPole-v1", "--total-steps", 600, "--steps-per-update", 300'
    code = f"from minitrpo.course.classroom import train; print(len(train(2, {job}).rows()))"
    assert int(call(python, "-c", code, cwd=tmp_path, **MPI)) >= 1
    speedup = ("speedup", "--env", "CartPole-v1", "--ranks", "1,2", "--steps-per-update", 300)
    few = ("--updates", 2, "--warm-up", 0, "--rounds", 1, "--out", "measured")
    call(python, "-m", "minitrpo", *speedup, *few, cwd=tmp_path, **MPI)
    assert (tmp_path / "measured" / "speedup.png").exists()


@pytest.mark.slow
def test_pip_installs_it_and_all_it_needs_into_an_empty_environment(wheel, tmp_path):
    environment = tmp_path / "environment"
    call(sys.executable, "-m", "venv", environment)
    python = environment / "bin" / "python"
    call(python, "-m", "pip", "install", "-q", "-c", ROOT / "requirements.lock", wheel)
    empty = tmp_path / "empty"
    empty.mkdir()
    path = os.pathsep.join([str(environment / "bin"), "/usr/bin", "/bin"])
    job = ("train", "--env", "Reacher-v5", "--total-steps", 2000, "--steps-per-update", 1000)
    said = call("mpiexec", "-n", 2, python, "-m", "minitrpo", *job, cwd=empty, PATH=path)
    assert "theta sha256" in said
    assert (empty / "runs" / "Reacher-v5-seed0-01" / "learning_curve.png").exists()
    assert "FAIL" not in call(python, "-m", "minitrpo", "doctor", cwd=empty, PATH=path).replace("FAIL  rendering", "")
