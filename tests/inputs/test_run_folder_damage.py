"""A run folder that was damaged, edited, swapped, or comes from a stranger: it runs nothing, and nothing is lost.

Either one line, exit code 2, and the folder stays as it was; or the run goes on from the older whole checkpoint.
"""

import contextlib
import io
import json
import pickle
import re
import shutil
import zipfile

import numpy as np
import pytest
from refusals import CARTPOLE, SMALL, one_line, unchanged
from runs import ROOT, forked, run

from minitrpo import BadInput
from minitrpo.experience.modules import is_installed
from minitrpo.run_folder.checkpoint import CHECKPOINTS
from minitrpo.run_folder.files import write_atomically
from minitrpo.run_folder.folder import RunFolder

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


# --- damages: functions of the folder


def without(*names):
    return lambda folder: [(folder / name).unlink() for name in names]


def a_folder_instead(*names):
    return lambda folder: [((folder / name).unlink(missing_ok=True), (folder / name).mkdir()) for name in names]


def changed(change, *names):
    """The bytes of files are others."""
    return lambda folder: [(folder / name).write_bytes(change((folder / name).read_bytes())) for name in names]


def rows(change):
    return changed(lambda old: "\n".join(change(old.decode().splitlines())).encode() + b"\n", CSV)


def of(other, *names):
    return lambda folder: [shutil.copyfile(folder.parent / other / name, folder / name) for name in names]


def with_config(change):
    return changed(lambda old: json.dumps(change(json.loads(old))).encode(), CONFIG)


def with_setting(**settings):
    return with_config(lambda config: config | {"settings": config["settings"] | settings})


def with_array(name, change):
    def edited(old):
        arrays, content = dict(np.load(io.BytesIO(old))), io.BytesIO()
        arrays[name] = change(arrays[name]) if name in arrays else change(np.zeros(1))
        np.savez(content, **{key: array for key, array in arrays.items() if array is not None})
        return content.getvalue()

    return changed(edited, *CHECKPOINTS)


class Bomb:
    def __reduce__(self):
        return (open, ("pickle-has-run", "w"))


def pickled(old):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("theta.npy", pickle.dumps(Bomb()))
    return content.getvalue()


def compressed(old):
    content = io.BytesIO()
    np.savez_compressed(content, **np.load(io.BytesIO(old)))
    return content.getvalue()


