"""`minitrpo check`: each promise of a user's class is tried by real runs, and the one that is broken is named."""

import numpy as np
import pytest
from runs import TOYS, run

from minitrpo.algorithms.algorithm import Algorithm
from minitrpo.commands import check, look_inside
from minitrpo.contract import changed

QUICK = ("--", "--hidden", "4", "--steps-per-update", "60")
BROKEN = {  # the class of hostile_algorithms, what is said of it, and behind what
    "Forgetful": ("resumed", "velocity changes in an update, and restore() does not bring it back"),
    "HalfMindful": ("resumed", "velocity changes in an update"),
    "OwnGenerator": ("resumed", "rng changes in an update"),
    "Refusing": ("resumed", "ValueError: too quick"),
    "NumpyRandom": ("random", "learn() draws numpy's global random numbers"),
    "PythonRandom": ("random", "digest() draws Python's global random numbers"),
    "Unkeyed": ("again", "not the same numbers a second time"),
    "Counting": ("2 ranks", "not the same numbers on two ranks"),
}


def checked(name, *words, cwd):
    done = run("check", f"hostile_algorithms:{name}", *words, *QUICK, cwd=cwd)
    lines = [line.split(None, 2) for line in done.out.splitlines() if line[:4] in ("ok  ", "FAIL")]
    return done, {("2 ranks" if name == "2" else name): well for well, name, _ in lines}


def test_an_algorithm_that_keeps_its_promises(tmp_path):
    done, lines = checked("Mindful", cwd=tmp_path)
    assert done.code == 0, done.out + done.err
    assert lines == dict.fromkeys(("environment", "random", "trains", "again", "2 ranks", "resumed"), "ok")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name",
    [n if n in ("Forgetful", "NumpyRandom", "Counting") else pytest.param(n, marks=pytest.mark.slow) for n in BROKEN],
)
def test_a_broken_promise_is_named(name, tmp_path):
    which, why = BROKEN[name]
    done, lines = checked(name, cwd=tmp_path)
    assert done.code == 1, done.out + done.err
    assert next(line for line, well in lines.items() if well == "FAIL") == which
    assert why in done.out


@pytest.mark.slow
@pytest.mark.parametrize("name", ["trpo", "policy-gradient", "dqn", "a3c"])
def test_the_family_keeps_its_promises(name, tmp_path):
    done = run("check", name, *QUICK, cwd=tmp_path)
    assert done.code == 0, done.out + done.err
    assert ("sharded" in done.out) == (name != "a3c")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("hostile_algorithms:Nobody",), "has no Nobody"),
        (("hostile_algorithms:Mindful", "--updates", "1"), "--updates must be 2 or more, not 1"),
        (("naf",), "naf takes Box actions, and CartPole-v1 has Discrete(2): try --algorithm dqn"),
    ],
)
def test_what_cannot_be_checked_is_refused(words, said, tmp_path, monkeypatch, capfd):
    monkeypatch.syspath_prepend(str(TOYS))
    monkeypatch.chdir(tmp_path)
    code = check.main(list(words))
    out, err = capfd.readouterr()
    assert said in out + err
    assert code == 2
    assert err.count("\n") == 1


# --- the pieces


class Remembers(Algorithm):
    def __init__(self):
        self.theta, self.rows, self.generator = np.zeros(3), [1, None], np.random.default_rng(0)
        self.theta_of_nobody = float("nan")

    def state(self):
        return {"theta": self.theta}

    def restore(self, arrays):
        self.theta = arrays["theta"]


@pytest.mark.parametrize(
    ("name", "change"),
    {
        "": lambda a: a.theta.__setitem__(1, 1e-300),
        "rows": lambda a: a.rows.append(3),
        "generator": lambda a: a.generator.random(),
        "new": lambda a: setattr(a, "new", 0),
    }.items(),
)
def test_what_restore_does_not_bring_back_is_seen(name, change):
    algorithm = Remembers()
    before = look_inside.attributes(algorithm)
    assert before == look_inside.attributes(Remembers())
    change(algorithm)
    said = look_inside.forgotten(algorithm, before, Remembers())
    assert said.partition(" ")[0] == name


def test_equal_arrays_are_equal_with_nan_and_whatever_their_dtype():
    state = {"a": np.array([1.0, np.nan]), "b": np.array(3)}
    assert changed(state, {"a": np.array([1.0, np.nan]), "b": np.array(3.0)}) == ""
    assert changed(state, {"a": np.array([1.0, 2.0]), "b": np.array(3)}) == "a"
    assert changed(state, {"a": state["a"]}) == "b"
