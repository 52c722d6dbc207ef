"""How commands begin and end: on any terminal, in any folder, at any Ctrl-C, whoever reads what they print."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from runs import ROOT, SCRIPTS, TOYS

from minitrpo.run_folder.folder import RunFolder
from minitrpo.supervision.stderr import keep_stderr, say

COMMANDS = {"train": ("--env", "Größe-v0"), "watch": ("gibt-es-nicht-Ä",), "replay": ("gibt-es-nicht-Ä", "0"),
            "speedup": ("--env", "Größe-v0")}  # fmt: skip
SHORT = ("--env", "CartPole-v1", "--hidden", "4", "--total-steps", "300", "--steps-per-update", "100",
         "--progress", "none", "--critic", "linear")  # fmt: skip
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
HOME = {**os.environ, "PATH": PATH, "PYTHONPATH": os.pathsep.join([str(ROOT), str(TOYS)])}
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}


def shell(line, cwd, **environment):
    """Run a line of sh, as a person types it."""
    return subprocess.run(
        ["bash", "-c", line], cwd=cwd, env=HOME | environment, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_that_was_deleted(command, tmp_path):
    line = f"mkdir gone && cd gone && rmdir ../gone && python {SCRIPTS / command}.py {' '.join(COMMANDS[command])}"
    done = shell(line, tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "the folder you are in was deleted" in done.stderr


def test_a_folder_that_was_deleted_for_the_package_and_its_doctor(tmp_path):
    for words in ("minitrpo train", "minitrpo.doctor"):
        done = shell(f"mkdir gone && cd gone && rmdir ../gone && python -m {words}", tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_terminal_that_knows_ascii_alone(command, tmp_path):
    words = " ".join(COMMANDS[command])
    done = shell(f"python {SCRIPTS / command}.py {words}; python -m minitrpo {command} --help", tmp_path, **ASCII)
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.returncode == 0
    assert "usage: " in done.stdout


def test_a_run_whose_names_are_not_ascii(tmp_path):
    line = f"python {SCRIPTS / 'train.py'} {' '.join(SHORT)} --out Läufe/größer"
    done = shell(line, tmp_path, **ASCII)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].startswith("theta sha256: ")
    assert len(RunFolder(tmp_path / "Läufe" / "größer").rows()) > 1


@pytest.mark.parametrize("words", ["-m minitrpo.doctor", "-m minitrpo train --help", "-m minitrpo -h",
                                   f"{SCRIPTS / 'speedup.py'} --help"])  # fmt: skip
def test_a_reader_who_had_enough(words, tmp_path):
    done = shell(f"set -o pipefail; python -u {words} | true", tmp_path)
    assert done.stderr == ""
    if "--help" in words:  # argparse keeps its errors to itself
        return
    done = shell(f"python {words} > /dev/full", tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1, done.stderr
    assert "cannot print: No space left on device" in done.stderr


@pytest.mark.parametrize("closed", ["1>&-", "2>&-", "1>&- 2>&-", "0<&- 1>&- 2>&-"])
def test_streams_that_are_closed_from_the_start(closed, tmp_path):
    done = shell(f"python {SCRIPTS / 'train.py'} {' '.join(SHORT)} --out run {closed}", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(RunFolder(tmp_path / "run").rows()) > 1, "nothing else was written into its files"


ENDS = {
    "atexit": "import atexit, time; atexit.register(time.sleep, 1000)",
    "a busy atexit": "import atexit\ndef busy():\n    while True: pass\natexit.register(busy)",
    "__del__": "class Slow:\n    def __del__(self): __import__('time').sleep(1000)\nkept = Slow()",
    "a thread": "import threading, time; threading.Thread(target=time.sleep, args=(1000,)).start()",
    "a pool": "import concurrent.futures as c, time; c.ThreadPoolExecutor(1).submit(time.sleep, 1000)",
    "a process": "import multiprocessing as m, time; m.Process(target=time.sleep, args=(1000,)).start()",
}


@pytest.mark.parametrize("what", ENDS)
def test_what_would_hang_at_the_end(what, tmp_path):
    """The exit code is that of the run, of a finished one, of bad input and of a failure, and comes within seconds."""
    (tmp_path / "mine.py").write_text(f"{ENDS[what]}\nfrom failing_envs import *\n")
    for words, code, env in (("", 0, "CartPole-v1"), ("--hidden x", 2, "CartPole-v1"), ("", 1, "Failing-raise-v0")):
        line = f"exec python {SCRIPTS / 'train.py'} {' '.join(SHORT)} --env mine:{env} {words} --total-steps 5000"
        process = subprocess.Popen(
            ["bash", "-c", line], cwd=tmp_path, env=HOME, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True,
        )  # fmt: skip
        try:
            assert process.wait(60) == code, process.stdout.read()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_what_raises_at_the_end_is_one_line(tmp_path):
    (tmp_path / "mine.py").write_text("import atexit, sys; atexit.register(sys.exit, 9)\nfrom failing_envs import *\n")
    done = shell(f"python {SCRIPTS / 'train.py'} {' '.join(SHORT)} --env mine:CartPole-v1", tmp_path)
    assert (done.returncode, done.stderr) == (0, "minitrpo: something that was left for the end raised SystemExit: 9\n")


@pytest.mark.parametrize("code", [0, 7])
def test_a_rank_that_leaves_fails_the_job(code, tmp_path):
    """Whatever code it leaves with: that of a whole run would be a lie."""
    patch = f"import gymnasium, os\nclass Leaving(gymnasium.Env):\n{LEAVING}"
    (tmp_path / "leaving.py").write_text(patch.replace("CODE", str(code)))
    words = f"--env leaving:Leaving-v0 --out run --oversubscribe {' '.join(SHORT[2:])} --total-steps 5000"
    done = shell(f"mpiexec -n 2 python {SCRIPTS / 'train.py'} {words}", tmp_path)
    assert done.returncode == 1, done.stderr
    assert len(re.findall(r"^minitrpo: rank \d was left by os._exit", done.stderr, re.MULTILINE)) == 1


LEAVING = """
    observation_space, action_space = gymnasium.spaces.Box(-1, 1, (1,)), gymnasium.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self.observation_space.sample() * 0, {}
    def step(self, action):
        self.t += 1
        if self.t == 30:
            os._exit(CODE)
        return self.observation_space.sample() * 0, 1.0, False, False, {}
