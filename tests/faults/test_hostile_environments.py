"""Hostile environments: whatever one does, the job ends with one message that says where, and leaves nothing behind."""

import sys

import pytest
from runs import TOYS
from runs import Forked, forked

sys.path.append(str(TOYS))
from hostile_envs import CASES

JOB = ("--preset", "episodes",
         "--hidden", "4", "--critic", "linear", "--cg-iterations", "2", "--progress", "none", "--envs-per-rank", "2",
       "--num-envs", "2", "--total-steps", "120", "--steps-per-update", "60", "--stuck-after", "1")  # fmt: skip
PLAIN = [name for name, case in CASES.items() if not case.kind]


def arguments(name):
    return ("--env", CASES[name].env, *JOB, "--out", "run", *CASES[name].arguments)


def check(name, done, folder):
    """Insist on the exit code, one message with the cause, the episode where there is one, and no traceback."""
    case, said = CASES[name], done.err.splitlines()
    assert done.code == case.code, str(done)[:3000]
    assert case.words in done.err, str(done)[:3000]
    assert "Traceback" not in done.out + done.err, done
    assert len(done.err) < 2500, done
    if case.code == 0:
        assert done.out.splitlines()[-1].startswith("theta sha256: "), done
    elif case.code == 2:
        assert len(said) == 1, done
        assert said[0].startswith("train.py: ")
        assert not (folder / "run").exists(), "something was written"
    elif case.code == 1:
        assert len(said) == 3, done
        assert f"minitrpo: rank 0 stopped: {case.env} failed in episode " in said[0], done
        assert "replay.py run " in said[1]
        assert "--resume run" in said[2]


@pytest.mark.parametrize("name", PLAIN)
def test_one_message_and_an_end(name, tmp_path):
    check(name, forked("train", *arguments(name), cwd=tmp_path), tmp_path)


@pytest.mark.parametrize("kind", ["crash", "hang", "slow", "mute", "late", "stop"])
def test_what_the_process_itself_cannot_tell(kind, tmp_path):
    """All of one kind at once: they spend their time waiting."""
    jobs = {}
    for name in (name for name, case in CASES.items() if case.kind == kind):
        (tmp_path / name).mkdir()
        jobs[name] = Forked("train", arguments(name), tmp_path / name)
    for name, job in jobs.items():
        done, case = job.end(60), CASES[name]
        if kind == "late":
            assert (done.code, case.words in done.err, "Traceback" in done.err) == (0, True, False), done
        elif kind == "stop":
            assert (done.code, case.words in done.out, done.err) == (143, True, ""), done
        elif kind == "mute":
            assert (done.code, "Traceback" in done.err) == (case.code, False), done
        elif kind == "slow":
            check(name, done, tmp_path / name)
        else:
            assert done.code != 0, done
            said = [line for line in done.err.splitlines() if line.startswith("minitrpo: rank ")]
            assert len(said) == 1, done
            assert case.words in said[0], done
            assert "Traceback" not in done.err, done
