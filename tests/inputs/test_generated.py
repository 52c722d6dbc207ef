"""Environments, command lines and files that nobody thought of: made by kinds, and judged by what must always hold."""

import itertools
import multiprocessing
import os
import shutil
import time
from dataclasses import fields

import gymnasium
import numpy as np
import pytest
from runs import lasting
from runs import forked
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minitrpo.algorithms.options import flag
from minitrpo.algorithms.trpo import TRPOSettings
from minitrpo.training.settings import Settings

FOLDERS = itertools.count()
SMALL = ("--preset", "episodes", "--critic", "linear", "--progress", "none")
SHORT = ("--hidden", 4, "--total-steps", 60, "--steps-per-update", 30, "--cg-iterations", 2, "--stuck-after", 2)


def often(quick, slow, thorough):
    """Return how a property is tried: `quick` examples by `make test`, more by the others."""

    def numbered(n):
        return settings(max_examples=n, deadline=None, database=None, suppress_health_check=list(HealthCheck))

    marks = {quick: [], slow: [pytest.mark.slow], thorough: [pytest.mark.thorough]}
    return pytest.mark.parametrize("how", [pytest.param(numbered(n), id=str(n), marks=m) for n, m in marks.items()])


def new(tmp_path):
    """Return a fresh folder."""
    folder = tmp_path / str(next(FOLDERS))
    folder.mkdir()
    return folder


def told(done, codes):
    """Insist on an allowed exit code, and one message where it is not 0."""
    assert done.code in codes, str(done)[:3000]
    assert "Traceback" not in done.out + done.err, str(done)[:3000]
    assert len(done.err) < 2500, str(done)[:3000]
    if done.code == 0:
        assert done.out.splitlines()[-1].startswith("theta sha256: "), done
    else:
        said = done.err.splitlines()
        assert said, done
        assert said[0].startswith(("minitrpo: rank 0 ", "train.py: ")), done
        assert all(line.startswith("  ") for line in said[1:]), done


# --- environments: every part is (what it is, whether it is right)

DTYPES = st.sampled_from([np.float64, np.float32, np.float16, np.int64, np.int8, np.uint8])
SHAPES = st.sampled_from([(1,), (3,), (2, 2), (1, 1, 2), (7,)])


@st.composite
def boxes(draw, finite=False):
    """Draw a Box of any dtype, shape and bounds."""
    dtype, shape = draw(DTYPES), draw(SHAPES)
    low, high = draw(st.sampled_from([(0, 1), (-1, 1), (-3, 100), (0, 5)]))
    if np.issubdtype(dtype, np.floating) and not finite and draw(st.booleans()):
        low, high = -np.inf, np.inf
    return Box(0 if np.dtype(dtype).kind == "u" else low, high, shape, dtype)


WRONG_SPACES = [Dict({"a": Discrete(2)}), Tuple((Discrete(2),)), Text(3), MultiBinary(3), MultiDiscrete([2, 2]), None,
                3, "Box", Box(0, 1, (0,)), Discrete]  # fmt: skip
OBSERVATIONS = st.one_of(st.tuples(boxes(), st.just(True)), st.tuples(st.sampled_from(WRONG_SPACES), st.just(False)))
ACTIONS = st.one_of(
    st.tuples(st.builds(Discrete, st.integers(1, 5), start=st.integers(-3, 3)), st.just(True)),
    st.tuples(boxes(finite=True).filter(lambda box: box.dtype.kind == "f"), st.just(True)),
    st.tuples(st.sampled_from(WRONG_SPACES), st.just(False)),
)
CHANGES = st.sampled_from([
    *((name, True) for name in ("as it is", "a list", "reversed memory", "read only", "the same array")),
    *((name, False) for name in ("nan", "infinite", "huge", "another shape", "nothing", "a text", "objects")),
    ("complex", False),
])  # fmt: skip
REWARDS = st.sampled_from([
    *((reward, True) for reward in (0, 1.5, -2, np.float32(1), np.int8(3), np.array(2.0))),
    *((reward, False) for reward in (None, "1", float("nan"), float("inf"), 1e200, [1, 2], 1j, np.zeros(2))),
])  # fmt: skip
ENDS = st.sampled_from([*((end, True) for end in (True, np.True_)), (None, False), ("yes", False), ([], False)])
ERRORS = (ValueError, KeyError, SystemExit, MemoryError, RecursionError, StopIteration, GeneratorExit, AssertionError,
          OSError, UnicodeDecodeError, Warning, ExceptionGroup, BaseException)  # fmt: skip
