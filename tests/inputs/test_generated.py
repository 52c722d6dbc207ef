"""Environments, command lines and files that nobody thought of: made by kinds, judged by what must always hold."""

import shutil
from dataclasses import fields

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import CARTPOLE, content, one_line
from runs import forked, lasting

from minitrpo.algorithms.options import flag
from minitrpo.algorithms.registry import find
from minitrpo.training.settings import Settings

QUICKLY = ("--preset", "episodes", "--critic", "linear", "--progress", "none")
SHORT = ("--hidden", 4, "--total-steps", 60, "--steps-per-update", 30, "--cg-iterations", 2)
SLOWLY = [HealthCheck.too_slow, HealthCheck.data_too_large]


def told(done, codes):
    """Insist on an allowed exit code, and one message where it is not 0."""
    assert done.code in codes, str(done)[:3000]
    assert "Traceback" not in done.out + done.err, str(done)[:3000]
    if done.code == 0:
        assert done.out.splitlines()[-1].startswith("theta sha256: "), str(done)
    elif done.code == 2:
        one_line(done)
    else:
        first, *others = done.err.splitlines()
        assert first.startswith("minitrpo: rank 0 "), str(done)
        assert all(line.startswith("  ") for line in others), str(done)
        assert len(done.err) < 2500, str(done)


# --- environments: every part is (what it is, whether it is right)


def these(right, wrong):
    """Return a strategy that draws one of what is right, or of what is wrong."""
    return st.sampled_from([(value, True) for value in right] + [(value, False) for value in wrong])


BOXES = st.builds(
    lambda dtype, shape, bounds: (Box(*bounds, shape, dtype), True),
    st.sampled_from([np.float64, np.float32, np.float16, np.int64, np.int8]),
    st.sampled_from([(1,), (3,), (2, 2), (1, 1, 2), (7,)]),
    st.sampled_from([(0, 1), (-1, 1), (-3, 100), (0, 5)]),
)
DISCRETE = st.builds(lambda n, start: (Discrete(n, start=start), True), st.integers(1, 5), st.integers(-3, 3))
PARTED, COUNTED = (Dict({"a": Discrete(2)}), Tuple((Discrete(2),))), (MultiBinary(3), MultiDiscrete([2, 2]))
NO_SPACES = (Text(3), None, 3, "Box", Box(0, 1, (0,)), Discrete)
CHANGES = {  # how an odd or a wrong environment gives its observation
    "a list": np.ndarray.tolist, "reversed memory": lambda seen: np.asfortranarray(seen[::-1])[::-1],
    "nan": lambda seen: np.full(seen.shape, np.nan), "infinite": lambda seen: np.full(seen.shape, np.inf),
    "huge": lambda seen: np.full(seen.shape, 1e200),
    "objects": lambda seen: np.full(seen.shape, None), "another shape": lambda seen: np.zeros(seen.size + 1),
    "nothing": lambda seen: None, "a text": lambda seen: "abc",
}  # fmt: skip
ERRORS = (ValueError, KeyError, SystemExit, MemoryError, RecursionError, StopIteration, AssertionError,
          OSError, Warning)  # fmt: skip
PARTS = {
    "observation": BOXES | these(PARTED + COUNTED, NO_SPACES) | st.just((Box(-np.inf, np.inf, (2, 2)), True)),
    "action": DISCRETE | BOXES | these(COUNTED, PARTED + NO_SPACES),
    "change": these(("a list", "reversed memory", "the same array"), [*CHANGES][2:]),
    "reward": these((0, 1.5, -2, np.float32(1), np.int8(3), np.array(2.0)),
                    (None, "good", float("nan"), float("inf"), 1e200, [1, 2], 1j, np.zeros(2))),
    "end": these((True, np.True_), ([], [1, 2])),
    "error": these((), ERRORS),
}  # fmt: skip
USUAL = {"observation": (Box(-1, 1, (3,)), True), "action": (Discrete(2), True), "change": ("", True),
         "reward": (1.0, True), "end": (True, True), "error": (None, True)}  # fmt: skip


@st.composite
def environments(draw):
    """Draw the parts of an environment, of which most are right, where an error is raised, and its length."""
    odd = set(draw(st.lists(st.sampled_from(sorted(PARTS)), max_size=3)))
    drawn = {name: draw(PARTS[name]) if name in odd else USUAL[name] for name in PARTS}
    if isinstance(drawn["observation"][0], Dict | Tuple):  # changes are of arrays
        drawn["change"] = USUAL["change"]
    return drawn, draw(st.sampled_from(["constructor", "reset", "step"])), draw(st.integers(1, 9))


