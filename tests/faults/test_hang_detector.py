"""Algorithms that hang, or whose theta turns into something else: the job ends, and says where."""

import pytest
from runs import Forked, forked

import minitrpo.supervision.hang_detector as hang_detector
from minitrpo.supervision.hang_detector import PATIENCE, HangDetector
from minitrpo.supervision.status import RankStatus

JOB = ("--env", "CartPole-v1", "--hidden", "4", "--total-steps", "400", "--steps-per-update", "100", "--out", "run",
       "--progress", "none")  # fmt: skip


def as_algorithm(name):
    return ("--algorithm", f"hostile_algorithms:{name}", *JOB)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("PicklesMemory", "worker_state() has odd = "),
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
    monkeypatch.setattr(hang_detector, "PATIENCE", 2)
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


class World:
    """Time, and what a process does in it."""

    def __init__(self, monkeypatch, ranks=2):
        self.time, self.state, self.status = 0.0, "S", RankStatus.private(1)
        monkeypatch.setattr(hang_detector.time, "monotonic", lambda: self.time)
        monkeypatch.setattr(hang_detector, "state_of", lambda process: self.state)
        monkeypatch.setattr(hang_detector, "launched_size", lambda: ranks)
        self.said = []
        monkeypatch.setattr(hang_detector, "say", self.said.append)
        self.detector = HangDetector(self.status, 1, 5.0)

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
    world.status.begin("step", 0)
    words, when = world.complaint(100)
    assert words == "is stuck: no environment step for 5 s"
    assert 105 < when <= 107
    world = World(monkeypatch)
    world.status.begin("learn")
    words, when = world.complaint(1000)
    assert words.startswith("is stuck: learn has not returned for 100 s")
    assert 5 * PATIENCE < when <= 5 * PATIENCE + 2


def test_who_is_suspended_together_with_its_watchdog_is_not_stuck(monkeypatch):
    """A laptop that sleeps, a queue that pauses a job: the watchdog sees no time pass."""
    world = World(monkeypatch)
    world.status.begin("step", 0)
    for _ in range(2):
        world.time += 3600
        assert world.detector.look() == ""
    world.status.begin("step", 0)
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
        world.status.begin("step", 0)
        world.state = state
        assert world.complaint(1000) is None
        assert world.said == []
