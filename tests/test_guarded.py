"""Algorithms that hang, forget or draw random numbers of nobody's: the job ends, or says what cannot be promised."""

import types

import numpy as np
import pytest
from forked import Forked, forked

import minitrpo.parallel.stillness as stillness
from minitrpo.algorithms.registry import ALGORITHMS
from minitrpo.experience.status import Doing, RankStatus
from minitrpo.parallel.stillness import PATIENCE, Stillness
from minitrpo.runs.carried import changed, fingerprints, not_carried

JOB = ("--env", "CartPole-v1", "--hidden", "4", "--total-steps", "400", "--steps-per-update", "100", "--out", "run",
       "--progress", "none")  # fmt: skip
SAID = {
    "Forgetful": "note: Forgetful.velocity changes in learn(), and restore() does not bring it back",
    "HalfMindful": "note: restore() of HalfMindful does not bring back 'velocity' of state()",
    "OwnGenerator": "note: OwnGenerator.rng changes in learn()",
    "Refusing": "note: restore() of Refusing cannot take over what state() returned: ValueError: too quick",
    "NumpyRandom": "note: learn() of NumpyRandom draws numpy's global random numbers",
    "PythonRandom": "note: digest() of PythonRandom draws Python's global random numbers",
    "Mindful": "",
}


def as_algorithm(name):
    return ("--algorithm", f"hostile_algorithms:{name}", *JOB)


@pytest.mark.parametrize("name", SAID)
def test_what_an_algorithm_forgets_is_said_once_after_the_first_update(name, tmp_path):
    done = forked("train", *as_algorithm(name), cwd=tmp_path)
    assert (done.code, done.err) == (0, ""), done
    said = [line for line in done.out.splitlines() if line.startswith("note: ")]
    assert len(said) == (SAID[name] != "")
    assert not said or (said[0].startswith(SAID[name]) and "an exact --resume cannot be promised" in said[0])


@pytest.mark.parametrize("name", ALGORITHMS)
def test_ours_forget_nothing(name, tmp_path):
    moves = ("--env", "Pendulum-v1") if name in ("naf", "guided-policy-search") else ()
    done = forked("train", "--algorithm", name, *JOB, *moves, cwd=tmp_path, timeout=60)
    assert done.code == 0, done
    assert "cannot be promised" not in done.out


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("PicklesMemory", "memory() has odd = "),
        ("Rounding", "restore() does not bring back 'theta'"),
        ("Shy", "cannot be looked at: RuntimeError: do not look"),
    ],
)
def test_what_is_seen_before_the_run_is_refused(name, words, tmp_path):
    done = forked("train", *as_algorithm(name), cwd=tmp_path)
    assert done.code == 2, done
    assert len(done.err.splitlines()) == 1
    assert words in done.err
    assert not any(tmp_path.iterdir())


def test_a_theta_that_becomes_of_another_kind_ends_the_run(tmp_path):
    done = forked("train", *as_algorithm("Rounds"), cwd=tmp_path)
    assert done.code == 1, done
    assert "theta is float32 of shape" in done.err
    assert "Traceback" not in done.err


def test_a_call_that_does_not_return_ends_the_job(tmp_path, monkeypatch):
    monkeypatch.setattr(stillness, "PATIENCE", 2)
    calls = {"HangsPlan": "plan", "HangsDigest": "digest", "HangsLearn": "learn", "HangsState": "state",
             "HangsRestore": "restore", "HangsInit": "constructor", "Busy": "learn", "Leaving": "learn",
             "HangsGradient": "gradient", "HangsApply": "apply"}  # fmt: skip
    jobs = {}
    for name in calls:
        (tmp_path / name).mkdir()
        jobs[name] = Forked("train", (*as_algorithm(name), "--stuck-after", 1), tmp_path / name)
    for name, job in jobs.items():
        done, said = job.end(60), []
        assert done.code not in (0, 2), done
        said = [line for line in done.err.splitlines() if line.startswith("minitrpo: rank ")]
        assert len(said) == 1, done
        stuck = f"is stuck: {calls[name]} has not returned for 2 s, 2 times --stuck-after, in the {calls[name]}"
        assert ("was left by os._exit(0) in the learn" if name == "Leaving" else stuck) in said[0]
        assert f"hostile_algorithms:{name}" in said[0]


# --- the pieces


