"""Bad input, hundreds of kinds: one line that says what is wrong, exit code 2, and nothing is written."""

import contextlib
import io
import json
import pickle
import re
import shutil
import sys
import zipfile
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from runs import TOYS
from runs import forked

from minitrpo.__main__ import main
from minitrpo.algorithms.options import flag
from minitrpo.algorithms.trpo import TRPOSettings
from minitrpo.commands import train
from minitrpo.commands.command_line import parse
from minitrpo.run_folder.checkpoint import CHECKPOINTS
from minitrpo.supervision.jobs import mpiexec_code
from minitrpo.training.settings import Settings

SMALL = ("--preset", "episodes",
         "--env", "CartPole-v1", "--hidden", "4", "--critic", "linear", "--cg-iterations", "2", "--progress", "none",
         "--total-steps", "120", "--steps-per-update", "40")  # fmt: skip


def refused(done, *words):
    """Insist on one line with these words and exit code 2."""
    assert done.code == 2, done
    said = done.err.splitlines()
    assert len(said) == 1, done
    assert said[0].startswith(f"{done.command}.py: "), done
    assert len(said[0]) > len(f"{done.command}.py: ") + 15, done
    assert len(said[0]) < 1500, done
    for word in words:
        assert word in said[0], done


# --- settings, one by one

NO_INTEGER = ("x", "", "nan", "inf", "-inf", "1e400", "0.5", "-1", "0x10", "1,000", "²", "True", "1e-3", "10**3")
NO_NUMBER = ("x", "", "nan", "inf", "-inf", "1e400", "0,5", "True", "1/2")
MAY_BE = {"seed": (), "steps_per_update": ("0", "1e10"), "total_steps": ("0", "1e30"), "envs_per_rank": ("0", "1025"),
          "num_envs": ("0", "1025"), "initial_log_std": ("-21", "6"), "filter_clip": ("0", "-1", "1e7"),
          "hidden": ("", "0", "64,", ",64", "-1", "64;64", "²", "1e3", "100000", "64 64", "64,,64", "9" * 5000),
          "checkpoint_every": ("", "0", "x", "-1", "1.5", "s", "1e3", "1m", "0.1234567s", "nans", "infs"),
          "max_kl": ("0", "-1", "1001"), "discount": ("0", "1.1", "-1"), "gae_lambda": ("-0.1", "1.1"),
          "critic_step_size": ("0", "2"), "cg_damping": ("-1", "1e7"), "fisher_fraction": ("0", "1.01"),
          "margin": ("-1",), "cg_iterations": ("0",), "critic_epochs": ("0",), "adapt_kl_by": ("0", "-1")}  # fmt: skip


AT_THE_EDGE = {"seed": ("0", str(2**63 - 1)), "steps_per_update": ("1", "1000000000"), "total_steps": ("1",),
               "envs_per_rank": ("1", "1024"), "num_envs": ("1", "1024"), "initial_log_std": ("-20", "5"),
               "filter_clip": ("1e6",), "hidden": ("1",), "checkpoint_every": ("1", "0.1s"), "max_kl": ("1000", "1e-9"),
               "discount": ("1",), "gae_lambda": ("0", "1"), "critic_step_size": ("1",), "cg_damping": ("0", "1e6"),
               "fisher_fraction": ("1",), "margin": ("0",), "cg_iterations": ("1",), "critic_epochs": ("1",),
               "eval_every": ("0",), "eval_episodes": ("1",), "record_every": ("1",), "adapt_window": ("1",),
               "adapt_steps_by": ("1",), "adapt_min_steps": ("1",), "first_states": ("0",)}  # fmt: skip


def settings():
    """Return (flag, text) for everything that a setting must not be."""
    for f in (*fields(Settings), *fields(TRPOSettings)):
        texts = MAY_BE.get(f.name, ())
        if f.metadata["choices"]:
            texts = ("", "x", f.metadata["choices"][0].upper(), " " + f.metadata["choices"][0])
        elif isinstance(f.default, int):
            texts = (*NO_INTEGER, *texts)
        elif isinstance(f.default, float):
            texts = (*NO_NUMBER, *texts)
        yield from ((flag(f.name), text) for text in texts)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in AT_THE_EDGE.items() for text in texts])
def test_a_setting_at_the_edge_is_allowed(name, text):
    chosen = parse(["--env", "CartPole-v1", flag(name), text]).choice().flat()
    assert str(chosen[name]) == text or float(chosen[name]) == float(text)


