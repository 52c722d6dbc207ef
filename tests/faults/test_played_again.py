"""An episode that failed is played again from the last checkpoint, to the bit, by the command that its message has."""

import itertools
import re
import shlex
import shutil

import numpy as np
import pytest
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
from runs import MAINS, fails, forked

from minitrpo.algorithms.user_classes import RUN_PREFIX
from minitrpo.commands import evaluate
from minitrpo.experience.randomness import reset_seed
from minitrpo.run_folder.folder import RunFolder

MAINS["evaluate"] = evaluate.main
END = ("--hidden", 4, "--total-steps", 100_000, "--progress", "none")
SEGMENTS = ("--requests", "segments", "--num-envs", 4)
# Jobs whose first failure lies in iteration 6, whatever the policy does: what they are told, the keys of the episodes
# that must be well, and of those of which one is to fail
LATER = {
    "episodes": (  # 3 of 25 steps each
        ("--preset", "episodes", "--env", "failing_envs:Failing-short-raise-v0", "--steps-per-update", 75),
        [(iteration, number) for iteration in range(1, 6) for number in range(3)],
        [(6, number) for number in range(3)],
    ),
    "segments of episodes that began after the checkpoint": (  # of 40 steps: episode 2's step 20 is its slot's step 220
        ("--preset", "episodes", "--env", "failing_envs:Failing-raise-v0", *SEGMENTS, "--steps-per-update", 160),
        [(0, number) for number in range(4)],
        [(0, number) for number in range(4, 8)],
    ),
    "segments of episodes that began before it": (  # of 20 steps: the first episode's step 120
        ("--preset", "episodes", "--env", "failing_envs:Failing-late-raise-v0", *SEGMENTS, "--steps-per-update", 80),
        [],
        [(0, number) for number in range(4)],
    ),
}


def failing_in(job):
    """Return the run's seed, and key and number of the one episode that fails."""
    _, well, failing = LATER[job]
    seeds = (seed for seed in itertools.count() if not any(fails(seed, *key) for key in well))
    seed = next(seed for seed in seeds if sum(fails(seed, *key) for key in failing) == 1)
    return seed, *next(key for key in failing if fails(seed, *key))


def told(message):
    """Return what a failure message says after replay.py."""
    (command,) = re.findall(r"to play that episode in one process: .*replay\.py (.*)$", message, re.MULTILINE)
    return shlex.split(command)


@pytest.mark.parametrize("job", ["episodes", *(pytest.param(job, marks=pytest.mark.slow) for job in list(LATER)[1:])])
def test_a_failure_later_than_the_checkpoint_is_played_again(job, tmp_path, monkeypatch):
    """The updates in between are taken again, to the bit, from any checkpoint; looking changes nothing."""
    seed, key, number = failing_in(job)
    where = f"episode {number} of iteration 6 (reset seed {reset_seed(seed, key, number)}): step raised"
    stories = []
    for every, kept in ((1, 5), (3, 3)):
        words = (*LATER[job][0], *END, "--seed", seed, "--checkpoint-every", every, "--out", f"{every}")
        done = forked("train", *words, cwd=tmp_path)
        assert (done.code, where in done.err) == (1, True), done
        folder = RunFolder(tmp_path / f"{every}")
        assert folder.load_checkpoint()[RUN_PREFIX + "counters"][0] == kept
        assert [row["iteration"] for row in folder.rows()] == ["1", "2", "3", "4", "5"]
        before = {path.name: path.read_bytes() for path in folder.path.iterdir()}
        assert told(done.err)[-3:] == [str(number), "--iteration", "6"]
        again = forked("replay", *told(done.err), cwd=tmp_path)
        assert (again.code, where in again.err) == (1, True), again
        with monkeypatch.context() as patch:
            patch.setenv("TOYS_BEHAVE", "1")
            stories.append(forked("replay", *told(done.err), cwd=tmp_path))
        early = forked("replay", f"{every}", number, "--iteration", kept, cwd=tmp_path)
        assert (early.code, early.err.count("\n"), "--iteration" in early.err) == (2, 1, True), early
        assert before == {path.name: path.read_bytes() for path in folder.path.iterdir()}
    assert re.fullmatch(rf"episode {number} of iteration 6: \d+ steps, return -\d+\.\d+, .*\n", stories[0].out)
    assert stories[0].out == stories[1].out