class Thing:
    def __init__(self):
        self.theta, self.rows, self.inner = np.zeros(3), [1, 2.5, None, "x"], types.SimpleNamespace(moment=np.zeros(2))
        self.generator, self.nan = np.random.default_rng(0), float("nan")
        self.function, self.me = len, self

    def state(self):
        return {"theta": self.theta}

    def restore(self, arrays):
        self.theta = arrays["theta"]


def test_fingerprints_see_what_changes_and_nothing_else():
    changes = {
        "theta": lambda t: t.theta.__setitem__(1, 1e-300),
        "rows.1": lambda t: t.rows.__setitem__(1, 3),
        "inner.moment": lambda t: t.inner.moment.__iadd__(1),
        "generator": lambda t: t.generator.random(),
        "new": lambda t: setattr(t, "new", 0),
    }
    thing = Thing()
    before = fingerprints(thing)
    assert fingerprints(thing) == before == fingerprints(Thing())
    for name, change in changes.items():
        other = Thing()
        change(other)
        after = fingerprints(other)
        assert {key for key in {*after, *before} if after.get(key) != before.get(key)} >= {name}
        lost = not_carried(other, before, Thing)
        assert (lost == "") == (name == "theta"), "theta alone is in the state"
        assert name == "theta" or f"Thing.{name} changes in learn()" in lost


def test_equal_arrays_are_equal_with_nan_and_whatever_their_dtype():
    state = {"a": np.array([1.0, np.nan]), "b": np.array(3)}
    assert changed(state, {"a": np.array([1.0, np.nan]), "b": np.array(3.0)}) == ""
    assert changed(state, {"a": np.array([1.0, 2.0]), "b": np.array(3)}) == "a"
    assert changed(state, {"a": state["a"]}) == "b"


class World:
    """Time, and what a process does in it."""

    def __init__(self, monkeypatch, ranks=2):
        self.time, self.state, self.status = 0.0, "S", RankStatus.private(1)
        monkeypatch.setattr(stillness.time, "monotonic", lambda: self.time)
        monkeypatch.setattr(stillness, "state_of", lambda process: self.state)
        monkeypatch.setattr(stillness, "launched_size", lambda: ranks)
        self.said = []
        monkeypatch.setattr(stillness, "say", self.said.append)
        self.stillness = Stillness(self.status, 1, 5.0)

    def complaint(self, seconds, step=1.0):
        """Return the first complaint and its time, looking once a second."""
        until = self.time + seconds
        while self.time < until:
            self.time += step
            words = self.stillness.look()
            if words:
                return words, self.time
        return None


def test_a_step_may_take_a_while_and_an_update_longer(monkeypatch):
    world = World(monkeypatch)
    assert world.complaint(100) is None, "waiting for others"
    world.status.begin(Doing.STEPPING, 0)
    words, when = world.complaint(100)
    assert words == "is stuck: no environment step for 5 s"
    assert 105 < when <= 107
    world = World(monkeypatch)
    world.status.begin(Doing.LEARNING)
    words, when = world.complaint(1000)
    assert words.startswith("is stuck: learn has not returned for 100 s")
    assert 5 * PATIENCE < when <= 5 * PATIENCE + 2


def test_who_is_suspended_together_with_its_watchdog_is_not_stuck(monkeypatch):
    """A laptop that sleeps, a queue that pauses a job: the watchdog sees no time pass."""
    world = World(monkeypatch)
    world.status.begin(Doing.STEPPING, 0)
    for _ in range(2):
        world.time += 3600
        assert world.stillness.look() == ""
    world.status.begin(Doing.STEPPING, 0)
    assert world.complaint(3) is None


def test_a_stopped_rank_is_named_and_in_the_end_given_up(monkeypatch):
    world = World(monkeypatch)
    world.state = "T"
    words, when = world.complaint(1000)
    assert len(world.said) == 1
    assert "kill -CONT 1 lets it go on" in world.said[0]
    assert words == "was stopped (SIGSTOP) and did not go on for 100 s"
    assert 100 < when <= 102
    for state, ranks in (("t", 2), ("T", 1)):  # a debugger; Ctrl-Z
        world = World(monkeypatch, ranks)
        world.status.begin(Doing.STEPPING, 0)
        world.state = state
        assert world.complaint(1000) is None
        assert world.said == []