EVENTS = st.one_of(
    st.just((None, True)),
    st.tuples(st.sampled_from(["sleep a little", "fork", "worker", "thread", "print", "seed numpy"]), st.just(True)),
    st.tuples(st.sampled_from(ERRORS), st.just(False)),
    st.tuples(st.sampled_from(["hang", "leave", "leave with 0", "abort"]), st.just(False)),
)
PLACES = st.sampled_from(["constructor", "reset", "step"])


def changed(value, how):
    """Return an observation as an odd or a wrong environment gives it."""
    wrong = {"nan": np.nan, "infinite": np.inf, "huge": 1e200, "complex": 1j}
    if how in wrong:
        return np.full(value.shape, wrong[how])
    ways = {"a list": value.tolist, "reversed memory": lambda: np.asfortranarray(value[::-1])[::-1],
            "another shape": lambda: np.zeros(value.size + 1), "nothing": lambda: None, "a text": lambda: "abc",
            "objects": lambda: np.full(value.shape, None)}  # fmt: skip
    if how == "read only":
        value.setflags(write=False)
    return ways.get(how, lambda: value)()


def happens(event):
    """Let something happen within an environment."""
    if isinstance(event, type):
        raised = {UnicodeDecodeError: ("utf-8", b"x", 0, 1, "no"), ExceptionGroup: ("two", [ValueError("one")])}
        raise event(*raised.get(event, ("the wheel\ncame off",)))
    if event == "fork" and os.fork() == 0:
        time.sleep(0.2)
        os._exit(0)
    ways = {"sleep a little": lambda: time.sleep(0.05), "hang": lambda: time.sleep(1000), "leave": lambda: os._exit(7),
            "leave with 0": lambda: os._exit(0), "abort": os.abort, "print": lambda: print("hello", flush=True),
            "worker": lambda: multiprocessing.Process(target=time.sleep, args=(1000,), daemon=True).start(),
            "thread": lambda: __import__("threading").Thread(target=time.sleep, args=(0.3,)).start(),
            "seed numpy": lambda: np.random.seed(0)}  # fmt: skip  # noqa: NPY002
    ways.get(event, lambda: None)()


@st.composite
def environments(draw):
    """Draw the parts of an environment, of which most are right."""
    parts = {"observation": OBSERVATIONS, "action": ACTIONS, "change": CHANGES, "reward": REWARDS, "end": ENDS}
    parts |= {"event": EVENTS}
    odd = set(draw(st.lists(st.sampled_from(sorted(parts)), max_size=3)))
    right = {"observation": (Box(-1, 1, (3,)), True), "action": (Discrete(2), True), "change": ("as it is", True)}
    right |= {"reward": (1.0, True), "end": (True, True), "event": (None, True)}
    drawn = {name: draw(parts[name]) if name in odd else right[name] for name in parts}
    return drawn, draw(PLACES), draw(st.integers(1, 9)), draw(st.integers(0, 3))


def made(parts, place, length, when):
    """Return the class of an environment of these parts."""
    value = {name: part for name, (part, _) in parts.items()}

    class Generated(gymnasium.Env):
        observation_space, action_space = value["observation"], value["action"]

        def __init__(self, **_):
            if place == "constructor":
                happens(value["event"])
            self.seen = None

        def see(self):
            if self.seen is None or value["change"] != "the same array":
                self.seen = self.observation_space.sample()
            return changed(self.seen, value["change"])

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.observation_space.seed(seed)
            self.t = 0
            if place == "reset":
                happens(value["event"])
            return self.see(), {}

        def step(self, action):
            self.t += 1
            if place == "step" and self.t == min(when + 1, length):
                happens(value["event"])
            ended = self.t >= length
            return self.see(), value["reward"], value["end"] if ended else False, False, {}

    return Generated