@pytest.mark.parametrize("mode", ["kill", "nan"])
def test_whatever_happens_in_a_segment_is_reported_with_its_iteration(mode, tmp_path):
    """Its episodes outlast iterations: their keys say 0, the message does not."""
    seed = next(seed for seed in itertools.count() if sum(fails(seed, 0, number) for number in range(4)) == 1)
    number = next(number for number in range(4) if fails(seed, 0, number))
    job = ("--env", f"failing_envs:Failing-late-{mode}-v0", *SEGMENTS, "--steps-per-update", 100, "--seed", seed)
    done = forked("train", *job, *END, "--out", "run", cwd=tmp_path)
    assert done.code not in (0, 2), done
    assert f"episode {number} of iteration 5 (reset seed {reset_seed(seed, 0, number)})" in done.err
    assert told(done.err) == ["run", str(number), "--iteration", "5"]


def test_a_good_episode_can_be_replayed(cartpole_run, tmp_path):
    done = forked("replay", cartpole_run, 0, cwd=tmp_path)
    assert done.code == 0, done
    assert re.fullmatch(r"episode 0 of iteration \d+: (\d+) steps, return \1, terminated\n", done.out)
    assert forked("replay", cartpole_run, 10_000, cwd=tmp_path).code == 2


def test_the_report_of_an_earlier_failure_does_not_silence_the_next(tmp_path):
    job = ("--env", "failing_envs:Failing-raise-v0", *SEGMENTS, "--steps-per-update", 160)
    for words in ((*job, *END, "--out", "run"), ("--resume", "run", "--progress", "none")):
        done = forked("train", *words, cwd=tmp_path)
        assert (done.code, "the arm fell off" in done.err) == (1, True), done
        assert (tmp_path / "run" / "failure.txt").read_text() == done.err


@pytest.mark.parametrize(
    ("command", "call", "code"), [("watch", "step", 1), ("watch", "render", 2), ("evaluate", "step", 1)]
)
def test_every_command_says_in_a_line_that_an_episode_failed(command, call, code, cartpole_run, tmp_path, monkeypatch):
    shutil.copytree(cartpole_run, tmp_path / "run", ignore=shutil.ignore_patterns("video.mp4"))
    monkeypatch.setattr(CartPoleEnv, call, lambda *_: 1 / 0)
    done = forked(command, "run", cwd=tmp_path)
    assert (done.code, done.err.count("\n"), "ZeroDivisionError" in done.err) == (code, 1, True), done
    assert not (tmp_path / "run" / "video.mp4").exists()


def test_an_environment_without_a_rate_of_pictures_is_filmed(cartpole_run, tmp_path, monkeypatch):
    shutil.copytree(cartpole_run, tmp_path / "run")
    monkeypatch.setattr(CartPoleEnv, "metadata", {"render_modes": ["rgb_array"], "render_fps": None})
    monkeypatch.setattr(CartPoleEnv, "render", lambda self: np.full((20, 30, 3), 99, np.uint8))
    done = forked("watch", "run", "--steps", 20, cwd=tmp_path)
    assert (done.code, done.err) == (0, ""), done
    assert (tmp_path / "run" / "video.mp4").exists()


@pytest.mark.parametrize("command", ["watch", "replay"])
def test_a_patience_that_is_no_time_is_refused(command, cartpole_run, tmp_path):
    words = (cartpole_run, 0) if command == "replay" else (cartpole_run,)
    done = forked(command, *words, "--stuck-after", "nan", cwd=tmp_path)
    assert (done.code, done.err.count("\n"), "--stuck-after" in done.err) == (2, 1, True), done