@pytest.mark.parametrize(("option", "text"), list(settings()), ids=lambda text: text[:30] or "nothing")
def test_a_setting_that_makes_no_sense(option, text, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(train, "launch", lambda *_: pytest.fail("the run began"))
    code = train.main([f"{option}={text}"])
    said = capfd.readouterr().err.splitlines()
    assert (code, len(said)) == (2, 1), said
    assert option in said[0]
    assert 20 < len(said[0]) < 1500
    assert not any(tmp_path.iterdir()), "something was written"


# --- command lines

MODULES = {
    "wrong_syntax": "def f(:\n",
    "wrong_indent": "  x = 1\n x = 2",
    "leaves": "import sys\nsys.exit(3)",
    "raises": "raise RuntimeError('two\\nlines')",
    "imports": "import nothing_of_that_name",
    "binary": "\0",
    "base": "raise BaseException('odd')",
    "recursive": "def f(): f()\nf()",
    "empty": "",
    "mute": "class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
}
ENVS = (
    "",
    " ",
    "CartPole-v99",
    "CartPole-v0.5",
    "cartpol-v1",
    "Größe-v0",
    ":CartPole-v1",
    "os:",
    "os:Nothing-v0",
    "..x:Foo-v0",
    ".:Foo-v0",
    "a:b:c",
    "no_such_module:Env-v0",
    "no.such.module:Env-v0",
    "x" * 9000,
    "CartPole-v1\n",
    "FrozenLake-v1",
    "Taxi-v3",
    "Blackjack-v1",
    "-v1",
    "/etc/passwd",
    "None",
    "os.path:join",
    "failing_envs:TupleActions-v0",
    "failing_envs:DictObservations-v0",
    "CartPole-v1,Pendulum-v1",
)
ALGORITHMS = (
    "",
    "x",
    "TRPO",
    "os:",
    ":x",
    "os:path",
    "os:nothing",
    "json:JSONDecoder",
    "collections:OrderedDict",
    "no_such_module:X",
    "..x:Y",
    "a:b:c",
    "minitrpo.algorithms.trpo:make_critic",
    "numpy:ndarray",
)
LINES = {
    "unknown flag": (("--steps", "5"), "--steps"),
    "abbreviation": (("--total", "5"), "--total"),
    "a word": (("CartPole-v1",), "CartPole-v1"),
    "short flag": (("-x",), "-x"),
    "no value": (("--env",), "--env"),
    "flag as value": (("--env", "--seed"), "--env"),
    "no such name": (("--lanes", "4"), "--lanes"),
    "value for a switch": (("--trace=yes",), "--trace"),
    "preset": (("--preset", "best"), "default"),
    "preset without text": (("--preset", ""), "default"),
    "progress": (("--progress", "loud"), "lines"),
    "stuck nan": (("--stuck-after", "nan"), "--stuck-after"),
    "stuck inf": (("--stuck-after", "inf"), "--stuck-after"),
    "stuck 0": (("--stuck-after", "0"), "--stuck-after"),
    "stuck -1": (("--stuck-after", "-1"), "--stuck-after"),
    "stuck x": (("--stuck-after", "x"), "--stuck-after"),
    "limits crossed": (("--adapt-min-steps", "9000", "--adapt-max-steps", "10"), "--adapt-min-steps"),
    "kl limits crossed": (("--adapt-min-kl", "0.1", "--adapt-max-kl", "0.01"), "--adapt-min-kl"),
    "network too large": (("--env", "CartPole-v1", "--hidden", "99999,99999"), "parameters"),
    "two folders": (("--resume", "a", "--out", "b"), "--out"),
    "out without name": (("--out", ""), "--out"),
    "resume without name": (("--resume", ""), "--resume"),
    "resume nothing": (("--resume", "nowhere"), "nowhere"),
    "resume a device": (("--resume", "/dev/null"), "/dev/null"),
    "resume a long name": (("--resume", "x" * 300), "xxx"),
    "resume here": (("--resume", "."), "config.json"),
    "out below a file": (("--out", "/etc/passwd/run"), "--out"),
    "out is a file": (("--out", "/etc/passwd"), "--out"),
    "out is not empty": (("--out", "/etc"), "not empty"),
    "out has a long name": (("--out", "x" * 300), "--out"),
    "out is a device": (("--out", "/dev/null"), "--out"),
    "out cannot be made": (("--out", "/proc/run"), "--out"),
}


@pytest.mark.parametrize("case", LINES)
def test_a_command_line_that_makes_no_sense(case, tmp_path):
    words, said = LINES[case]
    refused(forked("train", *words, cwd=tmp_path), said)
    assert not any(tmp_path.iterdir()), "something was written"


@pytest.mark.parametrize("env", ENVS, ids=lambda text: text[:30] or "nothing")
def test_an_environment_that_is_none(env, tmp_path):
    refused(forked("train", f"--env={env}", cwd=tmp_path), env.split(":")[-1].strip()[:20])
    assert not any(tmp_path.iterdir()), "something was written"


@pytest.mark.parametrize("name", ALGORITHMS, ids=lambda text: text or "nothing")
def test_an_algorithm_that_is_none(name, tmp_path):
    refused(forked("train", "--algorithm", name, cwd=tmp_path), "--algorithm")
    assert not any(tmp_path.iterdir()), "something was written"


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("option", ["--env", "--algorithm"])
def test_a_module_that_cannot_be_used(module, option, tmp_path):
    (tmp_path / f"{module}.py").write_text(MODULES[module])
    refused(forked("train", option, f"{module}:Thing-v0", cwd=tmp_path), module)
    assert {path.name for path in tmp_path.iterdir()} <= {f"{module}.py", "__pycache__"}


# --- the other commands

WATCH = {
    "nothing": (),
    "no folder": ("nowhere",),
    "a file": ("/etc/passwd",),
    "two": ("a", "b"),
    "no run": (".",),
    "seed -1": ("RUN", "--seed", "-1"),
    "seed 2^31": ("RUN", "--seed", 2**31),
    "seed x": ("RUN", "--seed", "x"),
    "steps 0": ("RUN", "--steps", 0),
    "steps inf": ("RUN", "--steps", "inf"),
    "frames 0": ("RUN", "--frames", 0),
    "frames many": ("RUN", "--frames", "1e9"),
    "pictures 0": ("RUN", "--pictures", 0),
    "pictures many": ("RUN", "--pictures", "1e9"),
    "pictures nan": ("RUN", "--pictures", "nan"),
    "unknown": ("RUN", "--episode", 3),
    "long": ("x" * 300,),
    "empty": ("",),
}
REPLAY = {
    "nothing": (),
    "no episode": ("RUN",),
    "no folder": ("nowhere", 0),
    "a file": ("/etc/passwd", 0),
    "no run": (".", 0),
    "episode -1": ("RUN", "-1"),
    "episode x": ("RUN", "x"),
    "episode inf": ("RUN", "inf"),
    "far": ("RUN", "1e9"),
    "episode nan": ("RUN", "nan"),
    "half": ("RUN", "0.5"),
    "iteration 0": ("RUN", 0, "--iteration", 0),
    "iteration -1": ("RUN", 0, "--iteration", "-1"),
    "iteration x": ("RUN", 0, "--iteration", "x"),
    "past": ("RUN", 0, "--iteration", 1),
    "future": ("RUN", 0, "--iteration", "1e9"),
    "three": ("RUN", 0, 1),
    "iteration inf": ("RUN", 0, "--iteration", "inf"),
    "unknown": ("RUN", 0, "--seed", 1),
    "empty": ("", 0),
}
SPEEDUP = {
    "word": ("x",), "unknown": ("--rank", "1"), "ranks 0": ("--ranks", "0"), "ranks x": ("--ranks", "x"),
    "no one": ("--ranks", "2,4"), "gap": ("--ranks", "1,,2"), "minus": ("--ranks=-1",), "half": ("--ranks", "1.5"),
    "square": ("--ranks", "1,²"), "blank": ("--ranks", " "), "bomb": ("--ranks", "1,1000000000"),
    "updates 0": ("--updates", 0), "updates x": ("--updates", "x"), "updates inf": ("--updates", "inf"),
    "rounds 0": ("--rounds", 0), "rounds -1": ("--rounds", "-1"), "warm-up -1": ("--warm-up", "-1"),
    "once": ("--updates", 1, "--rounds", 1), "steps 0": ("--steps-per-update", 0),
    "steps nan": ("--steps-per-update", "nan"), "env": ("--env", "Reachr-v5"), "env empty": ("--env", ""),
    "algorithm": ("--algorithm", "x"), "preset": ("--preset", "x"), "out": ("--out", "/etc"),
    "out file": ("--out", "/etc/passwd"), "out device": ("--out", "/dev/null/x"), "twice": ("--", "--env", "A-v0"),
    "ours": ("--", "--out=x"), "total": ("--", "--total-steps", "5"), "seed": ("--", "--seed", "x"),
    "flag": ("--", "--steps", "5"), "envs": ("--ranks", "1,2", "--", "--requests", "segments", "--num-envs", "1"),
    "resume": ("--", "--resume", "x"), "help": ("--", "--max-kl", "nan"),
}  # fmt: skip
OTHERS = [(command, name) for command, table in (("watch", WATCH), ("replay", REPLAY), ("speedup", SPEEDUP))
          for name in table]  # fmt: skip


@pytest.mark.parametrize(("command", "name"), OTHERS, ids=lambda text: text.replace(" ", "-"))
def test_another_command_line_that_makes_no_sense(command, name, tmp_path, run):
    words = {"watch": WATCH, "replay": REPLAY, "speedup": SPEEDUP}[command][name]
    before = content(run)
    refused(forked(command, *(run if word == "RUN" else word for word in words), cwd=tmp_path))
    assert not any(tmp_path.iterdir()), "something was written"
    assert content(run) == before


@pytest.mark.parametrize("words", [("fly",), ("Train",), ("train.py",), ("",), ("--version",), ("-x",)])
def test_a_command_that_is_none(words, monkeypatch, capfd):
    monkeypatch.setattr(sys, "argv", ["minitrpo", *words])
    assert main() == 2
    assert len(capfd.readouterr()) > 0


# --- run folders that were damaged


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Three small runs: one, another of another seed, and one of another environment."""
    folder = tmp_path_factory.mktemp("runs")
    for name, words in (("one", ()), ("seed", ("--seed", 5)), ("env", ("--env", "Acrobot-v1", "--total-steps", 60))):
        done = forked("train", *SMALL, *words, "--out", name, cwd=folder)
        assert done.code == 0, done
    return folder


@pytest.fixture(scope="module")
def run(runs):
    return runs / "one"


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def edited(**changes):
    """Return a damage: config.json with other settings (None: without)."""

    def damage(folder):
        config = json.loads((folder / "config.json").read_text())
        config["settings"] |= changes
        (folder / "config.json").write_text(json.dumps(config))

    return damage


def with_config(change):
    def damage(folder):
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(change(config)))

    return damage


def with_file(name, change):
    """Return a damage: the bytes of a file changed; of both checkpoints if it is one."""

    def damage(folder):
        for each in CHECKPOINTS if name == CHECKPOINTS[0] else (name,):
            (folder / each).write_bytes(change((folder / each).read_bytes()))

    return damage


def with_arrays(**changes):
    """Return a damage: arrays of both checkpoints changed, added or (None) removed."""

    def damage(folder):
        for name in CHECKPOINTS:
            arrays = dict(np.load(folder / name))
            for key, change in changes.items():
                arrays[key] = change(arrays.get(key)) if callable(change) else change
            np.savez(folder / name, **{key: array for key, array in arrays.items() if array is not None})

    return damage


def from_run(other, *names):
    def damage(folder):
        for name in names:
            shutil.copyfile(folder.parent / other / name, folder / name)

    return damage


def no_file(*names):
    return lambda folder: [(folder / name).unlink() for name in names]


def folder_instead(name):
    return lambda folder: [(folder / name).unlink(), (folder / name).mkdir()]


class Bomb:
    def __reduce__(self):
        return (Path.touch, (Path("/tmp/minitrpo-pickle-has-run"),))


def zipped(**files):
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return memory.getvalue()


def one_array(_):
    memory = io.BytesIO()
    np.save(memory, np.zeros(3))
    return memory.getvalue()


def rows(change):
    return with_file("metrics.csv", lambda old: "\n".join(change(old.decode().splitlines())).encode() + b"\n")


NPZ, CSV = "checkpoint.npz", "metrics.csv"
CONFIG = {
    "missing": no_file("config.json"),
    "folder": folder_instead("config.json"),
    "empty": with_file("config.json", lambda old: b""),
    "half": with_file("config.json", lambda old: old[: len(old) // 2]),
    "binary": with_file("config.json", lambda old: bytes(range(256))),
    "list": with_config(lambda c: []),
    "null": with_config(lambda c: None),
    "no-keys": with_config(lambda c: {}),
    "text": with_config(lambda c: "x"),
    "number": with_config(lambda c: 3),
    "deep": with_file("config.json", lambda old: b"[" * 100_000),
    "twice": with_file("config.json", lambda old: old + old),
    "utf-16": with_file("config.json", lambda o: o.decode().encode("utf-16")),
    "no-settings": with_config(lambda c: c | {"settings": None}),
    "settings-list": with_config(lambda c: c | {"settings": [1]}),
    "settings-none": with_config(lambda c: c | {"settings": {}}),
    "provenance": with_config(lambda c: c | {"provenance": 3}),
    "no-resumed": with_config(lambda c: {k: v for k, v in c.items() if k != "resumed"}),
    "no-provenance": with_config(lambda c: {k: v for k, v in c.items() if k != "provenance"}),
    "resumed": with_config(lambda c: c | {"resumed": {}}),
    "format-1": with_config(lambda c: c | {"format": 1}),
    "format-99": with_config(lambda c: c | {"format": 99}),
    "format-text": with_config(lambda c: c | {"format": "2"}),
    "format-none": with_config(lambda c: c | {"format": None}),
    "env-number": edited(env=3),
    "env-none": edited(env=None),
    "env-unknown": edited(env="Nope-v0"),
    "env-empty": edited(env=""),
    "env-other": edited(env="Pendulum-v1"),
    "env-akin": edited(env="Acrobot-v1"),
    "hidden": edited(hidden="5"),
    "hidden-bad": edited(hidden="x"),
    "hidden-list": edited(hidden=[4]),
    "seed": edited(seed=7),
    "seed-text": edited(seed="7"),
    "seed-half": edited(seed=0.5),
    "seed-minus": edited(seed=-1),
    "seed-true": edited(seed=True),
    "seed-none": edited(seed=None),
    "unknown": edited(colour="red"),
    "kl": edited(max_kl=0.5),
    "kl-nan": edited(max_kl=float("nan")),
    "kl-text": edited(max_kl="0.01"),
    "kl-inf": edited(max_kl=float("inf")),
    "algorithm": edited(algorithm="nope"),
    "algorithm-module": edited(algorithm="os:path"),
    "algorithm-number": edited(algorithm=3),
    "critic": edited(critic="mlp"),
    "critic-bad": edited(critic="deep"),
    "requests": edited(requests="segments"),
    "clip": edited(filter_clip=5.0),
    "discount": edited(discount=2),
    "steps": edited(steps_per_update=0),
    "total": edited(total_steps="many"),
    "every": edited(checkpoint_every="never"),
    "other-run": from_run("seed", "config.json"),
    "other-env": from_run("env", "config.json"),
}
CHECKPOINT = {
    "missing": no_file(*CHECKPOINTS),
    "folder": lambda f: [folder_instead(name)(f) for name in CHECKPOINTS],
    "empty": with_file(NPZ, lambda old: b""),
    "half": with_file(NPZ, lambda old: old[: len(old) // 2]),
    "tail": with_file(NPZ, lambda old: old[len(old) // 2 :]),
    "byte": with_file(NPZ, lambda old: old[:400] + bytes([old[400] ^ 255]) + old[401:]),
    "text": with_file(NPZ, lambda old: b"theta = 3"),
    "binary": with_file(NPZ, lambda old: bytes(range(256)) * 9),
    "npy": with_file(NPZ, one_array),
    "pickle": with_file(NPZ, lambda old: pickle.dumps(Bomb())),
    "zip-empty": with_file(NPZ, lambda old: zipped()),
    "zip-of-text": with_file(NPZ, lambda old: zipped(theta="3")),
    "zip-of-pickle": with_file(NPZ, lambda old: zipped(**{"theta.npy": pickle.dumps(Bomb())})),
    "zip-of-half": with_file(NPZ, lambda old: zipped(**{"theta.npy": one_array(0)[:20]})),
    "theta-pickled": with_arrays(theta=lambda old: np.array([Bomb()], object)),
    "theta-none": with_arrays(theta=None),
    "theta-short": with_arrays(theta=lambda old: old[:-1]),
    "theta-empty": with_arrays(theta=np.zeros(0)),
    "theta-row": with_arrays(theta=lambda old: old[None]),
    "theta-nan": with_arrays(theta=lambda old: old * np.nan),
    "theta-inf": with_arrays(theta=lambda old: old + np.inf),
    "theta-int": with_arrays(theta=lambda old: old.astype(int)),
    "theta-text": with_arrays(theta=lambda old: old.astype(str)),
    "theta-complex": with_arrays(theta=lambda o: o + 1j),
    "filter-none": with_arrays(run_filter=None),
    "filter-short": with_arrays(run_filter=np.zeros(3)),
    "filter-nan": with_arrays(run_filter=lambda old: old * np.nan),
    "filter-minus": with_arrays(run_filter=lambda old: -old),
    "filter-no-clip": with_arrays(run_filter=lambda old: old * 0),
    "counters-none": with_arrays(run_counters=None),
    "counters-minus": with_arrays(run_counters=np.array([-1, -1])),
    "counters-float": with_arrays(run_counters=np.array([1.0, 2.0])),
    "counters-one": with_arrays(run_counters=np.array([1])),
    "length-none": with_arrays(run_mean_length=None),
    "length-0": with_arrays(run_mean_length=np.zeros(1)),
    "length-nan": with_arrays(run_mean_length=np.full(1, np.nan)),
    "time-none": with_arrays(run_time_s=None),
    "time-nan": with_arrays(run_time_s=np.full(1, np.nan)),
    "settings-none": with_arrays(run_settings=None),
    "settings-other": with_arrays(run_settings=lambda old: old + 1),
    "critic-none": with_arrays(critic_coefficients=None),
    "critic-short": with_arrays(critic_coefficients=np.zeros(2)),
    "critic-nan": with_arrays(critic_coefficients=lambda o: o * np.nan),
    "critic-text": with_arrays(critic_coefficients=lambda old: old.astype(str)),
    "adaptive-none": with_arrays(adaptive=None),
    "adaptive-short": with_arrays(adaptive=np.zeros(2)),
    "adaptive-nan": with_arrays(adaptive=np.full(3, np.nan)),
    "adaptive-text": with_arrays(adaptive=np.array(["a", "b", "c"])),
    "more": with_arrays(secret=np.zeros(3)),
    "adaptive-0": with_arrays(adaptive=np.zeros(3)),
    "returns-text": with_arrays(adaptive_returns=np.array(["a"])),
    "returns-many": with_arrays(adaptive_returns=np.zeros(99)),
    "returns-nan": with_arrays(adaptive_returns=np.full(1, np.nan)),
    "adaptive-huge": with_arrays(adaptive=np.array([1e300, 0.01, np.nan])),
    "adaptive-half": with_arrays(adaptive=np.array([40.5, 0.01, np.nan])),
    "adaptive-steps": with_arrays(adaptive=np.array([41.0, 0.01, np.nan])),
    "adaptive-kl": with_arrays(adaptive=np.array([40.0, 1e300, np.nan])),
    "adaptive-kl-moved": with_arrays(adaptive=np.array([40.0, 0.02, np.nan])),
    "adaptive-inf": with_arrays(adaptive=np.array([40.0, 0.01, np.inf])),
    "adaptive-int": with_arrays(adaptive=np.array([40, 1, 1])),
    "critic-complex": with_arrays(critic_coefficients=lambda old: old + 1j),
    "critic-inf": with_arrays(critic_coefficients=lambda old: old + np.inf),
    "critic-row": with_arrays(critic_coefficients=lambda old: old[None]),
    "theta-single": with_arrays(theta=lambda old: old.astype(np.float32)),
    "filter-clip": with_arrays(run_filter=lambda old: old + np.eye(len(old))[1]),
    "filter-count": with_arrays(run_filter=lambda old: old + 1e6 * np.eye(len(old))[0]),
    "filter-count-minus": with_arrays(run_filter=lambda old: old * (1 - 2 * np.eye(len(old))[0])),
    "counters-steps": with_arrays(run_counters=np.array([3, 2])),
    "counters-huge": with_arrays(run_counters=np.array([3, 2**62])),
    "theta-moved": with_arrays(theta=lambda old: old + 1e-9),
    "critic-moved": with_arrays(critic_coefficients=lambda old: old * 1.001),
    "time-other": with_arrays(run_time_s=np.ones(1)),
    "checksum-none": with_arrays(run_checksum=None),
    "checksum-text": with_arrays(run_checksum=np.array(["a"])),
    "unfinished": with_arrays(unfinished_numbers=np.zeros(1, int)),
    "other-seed": from_run("seed", *CHECKPOINTS),
    "other-env": from_run("env", *CHECKPOINTS),
}
LOG = {
    "counters-far": with_arrays(run_counters=np.array([10**9, 5])),
    "missing": no_file(CSV),
    "folder": folder_instead(CSV),
    "empty": with_file(CSV, lambda old: b""),
    "header": rows(lambda r: r[:1]),
    "binary": with_file(CSV, lambda old: bytes(range(256))),
    "last": rows(lambda r: r[:-1]),
    "first": rows(lambda r: r[:1] + r[2:]),
    "half": with_file(CSV, lambda old: old[:-30]),
    "twice": rows(lambda r: r[:2] + r[1:]),
    "order": rows(lambda r: r[:1] + r[:0:-1]),
    "no-header": rows(lambda r: r[1:]),
    "renamed": rows(lambda r: [r[0].replace("kl,", "k,"), *r[1:]]),
    "narrow": rows(lambda r: [line.rpartition(",")[0] for line in r]),
    "wide": rows(lambda r: [line + ",1" for line in r]),
    "long": rows(lambda r: [*r[:2], r[2] + "9" * 200_000, *r[3:]]),
    "words": rows(lambda r: [r[0], *(",".join(["1", "x", *x.split(",")[2:]]) for x in r[1:])]),
    "quotes": rows(lambda r: [r[0], '"' + r[1], *r[2:]]),
    "html": with_file(CSV, lambda old: b"<html></html>"),
    "quoted": rows(lambda r: [r[0], *('"' + x.replace(",", '",', 1) for x in r[1:])]),
    "quoted-all": rows(lambda r: ['"' + x.replace(",", '","') + '"' for x in r]),
    "quoted-header": rows(lambda r: ['"' + r[0].replace(",", '","') + '"', *r[1:]]),
    "floats": rows(lambda r: [r[0], *(re.sub(r"^(\d+),(\d+)", r"\1,\2.0", x) for x in r[1:])]),
    "infinite": rows(lambda r: [r[0], *(re.sub(r"^(\d+),(\d+)", r"\1,1e400", x) for x in r[1:])]),
    "comment": rows(lambda r: [*r[:2], "# good so far", *r[2:]]),
    "return": rows(lambda r: [r[0], re.sub(r",\d", ",7", r[1]), *r[2:]]),
    "other": from_run("env", CSV),
}
DAMAGES = {
    f"{file}-{name}": damage
    for file, table in (("config", CONFIG), ("checkpoint", CHECKPOINT), ("log", LOG))
    for name, damage in table.items()
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_run_that_was_damaged(name, runs, tmp_path):
    folder = runs / "damaged"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(runs / "one", folder)
    DAMAGES[name](folder)
    before = content(folder)
    refused(forked("train", "--resume", folder, "--total-steps", 200, cwd=tmp_path))
    assert content(folder) == before, "something was written"
    if not name.startswith("log"):
        for command, words in (("watch", ()), ("replay", ("0",))):
            refused(forked(command, folder, *words, cwd=tmp_path))
            assert content(folder) == before, "something was written"
    assert not any(tmp_path.iterdir())
    assert not Path("/tmp/minitrpo-pickle-has-run").exists()


MLP = {
    "scale-0": with_arrays(critic_scale=np.zeros(1)),
    "scale-minus": with_arrays(critic_scale=-np.ones(1)),
    "scale-inf": with_arrays(critic_scale=np.full(1, np.inf)),
    "updates-minus": with_arrays(critic_updates=np.full(1, -1.0)),
    "square-minus": with_arrays(critic_square=lambda old: old - 1),
    "moment-nan": with_arrays(critic_moment=lambda old: old * np.nan),
    "phi-double": with_arrays(critic_phi=lambda old: old.astype(float)),
    "shift-two": with_arrays(critic_shift=np.zeros(2)),
    "numbers-order": with_arrays(unfinished_numbers=lambda old: old[::-1]),
    "numbers-minus": with_arrays(unfinished_numbers=lambda old: old - 8),
    "numbers-float": with_arrays(unfinished_numbers=lambda old: old.astype(float)),
    "lengths-minus": with_arrays(unfinished_lengths=lambda old: old - 10**6),
    "actions-float": with_arrays(unfinished_actions=lambda old: old + 0.5),
    "observations-nan": with_arrays(unfinished_observations=lambda old: old * np.nan),
    "observations-wide": with_arrays(unfinished_observations=lambda old: np.ones((len(old), 9))),
    "observations-none": with_arrays(unfinished_observations=None),
}


@pytest.mark.parametrize("name", MLP)
def test_a_run_of_segments_with_a_perceptron_that_was_damaged(name, runs, tmp_path):
    whole, folder = runs / "segments", tmp_path / "damaged"
    if not whole.exists():
        words = (*SMALL, "--critic", "mlp", "--requests", "segments", "--num-envs", 2, "--out", whole)
        words += ("--checkpoint-every", 1)  # the one before has unfinished episodes, too
        assert forked("train", *words, cwd=runs).code == 0
    shutil.copytree(whole, folder)
    MLP[name](folder)
    before = content(folder)
    refused(forked("train", "--resume", folder, "--total-steps", 200, cwd=tmp_path))
    assert content(folder) == before, "something was written"


def test_a_checkpoint_that_may_not_be_read_is_not_taken_for_a_damaged_one(run, tmp_path, monkeypatch):
    """Going on from the one before would overwrite it."""
    opened = Path.open

    def forbidden(self, *words, **options):
        if self.name == NPZ:
            raise PermissionError(13, "Permission denied", str(self))
        return opened(self, *words, **options)

    before = content(run)
    monkeypatch.setattr(Path, "open", forbidden)
    done = forked("train", "--resume", run, "--total-steps", 200, cwd=tmp_path)
    monkeypatch.undo()
    refused(done, "cannot read", NPZ, "Permission denied")
    assert content(run) == before


@pytest.mark.parametrize("name", [NPZ, CHECKPOINTS[1]])
def test_a_checkpoint_that_is_a_folder_is_not_gone_around(name, run, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    folder_instead(name)(folder)
    if name == CHECKPOINTS[1]:  # is only looked at when it is needed
        no_file(NPZ)(folder)
    before = content(folder)
    refused(forked("train", "--resume", folder, "--total-steps", 200, cwd=tmp_path), name, "is not a file")
    assert content(folder) == before


@pytest.mark.parametrize("name", ["failure.txt", "config.json.tmp", "learning_curve.png"])
def test_a_folder_in_a_file_s_place_is_named(name, run, tmp_path):
    shutil.copytree(run, tmp_path / "run")
    (tmp_path / "run" / name).unlink(missing_ok=True)
    (tmp_path / "run" / name).mkdir()
    done = forked("train", "--resume", tmp_path / "run", "--total-steps", 200, cwd=tmp_path)
    refused(done, name, "is not a file: move it away")


@pytest.mark.parametrize("name", ["video.mp4", "filmstrip.png"])
def test_a_film_that_cannot_be_written_is_refused_before_it_is_played(name, run, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    (folder / name).mkdir()
    refused(forked("watch", folder, cwd=tmp_path), name, "is in the way")


FINE = {
    "newest": lambda f: (f / NPZ).write_bytes(b""),
    "before": lambda f: (f / CHECKPOINTS[1]).write_bytes(b"x"),
    "no-newest": no_file(NPZ),
    "lines": with_file(CSV, lambda old: old.replace(b"\n", b"\r\n")),
    "more-rows": rows(lambda r: [*r, r[-1]]),
    "half-a-row-more": with_file(CSV, lambda old: old + b"4,16"),
    "picture": lambda f: (f / "learning_curve.png").write_text(""),
    "failure": lambda f: (f / "failure.txt").write_text("rank 0"),
    "rest": lambda f: (f / "checkpoint.npz.tmp").write_text(""),
}


@pytest.mark.parametrize("name", FINE)
def test_a_run_that_can_go_on(name, runs, tmp_path):
    folder = runs / "damaged"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(runs / "one", folder)
    FINE[name](folder)
    done = forked("train", "--resume", folder, "--total-steps", 200, "--progress", "none", cwd=tmp_path)
    assert done.code == 0, done
    assert done.out.splitlines()[-1].startswith("theta sha256: ")
    assert ("note: metrics.csv has 1 row(s) after update 3" in done.out) == (name in ("more-rows", "half-a-row-more"))
    assert [int(line.split(",")[0]) for line in (folder / CSV).read_text().splitlines()[1:]][:4] == [1, 2, 3, 4]


CHANGED = {
    "preset": ("--preset", "paper"),
    "seed": ("--seed", 3),
    "env": ("--env", "Pendulum-v1"),
    "kl": ("--max-kl", 0.5),
    "hidden": ("--hidden", "8"),
    "algorithm": ("--algorithm", "x"),
    "steps": ("--steps-per-update", 50),
    "total": ("--total-steps", 0),
    "fewer": ("--total-steps", 20),
    "flag": ("--steps", 5),
    "requests": ("--requests", "segments"),
    "learner": ("--learner", "x"),
    "clip": ("--filter-clip", 5),
    "critic": ("--critic", "mlp"),
    "every": ("--checkpoint-every", "0"),
    "num": ("--num-envs", 5),
    "lanes": ("--lanes", 5),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_resumed_run_keeps_its_settings(name, run, tmp_path):
    before = content(run)
    refused(forked("train", "--resume", run, *CHANGED[name], cwd=tmp_path))
    assert content(run) == before


# --- two ranks

PROGRAM = """
import json, sys
sys.path.append(sys.argv[2])
from minitrpo.errors import BadInput
from minitrpo.parallel.comm import connect
from minitrpo.supervision.watchdog import Watchdog
from minitrpo.commands.command_line import parse
from minitrpo.commands.prepare import prepare
watchdog = Watchdog(60.0)
comm = connect()
for words in json.loads(sys.argv[1]):
    said = "nothing"
    try:
        prepare(parse(words), comm, watchdog)
    except BadInput as error:
        said = str(error)
    heard = comm.gather_objects(said)
    if comm.rank == 0:
        print(json.dumps(heard))
comm.close()
watchdog.dismiss()
"""


def test_two_ranks_hear_the_same(runs, tmp_path):
    """One job, dozens of bad inputs: every rank refuses each with the same words, and none waits for another."""
    cases = [["--out", str(tmp_path / "run"), f"--env={env}"] for env in ENVS]
    cases += [
        ["--out", str(tmp_path / "run"), *words] for words, _ in LINES.values() if not {"--out", "--resume"} & {*words}
    ]
    cases += [list(words) for words, _ in LINES.values() if "--resume" in words]
    cases += [["--requests", "segments", "--num-envs", "1"], ["--env", "failing_envs:TupleActions-v0"]]
    for name in (
        "config-half",
        "config-env-other",
        "config-hidden",
        "checkpoint-half",
        "checkpoint-theta-short",
        "log-last",
    ):
        shutil.copytree(runs / "one", tmp_path / name)
        DAMAGES[name](tmp_path / name)
        cases.append(["--resume", str(tmp_path / name)])
    with contextlib.chdir(tmp_path):
        out = mpiexec_code(2, PROGRAM, json.dumps(cases), TOYS)
    heard = [json.loads(line) for line in out.splitlines()]
    assert len(heard) == len(cases) > 50
    for words, (first, second) in zip(cases, heard, strict=True):
        assert first == second != "nothing", words
        assert "\n" not in first, words
    assert not (tmp_path / "run").exists()
