"""What every refusal is, for the tests of this folder: exit code 2, one line on stderr, and nothing was written."""

from contextlib import contextmanager

CARTPOLE = ("--env", "CartPole-v1", "--hidden", "4", "--progress", "none")
SMALL = (*CARTPOLE, "--preset", "episodes", "--critic", "linear", "--cg-iterations", "2", "--checkpoint-every", "1",
         "--total-steps", "120", "--steps-per-update", "40")  # fmt: skip


def content(*folders):
    """Return what lies in folders, and below them."""
    return {path: path.is_file() and path.read_bytes() for folder in folders for path in folder.rglob("*")}


@contextmanager
def unchanged(*folders):
    """Insist that the body of a `with` writes nothing into these folders."""
    before = content(*folders)
    yield
    assert content(*folders) == before, "something was written"


def one_line(done, *words):
    """Insist on exit code 2 and one line on stderr that has these words."""
    assert done.code == 2, str(done)
    assert (done.err.count("\n"), done.out) == (1, ""), str(done)
    assert done.err.startswith((f"{done.command}.py: ", f"minitrpo {done.command}: ")), str(done)
    assert 15 < len(done.err) < 1500, str(done)
    assert all(word in done.err for word in words), (words, str(done))
