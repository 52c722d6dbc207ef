"""Rows that go straight to those who need them: each once at its place, whoever had it, and nobody reads another."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from runs import lasting, train
from hypothesis import given, settings
from hypothesis import strategies as st

from minitrpo.algorithms.shared_update import SharedUpdate
from minitrpo.block_sums import blocks
from minitrpo.parallel.allreduce import dealt

PROGRAM = """
import numpy as np
from minitrpo.parallel.comm import connect
from minitrpo.training.spread import WHERE, spread

comm = connect()
for seed in range(8):
    rng = np.random.default_rng(seed)  # the same draws on every rank
    lengths = rng.integers(1, 9, int(rng.integers(1, 30)))
    numbers, starts = np.arange(len(lengths)) // 2, np.arange(len(lengths)) % 2 * 100  # two fragments of an episode
    stops = np.cumsum(lengths)
    total = int(stops[-1])
    batch = {"a": rng.standard_normal((total, 3)).astype("f4") + 9, "b": np.arange(1, total + 1)}
    owners = rng.integers(0, comm.size, len(lengths)) * (seed % 2)  # every other time rank 0 has all, the others none
    ends = np.sort(rng.integers(0, total + 1, (comm.size, 2)), axis=1)  # they overlap, and some need nothing
    mine = rng.permutation(np.flatnonzero(owners == comm.rank)) if comm.size > 1 else np.arange(len(lengths))
    rows = np.concatenate([np.arange(0), *(np.arange(stops[i] - lengths[i], stops[i]) for i in mine)]).astype(int)
    where = dict(zip(WHERE, (numbers[mine], starts[mine], lengths[mine]))) if len(mine) else {}
    own = {name: array[rows] for name, array in batch.items()} if len(mine) else {}
    needed = [slice(*map(int, pair)) for pair in ends]
    got = spread(comm, where, own, lambda n: needed if n == total else None)
    assert list(got) == ["a", "b"]
    for name, array in batch.items():
        expected = np.zeros_like(array)
        expected[needed[comm.rank]] = array[needed[comm.rank]]
        assert got[name].dtype == array.dtype and np.array_equal(got[name], expected), (seed, comm.rank, name)
if comm.rank == 0:
    print("fine")
"""


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_rows_arrive_where_they_are_needed(ranks):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["mpiexec", "-n", str(ranks), sys.executable, "-c", PROGRAM],
        env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "fine\n"


@given(st.integers(1, 60_000), st.integers(2, 80), st.floats(0.01, 1))
@settings(max_examples=30, deadline=None)
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


@pytest.mark.parametrize("ranks", [2, 3, pytest.param(8, marks=pytest.mark.slow)])
def test_nobody_reads_a_row_that_it_was_not_given(ranks, tmp_path):
    job = ("--algorithm", "fits:Holes", "--env", "Reacher-v5", "--total-steps", 8000, "--steps-per-update", 4000)
    job = (*job, "--requests", "episodes", "--adapt", "noise", "--learner", "sharded")
    whole = train(tmp_path / "whole", *job)
    holes = train(tmp_path / "holes", *job, "--oversubscribe", ranks=ranks)
    assert holes.sha256 == whole.sha256
    assert lasting(tmp_path / "holes") == lasting(tmp_path / "whole")
