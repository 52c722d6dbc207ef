"""What made a result, and how a command is typed so that it can be typed again from here."""

import shlex
import sys
from types import SimpleNamespace

import pytest

from minitrpo.run_folder.provenance import command, installed, program, provenance


@pytest.fixture
def started(tmp_path, monkeypatch):
    """Make this process look as if it had been started by these words, in a new folder that is returned."""

    def start(*words, module=None):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [str(word) for word in words])
        spec = None if module is None else SimpleNamespace(name=module)
        monkeypatch.setitem(sys.modules, "__main__", SimpleNamespace(__spec__=spec))
        return tmp_path

    return start


@pytest.mark.parametrize("where", ["mpi_scripts", ".", "elsewhere/my scripts"])
def test_a_script_names_the_scripts_beside_it(where, started, tmp_path):
    started(tmp_path / where / "train.py", "--env", "CartPole-v1")
    replay, resume = command("replay", "runs/x"), command("train", "--resume", "runs/x", ranks=3)
    python, script, *rest = shlex.split(replay)
    assert (python, rest) == ("python", ["runs/x"])
    assert (tmp_path / script).resolve() == (tmp_path / where / "replay.py").resolve()
    assert not script.startswith("/")  # as short as a person would type it
    mpiexec, n, ranks, _, script, *rest = shlex.split(resume)
    assert (mpiexec, n, ranks, rest) == ("mpiexec", "-n", "3", ["--resume", "runs/x"])
    assert (tmp_path / script).resolve() == (tmp_path / where / "train.py").resolve()
    assert program("train") == "train.py"


def test_the_relative_path_of_a_script_is_understood(started):
    folder = started("mpi_scripts/train.py")
    assert (folder / "mpi_scripts").exists() is False  # nothing has to be there
    assert command("replay", "runs/x") == "python mpi_scripts/replay.py runs/x"


@pytest.mark.parametrize(
    ("argv", "module"),
    [
        ("/lib/minitrpo/__main__.py", "minitrpo.__main__"),
        ("/lib/ipykernel_launcher.py", "ipykernel_launcher"),
        ("/somebody/their_script.py", None),
        ("/lib/train.py", "somebody.train"),  # a module of that name is none of our scripts
        ("-c", None),
    ],
)
def test_without_a_script_of_ours_a_command_is_typed_as_a_module(argv, module, started):
    started(argv, module=module)
    assert command("replay", "runs/x", "3") == "python -m minitrpo replay runs/x 3"
    assert command("train", "--resume", "runs/x", ranks=8) == "mpiexec -n 8 python -m minitrpo train --resume runs/x"
    assert program("train") == "minitrpo train"


def test_folders_with_blanks_are_quoted(started):
    started("train.py")
    assert shlex.split(command("replay", "my runs/x y"))[2:] == ["my runs/x y"]
    started("-c")
    assert shlex.split(command("replay", "my runs/x y", ranks=2))[-1] == "my runs/x y"


@pytest.mark.parametrize(
    ("argv", "module", "ranks", "typed"),
    [
        (("mpi_scripts/train.py", "--out", "my run"), None, 1, "python mpi_scripts/train.py --out 'my run'"),
        (("mpi_scripts/train.py", "--seed", "3"), None, 4, "mpiexec -n 4 python mpi_scripts/train.py --seed 3"),
        (("x/__main__.py", "train"), "minitrpo.__main__", 2, "mpiexec -n 2 python -m minitrpo train"),
        (("x/limit.py", "--quick"), "benchmarks.limit", 1, "python -m benchmarks.limit --quick"),
    ],
)  # fmt: skip
def test_what_made_a_result(argv, module, ranks, typed, started):
    started(*argv, module=module)
    made = provenance(ranks, packages=("pytest", "no-such-package"))
    assert made["command"] == typed
    assert made["ranks"] == ranks
    assert {"date", "cores", "machine", "python"} <= made.keys()
    assert made["versions"]["numpy"] == installed("numpy")
    assert made["versions"]["pytest"] == pytest.__version__
    assert "no-such-package" not in made["versions"]
    assert installed("no-such-package") is None
