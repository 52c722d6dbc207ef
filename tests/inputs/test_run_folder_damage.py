"""A run folder that was damaged, edited, swapped, or comes from a stranger: it runs nothing, and nothing is lost.

Either one line, exit code 2, and the folder stays as it was; or the run goes on from the older whole checkpoint.
"""

import contextlib
import io
import json
import os
import pickle
import re
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from refusals import CARTPOLE, SMALL, one_line, unchanged
from runs import ROOT, forked, run

from minitrpo import BadInput
from minitrpo.experience.trust import is_installed
from minitrpo.run_folder.atomic_files import write_atomically
from minitrpo.run_folder.folder import CHECKPOINTS, RunFolder

CONFIG, CSV, NPZ = "config.json", "metrics.csv", "checkpoint.npz"
GO_ON = ("--total-steps", 200, "--progress", "none")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return a folder of small runs: one, one of another seed, one of another environment."""
    folder = tmp_path_factory.mktemp("runs")
    for name, words in (("one", ()), ("seed", ("--seed", 5)), ("env", ("--env", "Acrobot-v1", "--total-steps", 60))):
        done = forked("train", *SMALL, *words, "--out", name, cwd=folder)
        assert done.code == 0, str(done)
    return folder


@pytest.fixture
def copy(runs, tmp_path):
    """Return a copy of the first one, in the folder of the test."""
    return shutil.copytree(runs / "one", tmp_path / "run")


# --- damages: "missing", "a folder", or a function of the bytes of a file


def damage(folder, how, *names):
    for place in (folder / name for name in names):
        old = place.read_bytes() if place.exists() else b""
        place.unlink(missing_ok=True)
        if how == "a folder":
            place.mkdir()
        elif how != "missing":
            place.write_bytes(how(old))


def rows(change):
    return lambda old: "\n".join(change(old.decode().splitlines())).encode() + b"\n"


def config(change):
    return lambda old: json.dumps(change(json.loads(old))).encode()


def setting(**values):
    return config(lambda old: old | {"settings": old["settings"] | values})


def array(name, change):
    def edited(old):
        arrays, content = dict(np.load(io.BytesIO(old))), io.BytesIO()
        arrays[name] = change(arrays.get(name))
        np.savez(content, **{key: value for key, value in arrays.items() if value is not None})
        return content.getvalue()

    return edited


class Bomb:
    def __reduce__(self):
        return (open, ("pickle-has-run", "w"))


def zipped(old):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("theta.npy", pickle.dumps(Bomb()))
    return content.getvalue()


EMPTY, HALF, BINARY = (lambda old: b""), (lambda old: old[: len(old) // 2]), (lambda old: bytes(range(256)))
DAMAGES = {
    CONFIG: [
        *(lambda old: 2 * old, lambda old: b"[" * 10**5, config(lambda c: None), config(lambda c: {})),
        *(config(lambda c: c | {"settings": [1]}), setting(env="Nope-v0")),
        *(config(lambda c: c | {"format": 1}), setting(env=3)),
        *(setting(env="Pendulum-v1"), setting(env="CartPole-v0"), setting(hidden="5"), setting(colour="red")),
        *(setting(seed="7"), setting(seed=True), setting(seed=7), setting(max_kl=0.5), setting(max_kl=np.nan)),
    ],
    NPZ: [
        *(lambda old: pickle.dumps(Bomb()), zipped, array("theta", lambda old: np.array([Bomb()], object))),
        *(array("theta", lambda old: None), array("theta", lambda old: old[None])),
        *(array("theta", lambda old: old.astype(np.float32)), array("new", lambda old: np.zeros(1))),
        array("run_filter", lambda old: old[1:]),
    ],
    CSV: [
        *(lambda old: old[:-30], rows(lambda r: r[:1]), rows(lambda r: r[:-1]), rows(lambda r: r[1:])),
        *(rows(lambda r: r[:1] + r[2:]), rows(lambda r: r[:2] + r[1:]), rows(lambda r: r[:1] + r[:0:-1])),
        *(
            rows(lambda r: [r[0].replace("kl,", "k,"), *r[1:]]),
            rows(lambda r: [line[: line.rindex(",")] for line in r]),
        ),
        rows(lambda r: [line + ",1" for line in r]),
        *(rows(lambda r: [*r[:2], r[2] + "9" * 200_000, *r[3:]]), rows(lambda r: [*r[:2], "# good so far", *r[2:]])),
        rows(lambda r: [r[0], *(re.sub(",[^,]*", ",x", line, count=1) for line in r[1:])]),
        rows(lambda r: [r[0], *(re.sub(r"^(\d+,\d+)", r"\1.0", line) for line in r[1:])]),
    ],
}


@pytest.mark.parametrize("name", DAMAGES)
@pytest.mark.slow
def test_a_damaged_run_is_refused_in_one_line_and_left_alone(name, runs, tmp_path):
    names = CHECKPOINTS if name == NPZ else (name,)
    kinds = ["missing", "a folder", EMPTY, HALF, BINARY, *DAMAGES[name]]
    swapped = [(lambda old, other=other: (runs / other / name).read_bytes()) for other in ("seed", "env")]
    for number, how in enumerate([*kinds, *(swapped if name != CSV else swapped[1:])]):
        folder = shutil.copytree(runs / "one", tmp_path / str(number))
        damage(folder, how, *names)
        with unchanged(tmp_path):
            done = forked("train", "--resume", folder, *GO_ON, cwd=tmp_path)
            one_line(done, *([name.partition(".")[0]] if number < 5 else []))
            if number % 3 == 0:
                one_line(forked(*(("entry", folder) if name == CSV else ("watch", folder)), cwd=tmp_path))
            if number % 8 == 0 and name != CSV:
                one_line(forked("replay", folder, 0, cwd=tmp_path))


def test_a_folder_in_a_files_place_is_named_and_not_gone_around(runs, tmp_path):
    for name in (NPZ, "failure.txt", "config.json.tmp"):
        folder = shutil.copytree(runs / "one", tmp_path / name)
        damage(folder, "a folder", name)
        with unchanged(tmp_path):
            one_line(forked("train", "--resume", folder, *GO_ON, cwd=tmp_path), name)


FINE = {  # what is dropped is said of the first of them
    "the newest damaged": (HALF, NPZ), "the newest gone": ("missing", NPZ),
    "a row more": (rows(lambda r: [*r, r[-1]]), CSV),
    "half a row more": (lambda old: old + b"4,16", CSV),
    "the one before damaged": (BINARY, CHECKPOINTS[1]),
    "other line ends": (lambda old: old.replace(b"\n", b"\r\n"), CSV),
    "what a killed run leaves": (BINARY, f"{CONFIG}.tmp", f"{NPZ}.tmp", "failure.txt"),
}  # fmt: skip


@pytest.mark.parametrize("name", FINE)
def test_a_run_goes_on_from_what_is_whole_and_says_what_it_dropped(name, copy, tmp_path):
    damage(copy, *FINE[name])
    done = forked("train", "--resume", "run", *GO_ON, cwd=tmp_path)
    assert done.code == 0, str(done)
    assert (CHECKPOINTS[1] in done.out) == (name == "the newest damaged")
    assert ("row(s) after update" in done.out) == (name in [*FINE][:3])
    assert [int(row["iteration"]) for row in RunFolder(copy).rows()] == [1, 2, 3, 4]


def test_a_flipped_bit_anywhere_in_a_checkpoint_is_damage_or_changes_nothing(copy):
    whole, arrays = (copy / NPZ).read_bytes(), RunFolder(copy).load_checkpoint()
    (copy / CHECKPOINTS[1]).unlink()
    directory, rng = whole.find(b"PK\x01\x02"), np.random.default_rng(0)  # in which kinds stand
    for at in [*range(directory, len(whole), 5), *rng.integers(0, directory, 300).tolist()]:
        content = bytearray(whole)
        content[at] ^= 1 << int(rng.integers(8))
        (copy / NPZ).write_bytes(content)
        with contextlib.suppress(BadInput):
            found = RunFolder(copy).load_checkpoint()
            assert found.keys() == arrays.keys()
            assert all(np.array_equal(found[name], arrays[name], equal_nan=True) for name in arrays)


# --- a stranger's

LOUD = "from pathlib import Path\nPath('has-run').touch()\n"
WORLD = "from gymnasium.envs.classic_control import AcrobotEnv, CartPoleEnv\nclass Mine(CartPoleEnv): pass\n"
COMMANDS = {
    "train": ("--resume", "run", *GO_ON), "replay": ("run", 0),
    "watch": ("run", "--steps", 1, "--frames", 1, "--pictures", 1),
    "train --config": ("--config", "run", "--out", "again", "--progress", "none"),
}  # fmt: skip


@pytest.fixture(scope="module")
def gift(tmp_path_factory):
    """Return a folder with a run of an algorithm and an environment of its own, and their modules."""
    folder = tmp_path_factory.mktemp("gift")
    (folder / "mine.py").write_text(LOUD + (ROOT / "minitrpo/course/reinforce.py").read_text())
    (folder / "world.py").write_text(LOUD + WORLD)
    words = (*CARTPOLE[2:], "--algorithm", "mine:Reinforce", "--env", "world:Mine", "--total-steps", 100)
    assert forked("train", *words, "--steps-per-update", 50, "--out", "run", cwd=folder).code == 0
    (folder / "has-run").unlink()
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_a_module_is_loaded_only_if_its_name_is_typed_and_the_line_says_how(name, gift, tmp_path):
    here = shutil.copytree(gift, tmp_path / "here")
    command, words = name.split()[0], COMMANDS[name]
    with unchanged(here):
        refused = forked(command, *words, cwd=here)
    for _ in range(2):
        one_line(refused, "type it again: ")
        words = (*words, *refused.err.partition("type it again: ")[2].split())
        refused = forked(command, *words, cwd=here)
    assert refused.code == 0, str(refused)
    assert (here / "has-run").exists()
    one_line(forked(command, *words[:-1], "world:Other", cwd=here))


@pytest.mark.parametrize("name", ["os:abort", "http.server:test", "numpy.testing:assert_equal", "gone:Env"])
def test_a_function_that_a_file_names_is_not_called(name, copy, tmp_path):
    damage(copy, setting(env=name), CONFIG)
    with unchanged(tmp_path):
        done = forked("train", "--config", "run", "--out", "new", "--progress", "none", cwd=tmp_path)
        one_line(done, f"type it again: --env {name}")


@pytest.mark.slow
def test_the_folder_one_is_in_comes_last(tmp_path):
    """A matplotlib.py there, or a scipy.py, is not the library."""
    (tmp_path / "mine.py").write_text(WORLD)
    for name in ("matplotlib", "threadpoolctl", "scipy"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not the library')")
    for script in ("train.py", "train"):
        done = run(script, "--env", "mine:Mine", *SMALL[2:], "--out", f"of {script}", cwd=tmp_path, new=True)
        assert (done.code, done.err) == (0, ""), done.err
        assert (tmp_path / f"of {script}" / "learning_curve.png").exists()


def test_nothing_in_the_folder_one_is_in_is_installed(tmp_path, monkeypatch):
    (tmp_path / "numpy").mkdir()
    for name in ("gift", "numpy/gift"):
        (tmp_path / f"{name}.py").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert not any(map(is_installed, ("gift", "os", "this")))
    assert is_installed("gymnasium.envs.classic_control")


def test_a_file_is_written_to_a_fresh_one_and_through_no_link(tmp_path):
    (tmp_path / "precious").write_text("precious")
    for name in ("file", "file.tmp"):
        (tmp_path / name).symlink_to(tmp_path / "precious")
    write_atomically(tmp_path / "file", b"new")
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {"file": "new", "precious": "precious"}


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, MemoryError, OSError])
def test_a_file_whose_writing_is_stopped_leaves_the_old_one_and_nothing_else(step, stop, tmp_path, monkeypatch):
    def stopped(*arguments):
        raise stop

    (tmp_path / "file").write_text("old")
    monkeypatch.setattr(*{"fsync": (os, "fsync", stopped), "replace": (Path, "replace", stopped)}[step])
    with pytest.raises(stop):
        write_atomically(tmp_path / "file", b"new")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"file": "old"}


NOW = {
    "world.py": ("(CartPoleEnv): pass", "(AcrobotEnv): pass", "theta"),
    "mine.py": ('return {"theta": self.theta}', 'return {"theta": self.theta, "more": np.zeros(2)}', "more"),
}


@pytest.mark.parametrize("name", NOW)
def test_a_module_that_no_longer_fits_the_checkpoint_is_refused(name, gift, tmp_path):
    here, (old, new, said) = shutil.copytree(gift, tmp_path / "here"), NOW[name]
    text = (here / name).read_text()
    assert text.count(old) == 1
    (here / name).write_text(text.replace(old, new))
    words = ("--env", "world:Mine", "--algorithm", "mine:Reinforce")
    with unchanged(here / "run"):
        one_line(forked("train", "--resume", "run", "--total-steps", 900, *words, cwd=here), said)
