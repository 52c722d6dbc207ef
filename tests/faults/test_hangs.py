"""A call that does not return, and a rank that is stopped, end the job with a line that names the call.

The watchdog's clock is a toy here, save in one test, and in `test_jobs.py`.
"""

import shlex
import shutil
from types import SimpleNamespace

import hostile_algorithms
import hostile_envs
import psutil
import pytest
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
from hostile_envs import STUCK
from runs import MAINS, forked

from minitrpo.commands import check
from minitrpo.supervision import watchdog
from minitrpo.supervision.watchdog import PATIENCE, STUCK_AFTER, HangDetector, status

JOB = ("--hidden", "4", "--total-steps", "400", "--steps-per-update", "100", "--out", "run", "--progress", "none")


@pytest.fixture
def clock(monkeypatch):
    """Let time pass only where a toy hangs: two seconds for each look of a watchdog."""

    class Clock:
        now = 0.0

        def monotonic(self):
            self.now += 2.0 * STUCK[0]
            return self.now

    STUCK[0] = 0
    monkeypatch.setattr(watchdog, "time", Clock())
    monkeypatch.setattr(watchdog, "TICK", 0.002)


def ended(done, words):
    """Insist on the end of a process that hung: one message, and not as one that went well or was refused."""
    assert done.code not in (0, 2), done
    said = [line for line in done.err.splitlines() if line.startswith("minitrpo: ")]
    assert len(said) == 1, done
    assert said[0].startswith("minitrpo: rank 0 is stuck: "), done
    assert words in said[0], done
    assert "Traceback" not in done.err


@pytest.mark.parametrize("name", hostile_envs.HANGING)
def test_an_environment_that_hangs_is_named(name, clock, tmp_path):
    done = forked("train", "--env", f"Hostile-{name}-v0", *JOB, cwd=tmp_path, timeout=120)
    call = hostile_envs.HANGING[name]
    waited = "no environment step" if call == "step" else f"{call} has not returned"
    ended(done, f"{waited} for {STUCK_AFTER:g} s")
    assert f"Hostile-{name}-v0" in done.err
    if call == "step":  # later ones know their episode
        assert "while playing Hostile-step-hangs-v0: episode " in done.err
        assert (tmp_path / "run" / "failure.txt").read_text() == done.err
        again = shlex.split(done.err.splitlines()[1].partition("replay.py ")[2])
        STUCK[0] = 0
        ended(forked("replay", *again, cwd=tmp_path, timeout=120), "no environment step")


@pytest.mark.parametrize("call", hostile_algorithms.HANGING)
def test_an_algorithm_that_hangs_is_named_and_may_take_longer(call, clock, tmp_path):
    words = ("--algorithm", f"hostile_algorithms:Hangs_{call}", "--env", "CartPole-v1", "--stuck-after", 3, *JOB)
    done = forked("train", *words, cwd=tmp_path, timeout=120)
    ended(done, f"{call} has not returned for {3 * PATIENCE} s")
    assert f"in the {call} of hostile_algorithms:Hangs_{call}" in done.err


@pytest.mark.slow
def test_an_algorithm_that_hangs_ends_the_job_by_the_real_clock(tmp_path, monkeypatch):
    monkeypatch.setattr(watchdog, "PATIENCE", 1)
    words = ("--algorithm", "hostile_algorithms:Hangs_learn", "--env", "CartPole-v1", "--stuck-after", 3, *JOB)
    ended(forked("train", *words, cwd=tmp_path, timeout=120), "learn has not returned")


def test_a_render_that_hangs_is_named(clock, cartpole_run, tmp_path, monkeypatch):
    monkeypatch.setattr(CartPoleEnv, "render", hostile_envs.hang)
    shutil.copytree(cartpole_run, tmp_path / "run")
    ended(forked("watch", "run", cwd=tmp_path, timeout=120), "render has not returned")


def test_what_check_looks_at_first_is_watched_too(clock, tmp_path):
    MAINS["check"] = check.main
    ended(forked("check", "trpo", "--env", "Hostile-reset-hangs-v0", cwd=tmp_path, timeout=120), "reset has not")


# --- the pieces


class World:
    """Time, and what a process does in it."""

    def __init__(self, monkeypatch, ranks=2):
        self.time, self.state, self.parent = 0.0, psutil.STATUS_SLEEPING, watchdog.LAUNCHER
        status.share()
        monkeypatch.setattr(watchdog, "time", SimpleNamespace(monotonic=lambda: self.time))
        monkeypatch.setattr(watchdog, "launched_size", lambda: ranks)
        self.detector = HangDetector(SimpleNamespace(status=lambda: self.state, ppid=self.ppid), 5.0)

    def ppid(self):
        if self.parent is None:
            raise psutil.NoSuchProcess(1)
        return self.parent

    def complaint(self, seconds, step=1.0):
        """Return the first complaint and its time, looking once a second."""
        until = self.time + seconds
        while self.time < until:
            self.time += step
            words = self.detector.look()
            if words:
                return words, self.time
        return None


def test_a_step_may_take_a_while_and_an_update_longer(monkeypatch):
    world = World(monkeypatch)
    assert world.complaint(100) is None, "waiting for others"
    status.begin("step", 0)
    words, when = world.complaint(100)
    assert words == "is stuck: no environment step for 5 s"
    assert 105 < when <= 107
    world = World(monkeypatch)
    status.begin("learn")
    words, when = world.complaint(1000)
    assert words.startswith("is stuck: learn has not returned for 100 s")
    assert 5 * PATIENCE < when <= 5 * PATIENCE + 2


def test_a_rank_whose_launcher_is_killed_while_it_joins_the_others_does_not_wait_for_them(monkeypatch):
    for ranks, launcher, lost in ((2, 1, True), (1, 1, False), (2, watchdog.LAUNCHER, False), (2, None, False)):
        world = World(monkeypatch, ranks)
        status.begin("MPI_Init")
        world.parent = launcher
        assert (world.complaint(3) is not None) == lost, (ranks, launcher)


def test_who_is_suspended_together_with_its_watchdog_is_not_stuck(monkeypatch):
    """A laptop that sleeps, a queue that pauses a job: the watchdog sees no time pass."""
    world = World(monkeypatch)
    status.begin("step", 0)
    for _ in range(2):
        world.time += 3600
        assert world.detector.look() == ""
    status.begin("step", 0)
    assert world.complaint(3) is None


def test_a_stopped_rank_is_in_the_end_given_up(monkeypatch):
    world = World(monkeypatch)
    world.state = psutil.STATUS_STOPPED
    words, when = world.complaint(1000)
    assert words.startswith("was stopped (SIGSTOP)")
    assert 100 < when <= 102
    for state, ranks in ((psutil.STATUS_TRACING_STOP, 2), (psutil.STATUS_STOPPED, 1)):  # a debugger; Ctrl-Z
        world = World(monkeypatch, ranks)
        status.begin("step", 0)
        world.state = state
        assert world.complaint(1000) is None
