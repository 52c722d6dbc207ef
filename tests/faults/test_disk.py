"""A disk that fills or fails, a file that is damaged or taken: one line, and nothing is lost."""

import errno
import resource
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from failing_disk import main_with
from runs import MAINS, forked, lasting

from minitrpo.commands import doctor
from minitrpo.errors import BadInput
from minitrpo.run_folder.folder import CHECKPOINTS, RunFolder, newest, release_locks
from minitrpo.run_folder.metrics_csv import read_rows

MAINS["faulty"] = main_with
JOB = ("--env", "CartPole-v1", "--hidden", 4, "--steps-per-update", 100, "--total-steps", 500, "--progress", "none")
RUNS = {
    "trpo": ("--preset", "episodes", "--critic", "linear", "--cg-iterations", 2),
    "dqn": ("--warm-up", 20, "--batch", 8, "--record-every", 1),
    "a3c": ("--transport", "events"),
}
FAULTS = {  # what fails: how
    "open": "EMFILE",
    "write": "ENOSPC",
    "fsync": "EIO",
    "replace": "EIO",
    "unlink": "EIO",
    "reading open": "EMFILE",
}


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["trpo", "dqn", "a3c"])
def test_a_call_of_the_file_system_that_fails_loses_nothing(algorithm, tmp_path):
    """Of each kind of call one in the middle of the run, once; a disk that is full from there on; a kill just there."""
    words = ("--algorithm", algorithm, *JOB, "--steps-per-update", 60, "--total-steps", 180, "--checkpoint-every", 1)
    words = (*words, *RUNS[algorithm], "--out", "run")
    whole = tmp_path / "whole"
    whole.mkdir()
    assert forked("faulty", whole / "run", 0, "EIO", "once", *words, cwd=whole, timeout=120).code == 0
    expected, calls = lasting(whole / "run"), (whole / "calls").read_text().splitlines()
    tried = [(kind, error, "once") for kind, error in FAULTS.items() if kind in calls]
    tried += [(kind, "KILL", "once") for kind in ("write", "fsync", "replace")] + [("write", "ENOSPC", "lasting")]
    assert len(tried) > 4, calls
    for kind, error, how in tried:
        places = [i for i, call in enumerate(calls, 1) if call == kind]
        folder = tmp_path / f"{kind}-{error}-{how}".replace(" ", "-")
        folder.mkdir()
        number = places[len(places) // 2]
        done = forked("faulty", folder / "run", number, error, how, *words, cwd=folder, timeout=120)
        assert (done.code == -9) == (error == "KILL"), done
        if done.code:
            one_line(done) if error != "KILL" else None
            assert error != "ENOSPC" or not list(folder.glob("run/*.tmp")), "what could not be written takes no room"
            begun = (folder / "run" / "config.json").exists()
            done = forked("train", *(("--resume", "run", "--progress", "none") if begun else words), cwd=folder)
        assert done.code == 0, (kind, error, how, done)
        assert lasting(folder / "run") == expected, (kind, error, how)


def one_line(done):
    """Insist on one message, with how to go on after it."""
    said = done.err.splitlines()
    assert done.code in (1, 2), done
    assert "Traceback" not in done.err, done
    assert said, done
    assert said[0].startswith(("minitrpo: rank 0 stopped: cannot ", "minitrpo train: ")), done
    assert all("from the last checkpoint" in line for line in said[1:]), done


def limited(words):
    """Train where no file may grow, or none may be opened."""
    kind, *words = words
    resource.setrlimit(*{"size": (resource.RLIMIT_FSIZE, (100, 100)), "files": (resource.RLIMIT_NOFILE, (5, 5))}[kind])
    return MAINS["train"](words)


MAINS["limited"] = limited


@pytest.mark.parametrize("kind", ["size", "files"])
def test_a_folder_that_cannot_be_filled_is_named_and_may_be_later(kind, tmp_path):
    done = forked("limited", kind, *JOB, "--out", "run", cwd=tmp_path)
    assert (done.code, done.err.count("\n"), "cannot write to" in done.err) == (2, 1, True), done
    assert forked("train", *JOB, "--out", "run", cwd=tmp_path).code == 0


def test_a_folder_in_which_a_run_is_at_work_is_refused(tmp_path):
    assert forked("train", *JOB, "--out", "run", cwd=tmp_path).code == 0
    more = ("--resume", "run", "--total-steps", 700, "--progress", "none")
    with release_locks():
        RunFolder(tmp_path / "run").lock()
        for words in (more, ("--out", "run", *JOB)):
            done = forked("train", *words, cwd=tmp_path)
            assert (done.code, done.err.count("\n"), "another run" in done.err) == (2, 1, True), done
    assert forked("train", *more, cwd=tmp_path).code == 0


def test_a_run_without_its_first_checkpoint_begins_again(tmp_path):
    whole = forked("train", *JOB, "--out", "whole", cwd=tmp_path)
    shutil.copytree(tmp_path / "whole", tmp_path / "run")
    folder = RunFolder(tmp_path / "run")
    folder.forget_after(0)
    for name in CHECKPOINTS:
        (folder.path / name).unlink(missing_ok=True)
    again = forked("train", "--resume", "run", "--progress", "none", cwd=tmp_path)
    assert "it begins again" in again.out, again
    assert again.out.splitlines()[-1] == whole.out.splitlines()[-1]


# --- damaged, or not to be read


def test_a_damaged_checkpoint_gives_way_to_the_one_before_and_that_is_said(tmp_path):
    words = ("--preset", "episodes", *JOB, "--checkpoint-every", 1)
    whole = forked("train", *words, "--out", "whole", cwd=tmp_path)
    shutil.copytree(tmp_path / "whole", tmp_path / "run")
    (tmp_path / "run" / "checkpoint.npz").write_bytes(b"x")
    for words in (("watch", "run", "--steps", 3), ("replay", "run", 0)):
        done = forked(*words, cwd=tmp_path)
        assert done.code == 0, done
        assert "checkpoint.npz is damaged" in done.err
        assert "this is the older policy of checkpoint_before.npz" in done.err
    again = forked("train", "--resume", "run", "--progress", "none", cwd=tmp_path)
    assert "checkpoint.npz is damaged" in again.out, again
    assert again.out.splitlines()[-1] == whole.out.splitlines()[-1]
    assert lasting(tmp_path / "run") == lasting(tmp_path / "whole")


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO, errno.ENFILE])
def test_what_passes_is_no_damage(number, cartpole_run, monkeypatch):
    def read(path):
        raise OSError(number, "it passes", str(path))

    monkeypatch.setattr(Path, "read_bytes", read)
    with pytest.raises(BadInput, match=r"cannot read .*checkpoint\.npz: it passes"):
        newest(cartpole_run)


@pytest.mark.parametrize("content", [b"", b"x", b"\x80\x04.", b"\x93NUMPY"])
def test_nobody_is_told_to_allow_pickle(content, tmp_path):
    (tmp_path / "checkpoint.npz").write_bytes(content)
    with pytest.raises(BadInput, match="damaged") as refused:
        newest(tmp_path)
    assert "pickle" not in str(refused.value)


def test_a_log_that_cannot_be_read_is_not_damaged(tmp_path):
    with pytest.raises(BadInput, match="cannot read"):
        read_rows(tmp_path)


# --- /dev/shm


def test_the_doctor_looks_at_shared_memory(monkeypatch):
    for free, cores, well in ((64, 8, True), (64, 16, False), (16, 1, False), (2**44, 64, True)):
        monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path, free=free: SimpleNamespace(free=free * 2**20))
        monkeypatch.setattr(doctor, "usable", lambda cores=cores: cores)
        finding = doctor.shared_memory()
        assert (finding.name, finding.well) == ("/dev/shm", well)
        assert ("--shm-size" in str(finding)) == (not well)