def made(parts, place, length):
    """Return the class of an environment of these parts."""
    value = {name: part for name, (part, _) in parts.items()}

    class Generated(gymnasium.Env):
        observation_space, action_space, seen = value["observation"], value["action"], None

        def __init__(self, **_):
            self.at("constructor")

        def at(self, here):
            if place == here and value["error"]:
                raise value["error"]("the wheel\ncame off")

        def see(self):
            if self.seen is None or value["change"] != "the same array":
                self.seen = self.observation_space.sample()
            return CHANGES.get(value["change"], lambda seen: seen)(self.seen)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.observation_space.seed(seed)
            self.t = 0
            self.at("reset")
            return self.see(), {}

        def step(self, action):
            self.t += 1
            if self.t == min(3, length):
                self.at("step")
            return self.see(), value["reward"], value["end"] if self.t >= length else False, False, {}

    return Generated


@pytest.mark.slow
@given(environments())
@settings(max_examples=40, suppress_health_check=SLOWLY)
def test_any_environment_is_right_or_named(tmp_path_factory, drawn):
    parts, folder = drawn[0], tmp_path_factory.mktemp("made")
    well = all(part_well for _, part_well in parts.values())
    gymnasium.register("Generated-v0", entry_point=made(*drawn))
    try:
        done = forked("train", "--env", "Generated-v0", *QUICKLY, *SHORT, "--out", "run", cwd=folder, timeout=120)
    finally:
        del gymnasium.registry["Generated-v0"]
    told(done, {0} if well else {1, 2})
    assert done.code != 2 or not (folder / "run").exists()
    assert well or "Generated" in done.err or "wheel" in done.err, str(done)


# --- command lines

NAMES = [f for f in (*fields(Settings), *fields(find("trpo").Settings)) if f.name not in ("env", "algorithm")]
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


@given(words())
@settings(max_examples=60, suppress_health_check=SLOWLY)
def test_any_command_line_runs_or_is_refused_in_one_line(tmp_path_factory, line):
    folder = tmp_path_factory.mktemp("made")
    typed = [word.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for word in line]
    done = forked("train", *CARTPOLE, *QUICKLY, *typed, *SHORT, "--out", "run", cwd=folder, timeout=120)
    told(done, {0, 1, 2})
    assert done.code != 2 or not list(folder.iterdir()), str(done)


# --- files


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return a run that may go on, and what it becomes."""
    folder = tmp_path_factory.mktemp("whole")
    for name, steps in (("run", 90), ("longer", 180)):
        job = (*CARTPOLE, *QUICKLY, *SHORT, "--total-steps", steps, "--checkpoint-every", 1, "--out", name)
        assert forked("train", *job, cwd=folder).code == 0
    return folder / "run", lasting(folder / "longer")


FILES = ("config.json", "metrics.csv", "checkpoint.npz", "checkpoint_before.npz")
DAMAGES = {  # of what stands before a place, and behind it
    "cut": lambda before, behind, by: before,
    "flip": lambda before, behind, by: before + bytes([behind[0] ^ by]) + behind[1:],
    "delete": lambda before, behind, by: before + behind[by:],
    "insert": lambda before, behind, by: before + bytes([by]) * (by % 9) + behind,
    "repeat": lambda before, behind, by: before + behind[:by] + behind,
    "zeros": lambda before, behind, by: before + bytes(len(behind[:by])) + behind[by:],
}


@pytest.mark.slow
@given(st.sampled_from(FILES), st.sampled_from([*DAMAGES]), st.floats(0, 1), st.integers(1, 255))
@settings(max_examples=50, suppress_health_check=SLOWLY)
def test_any_damage_is_refused_or_leads_to_the_same_end(whole, tmp_path_factory, name, damage, place, by):
    (run, end), folder = whole, tmp_path_factory.mktemp("made")
    shutil.copytree(run, folder / "run")
    old = (run / name).read_bytes()
    at = int(place * (len(old) - 1))
    (folder / "run" / name).write_bytes(DAMAGES[damage](old[:at], old[at:], by))
    before = content(folder)
    done = forked("train", "--resume", "run", "--total-steps", 180, "--progress", "none", cwd=folder)
    told(done, {0, 2})
    if done.code == 0:
        rows, checkpoint = lasting(folder / "run")
        assert checkpoint == end[1]
        assert name == "metrics.csv" or rows == end[0]
    else:
        assert content(folder) == before
