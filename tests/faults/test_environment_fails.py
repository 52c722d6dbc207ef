"""Environments and algorithms that are wrong, raise, or return what is no number: one message that names the episode.

Exit code 2 and nothing written where it is seen before the run, 1 with the episode later; what is only odd trains.
"""

import json
import os
import sys
import tempfile
import threading
import time
import traceback
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Graph, MultiBinary, MultiDiscrete, OneOf, Sequence, Text, Tuple
from hostile_envs import FREE, Walk, later, raising, walk
from restless_envs import One
from runs import MAINS, forked

import minitrpo
from minitrpo.commands import train
from minitrpo.experience.environments import describe
from minitrpo.experience.repeatability import repeats

REFUSED, FAILING, ODD, LATE = {}, {}, {}, {}  # name: what its message names
OBSERVATION, REWARD, TERMINATED, _, INFO = range(5)


def returning(place, value):
    """Return a step that returns another value in one place, once."""
    return later(lambda self: (*(result := Walk.step(self, 0))[:place], value, *result[place + 1 :]))


OBSERVATIONS = [1.0, np.ones((3, 1)), None, [np.nan, 0, 0], [0, 0, -1e160]]
SPOILT = {"observation": (OBSERVATION, OBSERVATIONS), "reward": (REWARD, [None, np.nan, 1e160])}
SPOILT |= {"step raised": (OBSERVATION, [[1, [2], 3], ["a", "b", "c"], {}]), "raised": (REWARD, ["good", np.ones(2)])}
for name, (place, values) in SPOILT.items():
    for number, value in enumerate(values):
        walk(FAILING, f"{name.replace(' ', '-')}-{number}", name, step=returning(place, value))
for number, value in enumerate([None, (np.ones(3), 1.0, False, {}), (1,) * 6]):
    walk(FAILING, f"step-{number}", "step raised", step=later(lambda self, value=value: value))
for number, value in enumerate([None, np.ones(3), (np.ones(3), {}, 0), (np.ones(4), {})]):
    walk(REFUSED, f"reset-{number}", "reset raised", reset=lambda self, value=value, **_: value)
walk(REFUSED, "reset-nan", "not finite", reset=lambda self, **_: (np.array([np.nan, 0, 0]), {}))
ERRORS = [RuntimeError("the arm fell off"), SystemExit(0), StopIteration(5), ValueError("one\ntwo\r\nthree\x1b[31m"),
          ValueError("x" * 100_000), OSError(28, "No space left"), BrokenPipeError(32, "pipe")]  # fmt: skip
for number, error in enumerate(ERRORS):
    name = type(error).__name__
    walk(FAILING, f"step-raises-{number}", f"step raised {name}", step=later(raising(error)))
    walk(REFUSED, f"constructor-raises-{number}", name, __init__=raising(error))
for error in (RuntimeError("no"), SystemExit(0)):
    name = type(error).__name__
    walk(REFUSED, f"reset-raises-{name}", f"reset raised {name}", reset=raising(error))
    walk(REFUSED, f"close-raises-{name}", name, close=raising(error))
    walk(REFUSED, f"space-raises-{name}", name, observation_space=property(raising(error)))
COPIES = [None] * 3 + ERRORS[:1]  # what the constructors of the first four end with
walk(FAILING, "fourth-copy", "RuntimeError", __init__=lambda self: (end := COPIES.pop(0)) and raising(end)())
OLD = {"reset": lambda self: np.ones(3), "step": lambda self, action: (np.ones(3), 1.0, False, {})}
walk(REFUSED, "old-gym", "five", **OLD)
walk(REFUSED, "old-step", "five", step=OLD["step"])
walk(REFUSED, "rewards", "TransformReward", step=lambda self, action: (np.ones(3), np.ones(2), False, False, {}))
walk(REFUSED, "no-step", "NotImplementedError", gymnasium.Env, observation_space=FREE, action_space=Discrete(2),
     reset=lambda self, **_: (np.ones(3), {}))  # fmt: skip
walk(REFUSED, "needs-an-argument", "TypeError", __init__=lambda self, model: None)


