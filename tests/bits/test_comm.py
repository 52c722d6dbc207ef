"""The small interface behind which MPI stands, tried with mpiexec; and rows that go straight to those who need them."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitrpo.algorithms.shared_update import SharedUpdate
from minitrpo.block_sums import blocks
from minitrpo.parallel.allreduce import dealt
from minitrpo.parallel.comm import SerialComm, connect
from minitrpo.supervision.jobs import mpiexec

EVERY_CALL = Path(__file__).parent / "every_call.py"


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [3, pytest.param(8, marks=pytest.mark.slow)])
def test_every_call_on_real_ranks(ranks):
    assert mpiexec(ranks, str(EVERY_CALL)) == "fine\n"


def test_alone_needs_no_mpi():
    done = subprocess.run([sys.executable, EVERY_CALL], capture_output=True, text=True, check=False)
    assert done.stdout == "fine\n", done.stderr
    assert isinstance(connect(), SerialComm)
    arrays = {"rows": np.arange(6.0).reshape(3, 2)}
    assert SerialComm().all_to_all(arrays["rows"], [3], [3]) is arrays["rows"]


def test_fewer_ranks_than_were_started_are_noticed(monkeypatch):
    monkeypatch.setenv("MINITRPO_RANKS", "2")
    with pytest.raises(RuntimeError, match="2 ranks"):
        connect()


@given(st.integers(1, 60_000), st.integers(2, 80), st.floats(0.01, 1))
def test_a_rank_needs_its_blocks_and_a_critic_everything(rows, size, fraction):
    fitters = min(size // 2, 4)
    update, chosen = object.__new__(SharedUpdate), np.arange(0, rows, max(1, round(1 / fraction)))
    update.comm, update._steppers = type("Comm", (), {"size": size}), size - fitters
    needed = update.needs(rows, chosen)
    assert len(needed) == size
    assert needed[size - fitters :] == [slice(0, rows)] * fitters
    for rank in range(size - fitters):
        own = blocks(rows)[dealt(rank, size - fitters, len(blocks(rows)))]
        asked = [row for block in own for row in (block.start, block.stop - 1)]
        for block in blocks(len(chosen))[dealt(rank, size - fitters, len(blocks(len(chosen))))]:
            asked += [chosen[block.start], chosen[block.stop - 1]]
        assert all(needed[rank].start <= row < needed[rank].stop for row in asked)
