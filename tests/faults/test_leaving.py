"""Who leaves the process, or doubles it, within a call is told as any failure: never exit code 0, never two of us."""

import os
import subprocess
import sys

import pytest
from runs import ROOT, TOYS, lasting, run, train

from minitrpo.errors import BadInput
from minitrpo.run_folder.metrics_log import check_log
from minitrpo.supervision.status import RankStatus

ENV = "leaving_envs:Leaving"
JOB = ("--env", ENV, "--hidden", 4, "--total-steps", 400, "--steps-per-update", 200, "--num-envs", 4)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return a run in which nobody left."""
    folder = tmp_path_factory.mktemp("leaving") / "run"
    train(folder, *JOB, new=True)
    return folder


COMMANDS = {
    "replay": ("RUN", 16, "--env", ENV),
    "watch": ("RUN", "--env", ENV, "--steps", 20),
    "evaluate": ("RUN", "--env", ENV, "--episodes", 3),
    "doctor": ("--env", ENV),
    "check": ("trpo", "--env", ENV),
}


@pytest.mark.parametrize("code", [0, 2])
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_that_it_was_left(command, code, finished, tmp_path, monkeypatch):
    monkeypatch.setenv("LEAVE", f"os._exit({code})")
    words = [finished if word == "RUN" else word for word in COMMANDS[command]]
    done = run(command, *words, cwd=tmp_path, new=True)
    assert (done.code, done.err.count("\n")) == (1, 1), done
    assert f"rank 0 was left by os._exit({code})" in done.err


def test_what_was_begun_is_not_bad_input(tmp_path, monkeypatch):
    monkeypatch.setenv("LEAVE", "os._exit(2)")
    monkeypatch.setenv("LEAVE_AT", "70")
    done = run("train.py", *JOB, "--out", tmp_path / "run", "--progress", "none")
    assert done.code == 1, done
    assert (tmp_path / "run" / "checkpoint.npz").exists()


@pytest.mark.parametrize(("name", "said"), [("Exiting", "SystemExit"), ("Leaving", "was left by os._exit(0)")])
def test_an_algorithm_that_leaves_is_not_well(name, said, tmp_path):
    done = run("check", f"hostile_algorithms:{name}", "--", "--hidden", 4, "--steps-per-update", 60, cwd=tmp_path)
    assert done.code == 1, done
    assert said in done.out + done.err
    assert "--resume" not in done.out, "the run was in a folder that is gone"


def test_a_hang_in_what_check_looks_at_first_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("LEAVE", "time.sleep(100)")
    code = (
        "import sys; from minitrpo.commands import check; check.STUCK_AFTER = 1.0; "
        f"sys.exit(check.main(['trpo', '--env', '{ENV}']))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TOYS), str(ROOT)])}
    words, kept = [sys.executable, "-c", code], {"cwd": tmp_path, "capture_output": True, "text": True}
    done = subprocess.run(words, env=environment, timeout=60, check=False, **kept)
    assert done.returncode not in (0, 2)
    assert done.stderr.startswith("minitrpo: rank 0 is stuck: ")
    assert done.stderr.count("\n") == 1


def test_options_of_train_may_follow_those_of_check(tmp_path):
    words = ("hostile_algorithms:Mindful", "--env", "CartPole-v1", "--updates", 2, "--")
    done = run("check", *words, "--hidden", 4, "--steps-per-update", 60, cwd=tmp_path)
    assert done.code == 0, done
    assert run("check", cwd=tmp_path).err.endswith("the following arguments are required: algorithm; see --help\n")


@pytest.mark.parametrize("ranks", [0, 2])
def test_a_fork_that_comes_back_is_ended_and_the_run_goes_on(ranks, finished, tmp_path, monkeypatch):
    monkeypatch.setenv("LEAVE", "os.fork()")
    done = train(tmp_path / "run", *JOB, ranks=ranks, new=True)
    said = [line for line in done.err.splitlines() if "came back from it" in line]
    assert len(said) == max(1, ranks), done.err
    assert lasting(tmp_path / "run") == lasting(finished)


def test_a_fork_that_raises_is_ended_too(finished, tmp_path, monkeypatch):
    monkeypatch.setenv("LEAVE", "if os.fork() == 0: raise ValueError")
    train(tmp_path / "run", *JOB, new=True)
    assert lasting(tmp_path / "run") == lasting(finished)


def test_a_crash_is_told_although_another_was_a_moment_before(finished, tmp_path, monkeypatch):
    monkeypatch.setenv("LEAVE", "os.kill(os.getpid(), 11)")
    path = os.pathsep.join([str(TOYS), str(ROOT)])
    once = f"{sys.executable} -m minitrpo evaluate {finished} --env {ENV} --episodes 3 2> err"
    script = "; ".join(f"{once}{number}" for number in range(3))
    environment = {**os.environ, "PYTHONPATH": path}
    subprocess.run(
        ["bash", "-c", f"{script}; sleep 1"], env=environment, cwd=tmp_path, capture_output=True, check=False
    )
    for number in range(3):
        assert "rank 0 crashed while playing" in (tmp_path / f"err{number}").read_text(), number


def test_rows_of_unequal_shapes_are_told_in_a_line(tmp_path):
    words = ("--algorithm", "hostile_algorithms:Uneven", "--env", "CartPole-v1", "--total-steps", 400)
    done = run("train.py", *words, "--out", tmp_path / "run", "--progress", "none")
    assert done.code == 1
    assert "digest() returned 'z' with rows of shapes [(1,), (2,)]: all must have one shape" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(("limit", "mine"), [("-f 1", False), ("-f 1", True), ("-n 5", False)])
def test_a_folder_that_cannot_be_filled_is_taken_away(limit, mine, tmp_path):
    if mine:
        (tmp_path / "run").mkdir()
    words = f"ulimit {limit}; exec {sys.executable} -m minitrpo train --env CartPole-v1 --total-steps 600 --out run"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", words], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done
    assert "cannot write to" in done.stderr
    assert [each.name for each in tmp_path.iterdir()] == (["run"] if mine else [])
    assert not mine or not any((tmp_path / "run").iterdir())


def test_two_words_too_many_are_one_line(tmp_path):
    done = run("doctor", "x", cwd=tmp_path)
    assert (done.code, done.err.count("\n")) == (2, 1), done
    done = run("train.py", "--env", "leaving_envs:late", "--total-steps", 100, cwd=tmp_path)
    assert (done.code, done.err.count("\n")) == (2, 1), done
    assert "is no gymnasium.Env" in done.err


def test_a_log_that_cannot_be_read_is_not_damaged(tmp_path):
    with pytest.raises(BadInput, match="cannot read"):
        check_log(tmp_path, 1, ("iteration",), 1, None)


def test_a_status_belongs_to_the_process_that_made_it():
    status = RankStatus.private(2)
    assert status.of(1).process == os.getpid()
    child = os.fork()
    if child == 0:
        with status.at("learn"):
            pass
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    with status.at("learn"):
        pass


def test_a_masked_reward_is_told_without_numpys_warning(tmp_path, monkeypatch):
    monkeypatch.setenv("LEAVE", "import numpy; MASKED.append(numpy.ma.masked)")
    done = run("train.py", *JOB, "--out", tmp_path / "run", "--progress", "none")
    assert done.code == 1
    assert "step returned reward = masked; it must be one number" in done.err.splitlines()[0]


LONG = "a" * 300
TOO_LONG = {
    "out": ("train.py", "--env", "CartPole-v1", "--total-steps", 100, "--out", LONG),
    "a path": ("train.py", "--env", "CartPole-v1", "--total-steps", 100, "--out", "a/" * 3000),
    "seeds": ("train.py", "--env", "CartPole-v1", "--total-steps", 100, "--seeds", "0-1", "--out", LONG),
    "config": ("train.py", "--env", "CartPole-v1", "--config", LONG),
    "plot": ("plot", LONG),
    "a picture": ("plot", "RUN", "--out", f"{LONG}.png"),
    "grade": ("grade", LONG),
    "watch": ("watch", LONG),
}


@pytest.mark.parametrize("case", TOO_LONG)
def test_a_name_that_no_file_can_have_is_one_line(case, finished, tmp_path):
    command, *words = (finished if word == "RUN" else word for word in TOO_LONG[case])
    done = run(command, *words, cwd=tmp_path)
    assert (done.code, done.err.count("\n")) == (2, 1), done
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["train.py", "check"])
def test_a_module_that_leaves_while_it_is_imported_is_refused(command, tmp_path):
    (tmp_path / "leaves.py").write_text("import os; os._exit(0)")
    words = ("--algorithm", "leaves:X", "--env", "CartPole-v1") if command == "train.py" else ("leaves:X",)
    done = run(command, *words, cwd=tmp_path)
    assert (done.code, done.err.count("\n")) == (2, 1), done
    assert "it calls os._exit(0)" in done.err


def test_a_module_that_hangs_while_it_is_imported_is_ended(tmp_path):
    (tmp_path / "hangs.py").write_text("import time; time.sleep(1000)")
    words = ("--algorithm", "hangs:X", "--env", "CartPole-v1", "--stuck-after", 0.1)
    done = run("train.py", *words, cwd=tmp_path, timeout=30)
    assert done.code == 1
    assert done.err == "minitrpo: --algorithm hangs:X: the module has not been imported for 2 s\n"


LATE = {
    "at the end": (
        "import atexit; atexit.register(os._exit, 0); raise ValueError('first')",
        "raised ValueError: first",
    ),
    "a thread": (
        "import threading; threading.Timer(0.01, os._exit, (0,)).start(); raise ValueError",
        "minitrpo: rank 0 ",
    ),
    "threads": (
        "import threading; [threading.Thread(target=os._exit, args=(0,)).start() for _ in range(20)]; time.sleep(5)",
        "was left by os._exit(0)",
    ),
}


@pytest.mark.parametrize("case", LATE)
def test_who_leaves_while_a_failure_is_told_changes_nothing(case, tmp_path, monkeypatch):
    what, said = LATE[case]
    monkeypatch.setenv("LEAVE", what)
    for number in range(3):
        done = run("train.py", *JOB, "--out", tmp_path / f"run{number}", "--progress", "none")
        assert done.code == 1, done
        assert said in done.err


def test_who_leaves_after_a_good_run_has_its_code(tmp_path, monkeypatch):
    monkeypatch.setenv("LEAVE", "import atexit; atexit.register(os._exit, 3)")
    assert run("train.py", *JOB, "--out", tmp_path / "run", "--progress", "none").code == 0


@pytest.mark.parametrize("out", ["p/q/" + "z" * 300, "a/../../../../../../../../../../proc/nothing"])
def test_a_folder_that_cannot_be_made_leaves_none_above_it(out, tmp_path):
    done = run("train.py", "--env", "CartPole-v1", "--total-steps", 300, "--out", out, cwd=tmp_path)
    assert (done.code, done.err.count("\n")) == (2, 1), done
    assert "choose another" in done.err
    assert list(tmp_path.iterdir()) == []


def test_an_episode_that_fails_while_it_is_filmed_ends_with_one(finished, tmp_path, monkeypatch):
    monkeypatch.setenv("LEAVE", "raise")
    done = run("watch", finished, "--env", ENV, "--steps", 20, cwd=tmp_path, new=True)
    assert (done.code, done.err.count("\n")) == (1, 1), done