SPACES = [None, 3, Box, Sequence(FREE), Graph(FREE, None), Box(-1, 1, (0,)), Box(-1, 1, (3, 0))]
for number, space in enumerate((*SPACES, Dict(a=FREE, b=Sequence(FREE)))):
    walk(REFUSED, f"observations-{number}", "observation", observation_space=space)
for number, space in enumerate((*SPACES, Tuple([FREE]), Dict(a=FREE), Text(3), OneOf([FREE]), Box(0, 1, (2,), bool))):
    walk(REFUSED, f"actions-{number}", "action", action_space=space)
walk(REFUSED, "no-spaces", "observation", gymnasium.Env)
for name, entry in {"function": lambda **_: None, "object": object, "lost": "no_such_module:Env"}.items():
    gymnasium.register(f"Hostile-{name}-v0", entry_point=entry)
    REFUSED[name] = name

# --- odd, but right


def checking(self, action):
    assert self.action_space.contains(action), f"{action!r} is not in {self.action_space}"
    return Walk.step(self, action)


INF, SINGLE = np.inf, np.finfo(np.float32).max
BOXES = [Box(-0.1, 0.1, (2,), np.float16), Box(-0.1, 0.1, (2,), np.longdouble), Box(-1, 1, (2, 3)), Box(-1, 1, ()),
         Box(np.array([-INF, 0]), np.array([0, INF]), dtype=float), Box(2.0, 2.0, (2,), np.float64),
         Box(-1.7e308, 1.7e308, (2,), np.float64), Box(-SINGLE, SINGLE, (2,)),
         Box(np.array([-1, 0, 100.0]), np.array([1, 1e-9, 1e6]), dtype=float), Box(100, INF, (2,)),
         Box(-INF, -50, (1,)), Box(0, 5, (2,), np.int64), MultiDiscrete([[2, 3], [4, 5]]),
         MultiDiscrete([3], start=[-4]), MultiBinary(3)]  # fmt: skip
for number, space in enumerate([*BOXES, Discrete(3, start=-5), Discrete(1), Discrete(500)]):
    walk(ODD, f"odd-actions-{number}", action_space=space, step=checking)
SIGHTS = [list, lambda x: x > 0, lambda x: x.astype(np.float16), lambda x: x.astype(np.longdouble),
          lambda x: x.astype(">f8"), lambda x: np.broadcast_to(x[:1], (3,)), lambda x: np.zeros(3), lambda x: 1e90 * x,
          lambda x: 1e-300 * x]  # fmt: skip
for number, change in enumerate(SIGHTS):
    walk(ODD, f"odd-observation-{number}", see=lambda self, change=change: change(Walk.see(self)))
FLAT = [(Discrete(3), 1), (Discrete(3, start=5), 7), (MultiDiscrete([2, 3]), np.array([1, 2])),
        (MultiBinary(2), np.array([0, 1])), (Text(3), "ab"), (Dict(a=FREE, b=Discrete(2)), {"a": np.ones(3), "b": 1}),
        (Tuple([FREE, FREE]), (np.ones(3),) * 2), (OneOf([FREE, Discrete(2)]), (1, 0))]  # fmt: skip
for number, (space, value) in enumerate(FLAT):
    walk(ODD, f"odd-space-{number}", observation_space=space, see=lambda self, value=value: value)
walk(ODD, "odd-zero-d", observation_space=Box(-9, 9, ()), see=lambda self: Walk.see(self)[0])
PICTURE = Box(0, 255, (4, 5, 3), np.uint8)
walk(ODD, "odd-picture", observation_space=PICTURE, see=lambda self: np.full((4, 5, 3), 7, np.uint8))
walk(ODD, "odd-outside", observation_space=Box(0, 1, (3,)), see=lambda self: 100 * Walk.see(self))
RIGHT = {REWARD: [3, np.longdouble(3), np.uint8(3), np.array(3.0), 1e90], TERMINATED: [1, np.True_, np.array(True)],
         INFO: [type("Info", (dict,), {})()]}  # fmt: skip
for place, values in RIGHT.items():
    for number, value in enumerate(values):
        walk(ODD, f"odd-{place}-{number}", step=returning(place, value))
