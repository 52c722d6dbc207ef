"""Environments and algorithms that are wrong, raise, or return what is no number: one message that names the episode.

Exit code 2 and nothing written where it is seen before the run, 1 with the episode later; what is only odd trains.
"""

import json
import os
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest
from hostile_envs import FAILING, ODD, REFUSED, raising, walk
from runs import MAINS, forked

from minitrpo.commands import train
from minitrpo.experience.determinism import differences
from minitrpo.experience.environments import describe
from minitrpo.supervision.status import RankStatus

JOB = ("--preset", "episodes", "--hidden", "4", "--critic", "linear", "--cg-iterations", "2", "--progress", "none",
       "--envs-per-rank", "2", "--num-envs", "2", "--total-steps", "120", "--steps-per-update", "60")  # fmt: skip
LATE = {}  # fails to close once all has been learned
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
        assert len(differences(describe(f"restless_envs:Restless-{mode}-v0"), RankStatus.private(2))) == 1
    for env_id in ("restless_envs:Restless-steady-v0", "CartPole-v1", "Pendulum-v1"):
        assert differences(describe(env_id), RankStatus.private(2)) == []


ALGORITHMS = {  # of hostile_algorithms: exit code, what is named
    "PicklesMemory": (2, "worker_state()"),
    "Rounding": (2, "restore()"),
    "Rounds": (1, "theta is float32"),
    "Loses": (1, "theta is float64 of shape"),
    "Overflows": (1, "theta is not finite"),
    "Uneven": (1, "digest() returned 'z' with rows of shapes [(1,), (2,)]"),
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
    assert ("Traceback" in done.err) == (name in ("Raises", "Exits")), "an exception in it is told with its place"
    if code == 2:
        assert done.err.count("\n") == 1
        assert not any(tmp_path.iterdir())
    else:
        assert len([line for line in done.err.splitlines() if line.startswith("minitrpo: rank 0")]) == 1
