"""Whatever call of the file system fails, whenever: one line, and nothing is lost."""

import functools

import pytest
from runs import lasting
from failing_disk import can_fail, main_with
from runs import MAINS, forked

MAINS["faulty"] = main_with
RUNS = {
    "trpo": ("--preset", "episodes", "--critic", "linear", "--cg-iterations", 2, "--steps-per-update", 60),
    "dqn": ("--warm-up", 20, "--batch", 8, "--steps-per-update", 60, "--record-every", 1),
    "a3c": ("--transport", "events", "--steps-per-update", 60),
}
FAULTS = (("ENOSPC", "once"), ("ENOSPC", "lasting"), ("EIO", "once"), ("EMFILE", "once"))
MOST = 250  # calls of such a run, about
QUICK = (1, 2, 6, 17)  # and of these only some errors


def words_of(algorithm):
    of_all = (
        "--env",
        "CartPole-v1",
        "--hidden",
        4,
        "--total-steps",
        180,
        "--checkpoint-every",
        1,
        "--progress",
        "none",
    )
    return ("--algorithm", algorithm, *of_all, *RUNS[algorithm])


@functools.cache
def whole(algorithm, folder):
    """Return what a run without faults leaves, and which calls it made."""
    folder.mkdir()
    words = (folder / "run", 0, "EIO", "once", *words_of(algorithm), "--out", "run")
    done = forked("faulty", *words, cwd=folder, timeout=60)
    assert done.code == 0, done
    return lasting(folder / "run"), (folder / "calls").read_text().splitlines()


@pytest.fixture
def undisturbed(tmp_path_factory):
    return lambda algorithm: whole(algorithm, tmp_path_factory.getbasetemp() / f"whole-{algorithm}")


def one_line(done):
    """Insist on one message, with how to go on after it."""
    said = done.err.splitlines()
    assert done.code in (1, 2), done
    assert "Traceback" not in done.err, done
    assert said, done
    assert said[0].startswith(("minitrpo: rank 0 stopped: cannot ", "minitrpo train: ")), done
    assert all("goes on from the last checkpoint" in line for line in said[1:]), done


def survives(algorithm, number, error, how, folder, expected):
    """Let a call fail, then go on without faults: the same end, to the bit."""
    words = words_of(algorithm)
    done = forked("faulty", folder / "run", number, error, how, *words, "--out", "run", cwd=folder, timeout=60)
    if done.code:
        one_line(done)
        begun = (folder / "run" / "config.json").exists()
        begin = (*words, "--out", "run")
        again = ("--resume", "run", "--progress", "none") if begun else begin
        done = forked("train", *again, cwd=folder, timeout=60)
    assert done.code == 0, done
    assert lasting(folder / "run") == expected


def marks(number, i):
    return [pytest.mark.thorough] * (number not in QUICK or (number + i) % 3 > 0)


CASES = [
    pytest.param(number, *fault, marks=marks(number, i))
    for number in range(1, MOST + 1)
    for i, fault in enumerate(FAULTS)
]


@pytest.mark.parametrize(("number", "error", "how"), CASES)
@pytest.mark.parametrize("algorithm", RUNS)
def test_a_call_that_fails_loses_nothing(algorithm, number, error, how, tmp_path, undisturbed):
    expected, calls = undisturbed(algorithm)
    if number > len(calls) or not can_fail(calls[number - 1], error):
        pytest.skip(f"the run has {len(calls)} calls, and not all can fail so")
    survives(algorithm, number, error, how, tmp_path, expected)


@pytest.mark.parametrize("algorithm", RUNS)
def test_every_call_is_numbered(algorithm, undisturbed):
    assert 50 < len(undisturbed(algorithm)[1]) <= MOST