gymnasium.register("Leaving-v0", entry_point=Leaving)
"""


def test_a_rank_that_is_stopped_is_named_and_given_up(tmp_path):
    patch = "from minitrpo.supervision import hang_detector; hang_detector.PATIENCE = 4"
    words = ["train.py", *SHORT, "--total-steps", "100000000", "--out", "run", "--stuck-after", "1", "--oversubscribe"]
    program = f"import sys; {patch}; sys.argv = {words}; from minitrpo.commands.train import main; main()"
    process = subprocess.Popen(["mpiexec", "-n", "2", sys.executable, "-c", program], cwd=tmp_path, env=HOME,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)  # fmt: skip
    while not (tmp_path / "run" / "checkpoint.npz").exists():
        time.sleep(0.05)
        assert process.poll() is None
    proxy = children(process.pid)[0]
    os.kill(children(proxy)[-1], signal.SIGSTOP)
    _, said = process.communicate(timeout=60)
    assert process.returncode != 0
    assert len(re.findall(r"^minitrpo: rank \d is stopped, and the others wait for it: kill -CONT", said, re.M)) == 1
    assert len(re.findall(r"^minitrpo: rank \d was stopped \(SIGSTOP\) and did not go on for 4 s", said, re.M)) == 1


def children(parent):
    """Return the pids of a process's children, in their order."""
    listing = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(pid) for pid in listing]


@pytest.mark.parametrize("after", [0.15, 0.4, 0.8])
@pytest.mark.parametrize("ranks", [0, 2])
def test_ctrl_c_while_it_loads(ranks, after, tmp_path):
    """At its first tenth of a second Python itself is not yet there; then there is no traceback at any instant."""
    launcher = ["mpiexec", "-n", str(ranks)] if ranks else []
    words = [*launcher, sys.executable, str(SCRIPTS / "train.py"), *SHORT, "--total-steps", "100000000"]
    process = subprocess.Popen(words, cwd=tmp_path, env=HOME, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    loading = time.monotonic() + 20
    while time.monotonic() < loading and not any(
        "commands" in line for pid in ([process.pid] if not ranks else ranks_of(process)) for line in mapped(pid)
    ):
        time.sleep(0.01)
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err
    assert "Traceback" not in out + err
    assert "BAD TERMINATION" not in out + err
    assert "interrupted" in out + err


LOST = """
import os, signal, sys, time
from minitrpo.commands.cli import answered
from minitrpo.supervision import signals
signal.signal(signal.SIGINT, signals._leave)
signals.heed_interrupts()
with answered("train.py") as ending:
    os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGINT))
    if os.fork() == 0:
        os._exit(0)
    time.sleep(20)
    print("slept through it")
time.sleep(0.7)  # nothing comes after the answer
sys.exit(ending.code)
"""


def test_ctrl_c_is_not_lost_in_a_callback_that_drops_what_it_raises():
    done = subprocess.run([sys.executable, "-c", LOST], env=HOME, capture_output=True, text=True, timeout=60)
    assert done.returncode == 130, done.stdout + done.stderr
    assert done.stderr.endswith("train.py: interrupted\n")
    assert not done.stdout


def ranks_of(process):
    return [pid for proxy in children(process.pid) for pid in children(proxy)]


def mapped(pid):
    """Return a line if this Python has begun to load what is ours: numpy is mapped after the first of our modules."""
    try:
        return ["commands"] if "_multiarray_umath" in Path(f"/proc/{pid}/maps").read_text() else []
    except OSError:
        return []


def test_what_is_said_arrives_although_stderr_was_taken_away(tmp_path, capfd):
    keep_stderr()
    null, saved = os.open(os.devnull, os.O_WRONLY), os.dup(2)
    os.dup2(null, 2)
    say("first")
    os.close(2)
    say("second \udcff")
    os.dup2(saved, 2)
    for number in (null, saved):
        os.close(number)
    assert capfd.readouterr().err == "first\nsecond \\udcff\n"


def test_where_stderr_is_gone_it_is_said_on_stdout():
    lost = "import os; from minitrpo.supervision.stderr import KEPT, say; KEPT.clear(); "
    for code, found in (("say('here')", ("", "here\n")), ("os.close(2); say('here')", ("here\n", ""))):
        result = subprocess.run([sys.executable, "-c", lost + code], capture_output=True, text=True, check=True)
        assert (result.stdout, result.stderr) == found
