"""A run folder from a stranger writes and runs nothing: links are refused, and its word alone loads no module."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from runs import ROOT, SCRIPTS, train
from runs import forked

from minitrpo.experience.modules import is_installed, stuck_after
from minitrpo.run_folder.files import write_atomically
from minitrpo.run_folder.folder import RunFolder

JOB = ("--hidden", "4", "--critic", "linear", "--total-steps", 300, "--steps-per-update", 100, "--progress", "none")
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
HOME = {**os.environ, "PATH": PATH, "PYTHONPATH": str(ROOT)}
WRITTEN = ("config.json", "config.json.tmp", "metrics.csv", "metrics.csv.tmp", "checkpoint.npz", "checkpoint.npz.tmp",
           "checkpoint_before.npz", "checkpoint_before.npz.tmp", "learning_curve.png", "learning_curve.png.tmp",
           "video.mp4", "filmstrip.png", "trace.json", "failure.txt")  # fmt: skip
COMMANDS = {"train": ("--resume", "gift", "--total-steps", 500, "--progress", "none"), "watch": ("gift", "--steps", 3),
            "replay": ("gift", 0)}  # fmt: skip


@pytest.fixture(scope="module")
def gift(tmp_path_factory):
    """Return a run that a stranger may have made."""
    folder = tmp_path_factory.mktemp("stranger") / "gift"
    train(folder, "--env", "CartPole-v1", *JOB, new=True)
    return folder


@pytest.mark.parametrize("name", WRITTEN)
def test_a_link_in_a_run_folder_is_refused_and_its_target_left_alone(name, gift, tmp_path):
    shutil.copytree(gift, tmp_path / "gift")
    link, victim = tmp_path / "gift" / name, tmp_path / "victim"
    victim.write_bytes(link.read_bytes() if link.exists() else b"precious")
    before = victim.read_bytes()
    link.unlink(missing_ok=True)
    link.symlink_to(victim)
    for command, words in COMMANDS.items():
        done = forked(command, *words, cwd=tmp_path)
        assert (done.code, done.err.count("\n"), done.out) == (2, 1, ""), done
        assert f"{name} is a symbolic link" in done.err
    assert victim.read_bytes() == before


@pytest.mark.parametrize("name", ["metrics.csv", "config.json.tmp"])
def test_a_link_in_an_empty_folder_is_refused_too(name, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).symlink_to("/dev/zero")
    done = forked("train", "--env", "CartPole-v1", "--out", "out", *JOB, cwd=tmp_path)
    assert (done.code, done.err.count("\n")) == (2, 1), done
    assert "is not empty" in done.err


def test_a_file_is_written_to_a_fresh_one_and_through_no_link(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for name in ("file", "file.tmp"):
        (tmp_path / name).symlink_to(victim)
    write_atomically(tmp_path / "file", b"new")
    assert victim.read_text() == "precious"
    assert (tmp_path / "file").read_text() == "new"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "victim"]


def test_a_log_that_becomes_a_link_is_not_written_through(gift, tmp_path):
    shutil.copytree(gift, tmp_path / "gift")
    folder, victim = RunFolder(tmp_path / "gift"), tmp_path / "victim"
    row = dict.fromkeys(folder.header, 1)
    (tmp_path / "gift" / "metrics.csv").replace(victim)
    before = victim.read_bytes()
    (tmp_path / "gift" / "metrics.csv").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"):
        folder.append(row)
    assert victim.read_bytes() == before


# --- code

MINE = (ROOT / "mpi_scripts/own/reinforce.py").read_text()
MARK = "from pathlib import Path\nPath('ran').touch()\n"
ENV = MARK + "from gymnasium.envs.classic_control import CartPoleEnv\nclass Mine(CartPoleEnv): pass\n"


def typed(line, cwd):
    """Run a line as a person types it."""
    return subprocess.run(
        shlex.split(line), cwd=cwd, env=HOME, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    """Return a folder with a run of an own algorithm and an own environment, and their modules."""
    folder = tmp_path_factory.mktemp("mine")
    (folder / "mine.py").write_text(MARK + MINE)
    (folder / "world.py").write_text(ENV)
    words = "--algorithm mine:Reinforce --env world:Mine --total-steps 1200 --progress none --out run"
    done = typed(f"python {SCRIPTS / 'train.py'} {words}", folder)
    assert done.returncode == 0, done.stderr
    (folder / "ran").unlink()
    return folder


LINES = {
    "train": f"python {SCRIPTS / 'train.py'} --resume run --total-steps 2400 --progress none",
    "watch": f"python {SCRIPTS / 'watch.py'} run --steps 3",
    "replay": f"python {SCRIPTS / 'replay.py'} run 3",
    "evaluate": "python -m minitrpo evaluate run --episodes 2",
    "config": "python -m minitrpo train --config run --total-steps 1200 --progress none --out again",
}


@pytest.mark.slow
@pytest.mark.parametrize("command", LINES)
def test_a_module_is_loaded_only_if_its_name_is_typed_again(command, mine, tmp_path):
    shutil.copytree(mine, tmp_path / "here")
    words = LINES[command]
    for option in ("--algorithm mine:Reinforce", "--env world:Mine"):
        done = typed(words, tmp_path / "here")
        assert (done.returncode, done.stderr.count("\n"), done.stdout) == (2, 1, ""), done.stderr
        assert done.stderr.endswith(f"type it again: {option}\n"), done.stderr
        words += f" {option}"
        ran = (tmp_path / "here" / "ran").exists()
        assert ran == (option == "--env world:Mine"), "the algorithm's module was typed by then, the other was not"
    done = typed(words, tmp_path / "here")
    assert done.returncode == 0, done.stderr
    other = typed(words.replace("world:Mine", "world:Other"), tmp_path / "here")
    assert (other.returncode, other.stderr.count("\n")) == (2, 1), other.stderr


@pytest.mark.slow
def test_every_rank_trusts_what_was_typed_and_the_printed_command_has_it(mine, tmp_path):
    shutil.copytree(mine, tmp_path / "here")
    line = f"mpiexec -n 2 {LINES['train']} --oversubscribe"
    refused = typed(line, tmp_path / "here")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1), refused.stderr
    done = typed(f"{line} --env world:Mine --algorithm mine:Reinforce", tmp_path / "here")
    assert done.returncode == 0, done.stderr
    fails = ENV.replace(": pass", ":") + "    def step(self, action): raise ValueError('no')\n"
    (tmp_path / "here" / "world.py").write_text(fails)
    done = typed(f"{LINES['train']} --total-steps 9000 --env world:Mine --algorithm mine:Reinforce", tmp_path / "here")
    assert done.returncode == 1
    for said in ("to play that episode in one process: ", "this goes on from the last checkpoint: "):
        command = done.stderr.partition(said)[2].splitlines()[0]
        assert "--env world:Mine --algorithm mine:Reinforce" in command
        again = typed(command, tmp_path / "here")
        assert (again.returncode, "ValueError: no" in again.stderr) == (1, True), again.stderr


@pytest.mark.parametrize("name", ["os:abort", "http.server:test", "numpy.testing:assert_equal", "gone:Env"])
def test_a_function_that_a_file_names_is_not_called(name, gift, tmp_path):
    shutil.copytree(gift, tmp_path / "gift")
    config = json.loads((tmp_path / "gift" / "config.json").read_text())
    config["settings"]["env"] = name
    (tmp_path / "gift" / "config.json").write_text(json.dumps(config))
    done = forked("train", "--config", "gift", "--out", "new", "--progress", "none", cwd=tmp_path)
    assert (done.code, done.err.count("\n")) == (2, 1), done
    assert f"type it again: --env {name}" in done.err


def test_what_lies_in_the_folder_one_is_in_is_not_installed(tmp_path, monkeypatch):
    (tmp_path / "gift.py").write_text("")
    (tmp_path / "numpy").mkdir()
    (tmp_path / "numpy" / "gift.py").write_text("")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [is_installed(name) for name in ("gift", "package", "numpy.gift", "os", "this")] == [False] * 5
    assert is_installed("gymnasium.envs.classic_control")


@pytest.mark.parametrize("how", ["-m minitrpo train --env mine:Mine", f"{SCRIPTS / 'train.py'} --env mine:Mine"])
def test_the_folder_one_is_in_comes_last(how, tmp_path):
    """A matplotlib.py there, or a tqdm.py, is not the library."""
    (tmp_path / "mine.py").write_text(ENV)
    for name in ("matplotlib", "threadpoolctl", "scipy"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not the library')")
    words = " ".join(map(str, JOB))
    done = typed(f"python {how} {words} --out run", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "run" / "learning_curve.png").exists()


@pytest.mark.parametrize(
    ("words", "seconds"),
    [((), 30.0), (("--stuck-after", "7"), 7.0), (("--stuck-after=0.5",), 0.5), (("--stuck-after", "x"), 30.0),
     (("--stuck-after", "-1"), 30.0), (("--stuck-after", "inf"), 30.0), (("--stuck-after",), 30.0)],
)  # fmt: skip
def test_how_long_an_import_may_stand_still_is_read_before_the_command_line_is(words, seconds):
    assert stuck_after(["train.py", *words]) == seconds
