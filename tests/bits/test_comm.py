"""The small interface behind which MPI stands, and both transports of gradients, tried with mpiexec."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from minitrpo.parallel.comm import Comm, connect
from minitrpo.supervision.jobs import mpiexec

EVERY_CALL = Path(__file__).parent / "every_call.py"


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [3, pytest.param(8, marks=pytest.mark.slow)])
def test_every_call_on_real_ranks(ranks):
    """On 3 also gradients over both transports: each counted, none lost by a server, lead and staleness bounded."""
    assert mpiexec(ranks, str(EVERY_CALL)) == "fine\n"


def test_alone_needs_no_mpi():
    done = subprocess.run([sys.executable, EVERY_CALL], capture_output=True, text=True, check=False)
    assert done.stdout == "fine\n", done.stderr
    assert isinstance(connect(), Comm)
    arrays = {"rows": np.arange(6.0).reshape(3, 2)}
    assert Comm().all_to_all(arrays["rows"], [3], [3]) is arrays["rows"]


def test_fewer_ranks_than_were_started_are_noticed(monkeypatch):
    monkeypatch.setenv("MINITRPO_RANKS", "2")
    with pytest.raises(RuntimeError, match="2 ranks"):
        connect()