walk(ODD, "odd-both-flags", step=lambda self, action: (*Walk.step(self, action)[:2], self.t > 4, self.t > 4, {}))
walk(ODD, "odd-ends-at-once", length=1)
walk(ODD, "odd-cut-at-once", step=lambda self, action: (*Walk.step(self, action)[:2], False, True, {}))
BESIDE = {
    "chdir": lambda: os.chdir("/"),
    "float-errors": lambda: np.seterr(all="raise"),
    "warnings": lambda: warnings.simplefilter("error"),
    "prints": lambda: print("x" * 10**5),
    "thread": lambda: threading.Thread(target=time.sleep, args=(0.1,), daemon=True).start(),
}
for name, do in BESIDE.items():
    walk(ODD, f"odd-{name}", step=later(lambda self, do=do: (Walk.step(self, 0), do())[0]))


class Alias(Walk):
    """Returns the same array every time."""

    def see(self):
        self.__dict__.setdefault("array", np.zeros(3))[:] = Walk.see(self)
        return self.array


walk(ODD, "odd-same-array", base=Alias, step=lambda self, action: (self.array.fill(7), *Walk.step(self, action))[1:])


def spoils(self, action):
    result = Walk.step(self, action)
    action[:] = np.nan
    return result


walk(ODD, "odd-spoils-actions", action_space=Box(-1, 1, (2,)), step=spoils)

# --- what is seen of them

JOB = ("--preset", "episodes", "--hidden", "4", "--critic", "linear", "--cg-iterations", "2", "--progress", "none",
       "--envs-per-rank", "2", "--num-envs", "2", "--total-steps", "120", "--steps-per-update", "60")  # fmt: skip
walk(LATE, "close-raises-late", close=lambda self: hasattr(self, "t") and self.t > 4 and raising(RuntimeError("no"))())


def train_on_each(words):
    """Train on one environment after the other; write exit codes and what was said to ended.json."""
    ended, home = {}, Path.cwd()
    for env in words:
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            os.dup2(out.fileno(), 1), os.dup2(err.fileno(), 2)
            with warnings.catch_warnings(), np.errstate():
                try:
                    code = train.main(["--env", env, *JOB, "--out", env])
                except BaseException:
                    code = 99
                    traceback.print_exc()
            sys.stdout.flush()
            os.chdir(home)
            said = [(file.seek(0), file.read().decode(errors="replace"))[1] for file in (out, err)]
            ended[env] = (code, *said)
    (home / "ended.json").write_text(json.dumps(ended))


MAINS["each"] = train_on_each


def ends(table, folder):
    """Yield name, the word that the message must have, exit code, stdout and stderr of each environment of a table."""
    envs = {f"Hostile-{name}-v0": name for name in table}
    done = forked("each", *envs, cwd=folder, timeout=120)
    assert done.code == 0, done
    for env, (code, out, err) in json.loads((folder / "ended.json").read_text()).items():
        yield env, table[envs[env]], code, out, err


def test_a_wrong_environment_is_refused_in_a_line_and_nothing_is_written(tmp_path):
    for env, word, code, out, err in ends(REFUSED, tmp_path):
        assert (code, err.count("\n"), out) == (2, 1, ""), (env, out, err)
        assert word in err, (env, err)
        assert len(err) < 1200, (env, err)
        assert not (tmp_path / env).exists(), env


@pytest.mark.slow
def test_an_environment_that_fails_later_is_told_with_its_episode(tmp_path):
    for env, word, code, _, err in ends(FAILING, tmp_path):
        assert (code, err.count("\n")) == (1, 3), (env, err)
        first, replay, resume = err.splitlines()
        assert first.startswith(f"minitrpo: rank 0 stopped: {env} failed in episode "), err
        assert word in first, (env, err)
        assert len(first) < 600, (env, err)
        assert "replay" in replay
        assert f"--resume {env}" in resume
        assert (tmp_path / env / "failure.txt").read_text() == err


@pytest.mark.slow
def test_an_environment_that_is_only_odd_trains(tmp_path):
    for env, _, code, out, err in ends(ODD, tmp_path):
        assert (code, err) == (0, ""), (env, out, err)
        assert out.splitlines()[-1].startswith("theta sha256: "), (env, out)


