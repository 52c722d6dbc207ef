"""Disks that fill, folders that two runs want, commands that are copied, environments that do not repeat themselves."""

import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from runs import SCRIPTS, TOYS, run, train

from minitrpo.experience.determinism import differences
from minitrpo.experience.environments import describe
from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision.status import RankStatus

JOB = ("--env", "CartPole-v1", "--steps-per-update", 500, "--total-steps", 3000, "--progress", "none")


# train.py on a disk that is full after the third update: no file of the root may grow beyond a few bytes any more
FULL_DISK = """
import resource, sys
from minitrpo.commands.train import main
from minitrpo.run_folder.folder import RunFolder
append = RunFolder.append
def append_on_a_full_disk(self, row):
    if row["iteration"] == 4:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    append(self, row)
RunFolder.append = append_on_a_full_disk
sys.exit(main(sys.argv[1:]))
"""


def started(*words):
    """Start train.py."""
    command = [sys.executable, str(SCRIPTS / "train.py"), *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_disk_that_is_full_ends_the_job_with_one_line_and_nothing_is_lost(ranks, tmp_path):
    whole = train(tmp_path / "whole", *JOB)
    folder, program = tmp_path / "run", tmp_path / "full_disk.py"
    program.write_text(FULL_DISK)
    done = mpiexec(ranks, program, "--out", folder, "--oversubscribe", *JOB)
    assert done.returncode == 1
    said = re.findall(r"^minitrpo: rank 0 stopped: cannot write .*$", done.stderr, re.MULTILINE)
    assert len(said) == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert not list(folder.glob("*.tmp"))
    assert run("train.py", "--resume", folder, "--progress", "none").sha256 == whole.sha256


def mpiexec(ranks, program, *words):
    """Run a program on several ranks."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = ["mpiexec", "-n", str(ranks), sys.executable, str(program), *map(str, words)]
    environment = os.environ | {"PATH": path}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_a_folder_in_which_a_run_is_at_work_is_refused(tmp_path):
    folder = tmp_path / "run"
    process = started(*JOB[:4], "--total-steps", 3_000_000, "--progress", "none", "--out", folder)
    try:
        while not (folder / "checkpoint.npz").exists():
            time.sleep(0.01)
            assert process.poll() is None
        for words in (("--resume", folder), ("--out", folder)):
            outcome = run("train.py", *words)
            assert (outcome.code, outcome.err.count("\n")) == (2, 1)
            assert "another run is at work in" in outcome.err
    finally:
        process.kill()
        process.wait()
    taken = max(1, int(RunFolder(folder).load_checkpoint()["run_counters"][1]))
    assert run("train.py", "--resume", folder, "--total-steps", taken, "--progress", "none").code == 0  # unlocked


def test_the_command_to_go_on_is_right_when_it_is_copied(tmp_path):
    """A run that was extended goes on to its new end, and a path with blanks is one word."""
    folder = tmp_path / "my first run"
    train(folder, *JOB, "--total-steps", 1000)
    process = started("--resume", folder, "--total-steps", 3_000_000, "--progress", "none")
    while len(RunFolder(folder).rows()) < 4:
        time.sleep(0.01)
        assert process.poll() is None
    process.send_signal(2)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    command = shlex.split(re.search(r"to go on from the last checkpoint: (.*)$", out, re.MULTILINE).group(1))
    assert str(folder) in command or any(os.path.abspath(word) == str(folder) for word in command)
    assert RunFolder(folder).read_config()["settings"]["total_steps"] == 3_000_000
    assert len(RunFolder(folder).read_config()["resumed"]) == 1


def test_the_report_of_an_earlier_failure_does_not_silence_the_next(tmp_path):
    folder = tmp_path / "run"
    job = ("--env", "failing_envs:Failing-raise-v0", "--total-steps", 50_000, "--progress", "none")
    assert run("train.py", *job, "--out", folder).code == 1
    assert (folder / "failure.txt").exists()
    again = run("train.py", "--resume", folder)
    assert again.code == 1
    assert "the arm fell off" in again.err


def test_a_log_that_disappears_ends_the_run(tmp_path):
    """Not a new one without its rows: what was learned could not be resumed."""
    folder = tmp_path / "run"
    process = started("--env", "CartPole-v1", "--total-steps", 3_000_000, "--progress", "none", "--out", folder)
    while not (folder / "checkpoint_before.npz").exists():
        time.sleep(0.01)
        assert process.poll() is None
    (folder / "metrics.csv").unlink()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert re.search(r"stopped: cannot write .*metrics.csv", err)


def test_a_run_without_its_first_checkpoint_begins_again(tmp_path):
    whole = train(tmp_path / "whole", *JOB)
    train(tmp_path / "run", *JOB)
    folder = RunFolder(tmp_path / "run")
    folder.forget_after(0)
    for name in ("checkpoint.npz", "checkpoint_before.npz"):
        (folder.path / name).unlink()
    outcome = run("train.py", "--resume", folder.path, "--progress", "none")
    assert "it begins again" in outcome.out
    assert outcome.sha256 == whole.sha256


def test_an_environment_that_does_not_repeat_itself_is_noticed(monkeypatch):
    monkeypatch.syspath_prepend(str(TOYS))
    said = differences(describe("restless_envs:Restless-random-v0"), RankStatus.private(2))
    assert len(said) == 1
    assert "is not deterministic" in said[0]
    for mode in ("memory", "shared"):
        assert len(differences(describe(f"restless_envs:Restless-{mode}-v0"), RankStatus.private(2))) == 1
    for env_id in ("restless_envs:Restless-steady-v0", "CartPole-v1", "Pendulum-v1", "Acrobot-v1"):
        assert differences(describe(env_id), RankStatus.private(2)) == []


def test_a_replay_that_hangs_as_the_episode_did_is_ended(tmp_path):
    folder = tmp_path / "run"
    job = ("--env", "failing_envs:Failing-stuck-v0", "--total-steps", 50_000, "--progress", "none")
    failed = run("train.py", *job, "--out", folder, "--stuck-after", 1)
    assert "is stuck: no environment step for 1 s" in failed.err
    words = re.search(r"in one process: .*replay\.py (.*)$", failed.err, re.MULTILINE).group(1)
    again = run("replay.py", *shlex.split(words), "--stuck-after", 1)
    assert again.code == -9
    assert "is stuck: no environment step for 1 s" in again.err
    assert again.err.count("\n") == 1


DRAWS_FOR_EVER = """
import time
import gymnasium
from gymnasium.envs.classic_control import PendulumEnv
class Slow(PendulumEnv):
    def render(self):
        time.sleep(1000)
gymnasium.register("Slow-v0", entry_point=Slow, max_episode_steps=50)
"""


def test_a_render_that_does_not_return_is_ended(tmp_path):
    (tmp_path / "slow_render.py").write_text(DRAWS_FOR_EVER)
    train("run", "--env", "slow_render:Slow-v0", "--total-steps", 1000, "--progress", "none", cwd=tmp_path)
    outcome = run("watch.py", "run", "--env", "slow_render:Slow-v0", "--stuck-after", 1, cwd=tmp_path)
    assert outcome.code == -9, outcome.err
    assert (
        outcome.err == "minitrpo: rank 0 is stuck: render has not returned for 1 s in the render of the environment\n"
    )


DRAWS = """
import gymnasium
import numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
class Draws(CartPoleEnv):
    metadata = {"render_modes": ["rgb_array"], "render_fps": FPS}
    pictures = 0
    def render(self):
        self.pictures += 1
        if self.pictures == LAST:
            raise RuntimeError("the paint is empty")
        return np.full((20, 30, 3), 99, np.uint8)
gymnasium.register("Draws-v0", entry_point=Draws, max_episode_steps=50)
"""


@pytest.mark.parametrize(("fps", "last", "said"), [("'fast'", 0, ""), ("None", 0, ""), ("30", 4, "the paint is empty")])
def test_what_is_odd_about_pictures(fps, last, said, tmp_path):
    (tmp_path / "draws.py").write_text(DRAWS.replace("FPS", fps).replace("LAST", str(last)))
    train("run", "--env", "draws:Draws-v0", "--total-steps", 600, "--progress", "none", cwd=tmp_path)
    done = run("watch.py", "run", "--env", "draws:Draws-v0", cwd=tmp_path)
    assert (done.code, done.err.count("\n")) == ((2, 1) if said else (0, 0)), done.err
    assert said in done.err
    assert (tmp_path / "run" / "video.mp4").exists() == (not said)


@pytest.mark.parametrize("script", ["watch.py", "replay.py"])
def test_a_patience_that_is_no_time_is_refused(script, tmp_path):
    train(tmp_path / "run", *JOB, "--total-steps", 1000)
    words = (tmp_path / "run", 0) if script == "replay.py" else (tmp_path / "run",)
    outcome = run(script, *words, "--stuck-after", "nan")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "--stuck-after must be a positive number" in outcome.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--num-envs", 4, "--preset", "episodes"), "--num-envs has no effect with --requests episodes"),
        (("--pool", "static"), "--pool has no effect with --requests segments"),
        (("--algorithm", "a3c", "--requests", "episodes"), "--requests has no effect with --algorithm a3c, which is"),
        (("--algorithm", "a3c", "--workers", 3), "--workers has no effect with --transport auto"),
        (("--algorithm", "a3c", "--servers", 5), "--servers has no effect with one rank"),
    ],
)
def test_a_setting_that_nothing_listens_to_is_said(words, said, tmp_path):
    outcome = run("train.py", *JOB, "--total-steps", 500, *words, "--out", tmp_path / "run")
    assert outcome.code == 0
    assert f"note: {said}" in outcome.out + outcome.err
    assert (outcome.out + outcome.err).count("has no effect") == 1
