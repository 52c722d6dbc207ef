"""What made a result, and how a command is typed so that it can be typed again from here."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from runs import ROOT

from minitrpo.parallel.this_process import program
from minitrpo.run_folder.provenance import command, installed, pip_install, provenance


def test_the_launcher_finds_the_environment_and_what_is_said_to_type_begins_with_it(tmp_path):
    shutil.copy(ROOT / "run", tmp_path)
    words, bare = [tmp_path / "run", "sh", "-c", "minitrpo; echo $MINITRPO_RUN"], {"PATH": "/usr/bin:/bin"}
    assert subprocess.run(words, env=bare, capture_output=True, check=False).returncode == 2
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    shutil.copy("/bin/true", tmp_path / ".venv" / "bin" / "minitrpo")
    assert subprocess.run(words, env=bare, capture_output=True, check=True).stdout == f"{words[0]}\n".encode()


@pytest.fixture
def started(tmp_path, monkeypatch):
    """Make this process look as if it had been started by these words, in a new folder and without ./run."""
    monkeypatch.delenv("MINITRPO_RUN", raising=False)
    monkeypatch.setenv("PWD", str(tmp_path))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")

    def start(*words, module=None):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [str(word) for word in words])
        spec = None if module is None else SimpleNamespace(name=module)
        monkeypatch.setitem(sys.modules, "__main__", SimpleNamespace(__spec__=spec))

    return start


@pytest.mark.parametrize("where", ["mpi_scripts", ".", "elsewhere/my scripts"])
def test_a_script_names_the_scripts_beside_it(where, started, tmp_path, monkeypatch):
    for path in (tmp_path / where / "train.py", f"{where}/train.py"):
        started(path, "--env", "CartPole-v1")
        python, script, *rest = shlex.split(command("replay", "my runs/x y"))
        assert (python, Path(script).resolve()) == ("python", (tmp_path / where / "replay.py").resolve())
        assert (script[0] != "/", rest) == (True, ["my runs/x y"]), "as short as a person would type it"
        assert command("train", ranks=3).startswith("mpiexec -n 3 python ")
        assert program("train") == "train.py"
    for launcher in ("./run", "/my clone/run"):
        monkeypatch.setenv("MINITRPO_RUN", launcher)
        assert shlex.split(command("train", ranks=3))[:5] == [launcher, "mpiexec", "-n", "3", "python"]
        assert shlex.split(pip_install("a[b]")) == [launcher, "python", "-m", "pip", "install", "a[b]"]


@pytest.mark.parametrize(
    ("words", "module", "typed"),
    [
        (("mpi_scripts/train.py", "--out", "my run"), None, "python mpi_scripts/train.py --out 'my run'"),
        (("/somebody/theirs.py",), None, "python /somebody/theirs.py"),
        (("/bin/minitrpo", "train"), None, "minitrpo train"),
        (("x/__main__.py", "train"), "minitrpo.__main__", "python -m minitrpo train"),
        (("x/train.py", "--quick"), "somebody.train", "python -m somebody.train --quick"),
        (("/lib/ipykernel_launcher.py", "-f"), "ipykernel_launcher", "a notebook"),
    ],
)
def test_what_made_a_result_and_without_a_script_of_ours_what_to_type(words, module, typed, started):
    started(*words, module=module)
    alone, on_three = (provenance(ranks, packages=("pytest", "no-such-package")) for ranks in (1, 3))
    assert (alone["command"], alone["ranks"], on_three["ranks"]) == (typed, 1, 3)
    assert on_three["command"] == (typed if typed == "a notebook" else f"mpiexec -n 3 {typed}")
    assert {"date", "cores", "machine", "python"} <= alone.keys()
    versions = {name: installed(name) for name in ("numpy", "pytest")}
    assert versions.items() <= alone["versions"].items()
    assert "no-such-package" not in alone["versions"]
    if not typed.startswith("python mpi_scripts"):
        resume = command("train", "--resume", "my run", ranks=8)
        assert resume.startswith("mpiexec -n 8 ")
        assert resume.endswith("minitrpo train --resume 'my run'")
        assert ("python" in resume) == (words[0] != "/bin/minitrpo"), "as it was typed"
        assert program("train") == "minitrpo train"


def executable(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("name", ["train", "evaluate", "explain", "check", "watch"])
@pytest.mark.parametrize("way", ["./run", "activated", "only python3", "not activated", "minitrpo", "path to minitrpo"])
def test_what_is_said_to_type_names_programs_that_the_shell_finds(way, name, started, tmp_path, monkeypatch):
    """Its words are the programs of the environment that runs this, wherever another Python is first on the path."""
    other, place = tmp_path / "usr" / "bin", tmp_path / ".venv" / "bin"
    for program_name in ("python3", "mpiexec", "minitrpo"):
        executable(place / program_name)
    executable(other / "python")
    if way != "only python3":
        executable(place / "python")
    on_path = way not in ("not activated", "path to minitrpo")
    monkeypatch.setenv("PATH", f"{place}:{other}" if on_path else str(other))
    monkeypatch.setattr(sys, "executable", str(place / "python3"))
    if "minitrpo" in way:
        started(place / "minitrpo" if on_path else ".venv/bin/minitrpo", name)
    else:
        started("x/__main__.py", name, module="minitrpo.__main__")
    if way == "./run":
        executable(tmp_path / "run")
        monkeypatch.setenv("MINITRPO_RUN", "./run")
    first, *rest = shlex.split(command(name, "x", ranks=2))
    if way == "./run":
        assert first == "./run"
        first, *rest = rest
    assert tmp_path / (shutil.which(first) or first) == place / "mpiexec"
    assert rest[:2] == ["-n", "2"]
    ours = tmp_path / (shutil.which(rest[2]) or rest[2])
    assert ours.parent == place
    assert rest[3:] == [*([] if "minitrpo" in way else ["-m", "minitrpo"]), name, "x"]


def test_a_kernel_in_another_folder_still_finds_the_launcher(started, tmp_path, monkeypatch):
    executable(tmp_path / "run")
    started("/lib/ipykernel_launcher.py", module="ipykernel_launcher")
    monkeypatch.setenv("PWD", str(tmp_path))
    monkeypatch.setenv("MINITRPO_RUN", "./run")
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    assert shlex.split(command("train"))[0] == "../run"


def test_a_script_without_a_neighbour_of_a_name_says_how_the_command_is_typed(started):
    started("mpi_scripts/train.py")
    assert "-m minitrpo evaluate" in command("evaluate", "x")