def test_one_that_fails_to_close_when_all_is_learned_is_a_line(tmp_path):
    ((_, _, code, out, err),) = ends(LATE, tmp_path)
    assert (code, "could not close an environment" in out + err, "Traceback" in err) == (0, True, False), out + err


def test_ctrl_c_in_a_step_is_no_failure_of_the_environment(tmp_path):
    table = {}
    walk(table, "interrupted", step=raising(KeyboardInterrupt()))
    ((_, _, code, out, err),) = ends(table, tmp_path)
    assert (code, "interrupted" in out, err) == (130, True, "")


def test_an_environment_that_does_not_repeat_itself_is_noticed():
    for mode in ("random", "memory", "shared"):
        assert not repeats(describe(f"restless_envs:Restless-{mode}-v0"))
    for env_id in ("restless_envs:Restless-steady-v0", "CartPole-v1", "Pendulum-v1"):
        assert repeats(describe(env_id))


def test_one_copy_is_enough_where_the_cure_is_typed(tmp_path):
    one, folder = ("--env", "restless_envs:Restless-One-v0"), {"cwd": tmp_path}
    words = (*one, "--hidden", 4, "--total-steps", 60, "--steps-per-update", 30, "--progress", "none", "--out", "run")
    refused = forked("train", *words, **folder)
    assert (refused.code, refused.err.count("\n"), "--num-envs" in refused.err) == (2, 1, True), refused
    assert forked("train", *words, "--num-envs", 1, **folder).code == 0
    for again in (("train", "--resume", "run", *one, "--total-steps", 90), ("watch", "run", *one, "--steps", 3)):
        assert forked(*again, **folder).code == 0
    assert len(minitrpo.evaluate(tmp_path / "run", 3).returns) == 3
    falls = type("Falls", (One,), {"step": later(raising(RuntimeError("the arm fell off"))), "t": 5})
    with pytest.raises(minitrpo.BadInput, match="the arm"):  # in one process, where what failed is closed
        minitrpo.train(falls, num_envs=1, progress="none")
    assert One.open == 0


@pytest.mark.parametrize("mode", ["random", "memory"])
def test_what_does_not_repeat_itself_goes_on_with_a_note(mode, tmp_path):
    env, folder = ("--env", f"restless_envs:Restless-{mode}-v0"), {"cwd": tmp_path}
    small = ("--hidden", 4, "--num-envs", 2, "--steps-per-update", 60, "--progress", "none", "--out", "run")
    begun = forked("train", *env, *small, "--total-steps", 60, **folder)
    resumed = forked("train", "--resume", "run", *env, "--total-steps", 120, **folder)
    assert (begun.code, begun.out.count("note: ")) == (resumed.code, resumed.out.count("note: ")) == (0, 1), resumed
    for words in (("watch", "run", "--steps", 2), ("replay", "run", 0)):
        done = forked(*words, *env, **folder)
        assert (done.code, done.err.count("note: ")) == (0, 1), done


ALGORITHMS = {  # of hostile_algorithms: exit code, what is named
    "PicklesMemory": (2, "worker_state()"),
    "Rounding": (2, "restore()"),
    "Rounds": (1, "theta is float32"),
    "Loses": (1, "theta is float64 of shape"),
    "Overflows": (1, "theta is not finite"),
    "Uneven": (1, "prepare() returned 'z' with rows of shapes [(1,), (2,)]"),
    "Exits": (1, "SystemExit"),
    "Raises": (1, "ZeroDivisionError: no steps"),
}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_that_fails_is_named(name, tmp_path):
    code, word = ALGORITHMS[name]
    words = ("--algorithm", f"hostile_algorithms:{name}", "--env", "CartPole-v1", "--hidden", 4, "--total-steps", 400)
    done = forked("train", *words, "--steps-per-update", 100, "--progress", "none", "--out", "run", cwd=tmp_path)
    assert done.code == code, done
    assert word in done.err, done
    assert ("Traceback" in done.err) == (name == "Raises"), "an exception in it is told with its place"
    if code == 2:
        assert done.err.count("\n") == 1
        assert not any(tmp_path.iterdir())
    else:
        assert len([line for line in done.err.splitlines() if line.startswith("minitrpo: rank 0")]) == 1