HALF, FIRST_BYTES = (lambda old: old[: len(old) // 2]), (lambda old: bytes(range(256)))
DAMAGES = {
    CONFIG: [
        *(without(CONFIG), a_folder_instead(CONFIG), changed(HALF, CONFIG), changed(FIRST_BYTES, CONFIG)),
        *(
            changed(lambda old: b"", CONFIG),
            changed(lambda old: 2 * old, CONFIG),
            changed(lambda old: b"[" * 10**5, CONFIG),
        ),
        *(with_config(lambda c: None), with_config(lambda c: {}), with_config(lambda c: c | {"settings": [1]})),
        *(with_config(lambda c: c | {"resumed": {}}), with_config(lambda c: c | {"provenance": 3})),
        *(with_config(lambda c: c | {"format": 1}), with_setting(env=3), with_setting(env="Nope-v0")),
        *(with_setting(env="Pendulum-v1"), with_setting(env="CartPole-v0"), with_setting(hidden="5")),
        *(with_setting(seed="7"), with_setting(seed=True), with_setting(seed=7), with_setting(colour="red")),
        *(with_setting(max_kl=0.5), with_setting(max_kl=np.nan), with_setting(algorithm="nope"), of("seed", CONFIG)),
    ],
    NPZ: [
        *(
            without(*CHECKPOINTS),
            a_folder_instead(NPZ),
            changed(HALF, *CHECKPOINTS),
            changed(FIRST_BYTES, *CHECKPOINTS),
        ),
        *(changed(lambda old: b"", *CHECKPOINTS), changed(lambda old: old[len(old) // 2 :], *CHECKPOINTS)),
        *(changed(lambda old: pickle.dumps(Bomb()), *CHECKPOINTS), changed(pickled, *CHECKPOINTS)),
        *(changed(compressed, *CHECKPOINTS), with_array("theta", lambda theta: np.array([Bomb()], object))),
        *(with_array("theta", lambda theta: None), with_array("theta", lambda theta: np.nan * theta)),
        *(with_array("theta", lambda theta: theta + 1e-9), with_array("theta", lambda theta: theta[None])),
        *(with_array("theta", lambda theta: theta.astype(np.float32)), with_array("new", lambda new: new)),
        *(with_array("run_checksum", lambda checksum: None), with_array("run_counters", lambda counters: counters + 1)),
        *(of("seed", *CHECKPOINTS), of("env", *CHECKPOINTS)),
        lambda folder: [changed(lambda old: b"", NPZ)(folder), a_folder_instead(CHECKPOINTS[1])(folder)],
    ],
    CSV: [
        *(without(CSV), a_folder_instead(CSV), changed(lambda old: b"", CSV), changed(FIRST_BYTES, CSV)),
        *(changed(lambda old: old[:-30], CSV), rows(lambda r: r[:1]), rows(lambda r: r[:-1]), rows(lambda r: r[1:])),
        *(rows(lambda r: r[:1] + r[2:]), rows(lambda r: r[:2] + r[1:]), rows(lambda r: r[:1] + r[:0:-1])),
        *(
            rows(lambda r: [r[0].replace("kl,", "k,"), *r[1:]]),
            rows(lambda r: [line[: line.rindex(",")] for line in r]),
        ),
        *(rows(lambda r: [line + ",1" for line in r]), rows(lambda r: ['"' + x.replace(",", '","') + '"' for x in r])),
        *(rows(lambda r: [*r[:2], r[2] + "9" * 200_000, *r[3:]]), rows(lambda r: [*r[:2], "# good so far", *r[2:]])),
        *(rows(lambda r: [r[0], *(re.sub(",[^,]*", ",x", line, count=1) for line in r[1:])]), of("env", CSV)),
        *(rows(lambda r: [r[0], *(re.sub(r"^(\d+,\d+)", r"\1.0", line) for line in r[1:])]),),
        *(rows(lambda r: [r[0], re.sub(r",\d", ",7", r[1]), *r[2:]]),),
    ],
    "in the way": [a_folder_instead(name) for name in ("failure.txt", "config.json.tmp", "learning_curve.png")],
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_run_is_refused_in_one_line_and_left_alone(name, runs, tmp_path):
    for number, damage in enumerate(DAMAGES[name]):
        folder = shutil.copytree(runs / "one", runs / f"{name} {number}")
        damage(folder)
        with unchanged(folder, tmp_path):
            named = [name.partition(".")[0]] if number < 4 and name in (CONFIG, NPZ, CSV) else []
            one_line(forked("train", "--resume", folder, *GO_ON, cwd=tmp_path), *named)
            if name in (CONFIG, NPZ):
                one_line(forked("watch", folder, cwd=tmp_path))
            if name == CONFIG and number % 5 == 0:
                one_line(forked("replay", folder, 0, cwd=tmp_path))
            if name == CSV:
                one_line(forked("entry", folder, cwd=tmp_path))


FINE = {  # what is dropped is said of the first of them
    "the newest damaged": changed(HALF, NPZ), "the newest compressed": changed(compressed, NPZ),
    "the newest gone": without(NPZ), "a row more": rows(lambda r: [*r, r[-1]]),
    "half a row more": changed(lambda old: old + b"4,16", CSV),
    "the one before damaged": changed(lambda old: b"x", CHECKPOINTS[1]),
    "other line ends": changed(lambda old: old.replace(b"\n", b"\r\n"), CSV),
    "what a killed run leaves": lambda folder: [(folder / f"{name}.tmp").write_text("") for name in (CONFIG, NPZ)],
    "a failure of before": lambda folder: (folder / "failure.txt").write_text("rank 0"),
}  # fmt: skip


@pytest.mark.parametrize("name", FINE)
def test_a_run_goes_on_from_what_is_whole_and_says_what_it_dropped(name, copy, tmp_path):
    FINE[name](copy)
    done = forked("train", "--resume", "run", *GO_ON, cwd=tmp_path)
    assert done.code == 0, str(done)
    assert (CHECKPOINTS[1] in done.out) == (name in [*FINE][:2])
    assert ("row(s) after update" in done.out) == (name in [*FINE][:5])
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
    "train": ("--resume", "run", *GO_ON), "watch": ("run", "--steps", 3), "replay": ("run", 0),
    "train --config": ("--config", "run", "--out", "again", "--progress", "none"),
}  # fmt: skip


@pytest.fixture(scope="module")
def gift(tmp_path_factory):
    """Return a folder with a run of an algorithm and an environment of its own, and their modules."""
    folder = tmp_path_factory.mktemp("gift")
    (folder / "mine.py").write_text(LOUD + (ROOT / "mpi_scripts/own/reinforce.py").read_text())
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
    with_setting(env=name)(copy)
    with unchanged(tmp_path):
        done = forked("train", "--config", "run", "--out", "new", "--progress", "none", cwd=tmp_path)
        one_line(done, f"type it again: --env {name}")


def test_the_folder_one_is_in_comes_last_and_nothing_in_it_is_installed(tmp_path, monkeypatch):
    """A matplotlib.py there, or a scipy.py, is not the library."""
    (tmp_path / "numpy").mkdir()
    (tmp_path / "mine.py").write_text(WORLD)
    for name in ("gift", "matplotlib", "threadpoolctl", "scipy", "numpy/gift"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not the library')")
    for script in ("train.py", "train"):
        done = run(script, "--env", "mine:Mine", *SMALL[2:], "--out", f"of {script}", cwd=tmp_path, new=True)
        assert (done.code, done.err) == (0, ""), done.err
        assert (tmp_path / f"of {script}" / "learning_curve.png").exists()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert not any(map(is_installed, ("gift", "numpy.gift", "os", "this")))
    assert is_installed("gymnasium.envs")


def test_a_file_is_written_to_a_fresh_one_and_through_no_link(tmp_path):
    (tmp_path / "precious").write_text("precious")
    for name in ("file", "file.tmp"):
        (tmp_path / name).symlink_to(tmp_path / "precious")
    write_atomically(tmp_path / "file", b"new")
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {"file": "new", "precious": "precious"}


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