@often(12, 60, 400)
def test_any_environment_is_right_or_named(how, tmp_path):
    @how
    @given(environments())
    def tried(drawn):
        parts, place, length, when = drawn
        right, folder = all(well for _, well in parts.values()), new(tmp_path)
        gymnasium.register("Generated-v0", entry_point=made(parts, place, length, when))
        try:
            done = forked(
                "train", "--env", "Generated-v0", *SMALL, *SHORT, "--out", "run", cwd=(folder := new(tmp_path))
            )
        finally:
            del gymnasium.registry["Generated-v0"]
        told(done, {0} if right else {1, 2, 7, -6, -9})
        assert done.code != 2 or not (folder / "run").exists()
        assert right or done.code == 0 or "Generated" in done.err or "wheel" in done.err, done

    tried()


# --- command lines

NAMES = [f for f in (*fields(Settings), *fields(TRPOSettings)) if f.name not in ("env", "algorithm")]
TEXTS = st.one_of(
    st.text(max_size=12).filter(lambda text: "\0" not in text),
    st.sampled_from(["", "-", "--", "nan", "inf", "-inf", "1e400", "1_0", "0x1", "9" * 5000, "²", "True", "a\nb"]),
    st.integers(-5, 40).map(str),
    st.floats().map(str),
)


@st.composite
def words(draw):
    """Draw options with values of any kind, some of them right."""
    line = []
    for f in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4)):
        line += [flag(f.name), draw(st.one_of(TEXTS, st.sampled_from(f.metadata["choices"] or (str(f.default),))))]
    return line + draw(st.lists(TEXTS, max_size=1))


@often(25, 100, 600)
def test_any_command_line_runs_or_is_refused_in_one_line(how, tmp_path):
    @how
    @given(words())
    def tried(line):
        folder = new(tmp_path)
        typed = [word.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for word in line]
        done = forked("train", "--env", "CartPole-v1", *SMALL, *typed, *SHORT, "--out", "run", cwd=folder)
        told(done, {0, 1, 2})
        assert done.code != 2 or (done.err.count("\n") == 1 and not list(folder.iterdir())), done

    tried()


# --- files


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return a run that may go on, and what it becomes."""
    folder = tmp_path_factory.mktemp("whole")
    for name, steps in (("run", 90), ("longer", 180)):
        job = ("--env", "CartPole-v1", *SMALL, *SHORT, "--total-steps", steps, "--checkpoint-every", 1, "--out", name)
        assert forked("train", *job, cwd=folder).code == 0
    return folder / "run", lasting(folder / "longer")


@st.composite
def damages(draw):
    """Draw a file of a run, and what becomes of its bytes."""
    name = draw(st.sampled_from(["config.json", "metrics.csv", "checkpoint.npz", "checkpoint_before.npz"]))
    place, kind = draw(st.floats(0, 1)), draw(st.sampled_from(["cut", "flip", "delete", "insert", "repeat", "zeros"]))
    return (
        name,
        place,
        kind,
        draw(st.integers(1, 255)),
        draw(st.binary(min_size=1, max_size=9)),
        draw(st.integers(1, 99)),
    )


def damaged(content, place, kind, by, extra, size):
    at = int(place * (len(content) - 1))
    ways = {
        "cut": content[:at],
        "flip": content[:at] + bytes([content[at] ^ by]) + content[at + 1 :],
        "delete": content[:at] + content[at + size :],
        "insert": content[:at] + extra + content[at:],
        "repeat": content[: at + size] + content[at:],
        "zeros": content[:at] + bytes(len(content[at : at + size])) + content[at + size :],
    }
    return ways[kind]


@often(15, 80, 600)
def test_any_damage_is_refused_or_leads_to_the_same_end(how, whole, tmp_path):
    run, end = whole

    @how
    @given(damages())
    def tried(damage):
        folder, (name, *ways) = new(tmp_path), damage
        shutil.copytree(run, folder / "run")
        (folder / "run" / name).write_bytes(damaged((run / name).read_bytes(), *ways))
        before = {file.name: file.read_bytes() for file in (folder / "run").iterdir()}
        done = forked("train", "--resume", "run", "--total-steps", 180, "--progress", "none", cwd=folder)
        told(done, {0, 2})
        if done.code == 0:
            assert lasting(folder / "run") == end
        else:
            assert done.err.count("\n") == 1, done
            assert {file.name: file.read_bytes() for file in (folder / "run").iterdir()} == before

    tried()
