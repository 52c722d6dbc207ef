"""Sums over blocks: every row once, and the same bits whoever computes which part."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from minitrpo.critics import LinearCritic, MLPCritic
from minitrpo.parallel.comm import SerialComm
from minitrpo.parallel.allreduce import TeamShares, shares_of
from minitrpo.policies import CategoricalPolicy, GaussianPolicy
from minitrpo.block_sums import WHOLE, added, blocks, mean_over_blocks
from minitrpo.trpo import Batch, trpo_step

QUICK = settings(max_examples=30, deadline=None)


class Rehearsal:
    """A team in one process: asks every rank for its parts, one after the other, as if they ran side by side."""

    def __init__(self, size):
        self.size = size

    def total(self, parts, count, like):
        gathered = []
        for rank in range(self.size):
            member = SerialComm()
            member.rank, member.size = rank, self.size
            member.all_gather = lambda mine, rows, like, rank=rank: self._keep(gathered, mine, rows[rank], like)
            TeamShares(member).total(parts, count, like)
        return added(np.concatenate(gathered))

    def _keep(self, gathered, mine, rows, like):
        assert mine.shape == (rows, *like.shape)
        gathered.append(mine)
        return np.zeros((1, *like.shape))


@given(st.integers(1, 5000), st.integers(1, 3000))
@QUICK
def test_blocks_cover_all_rows_once_in_order_and_evenly(rows, size):
    slices = blocks(rows, size)
    assert [i for s in slices for i in range(rows)[s]] == list(range(rows))
    lengths = [s.stop - s.start for s in slices]
    assert max(lengths) <= size
    assert max(lengths) - min(lengths) <= 1


def test_no_rows_have_no_blocks():
    assert blocks(0) == []


def test_parts_are_added_from_the_first_to_the_last():
    parts = np.array([[1e16], [1.0], [1.0], [-1e16]])
    assert added(parts) == 0.0  # any other order keeps some of the ones
    assert parts[0] == 1e16


@given(st.integers(1, 9000), st.integers(0, 1000))
@QUICK
def test_a_mean_over_blocks_is_the_mean(rows, seed):
    x = np.random.default_rng(seed).standard_normal((rows, 3))
    np.testing.assert_allclose(mean_over_blocks(lambda r: x[r].mean(axis=0), rows, 3), x.mean(axis=0), atol=1e-13)


def test_one_rank_computes_the_whole():
    assert shares_of(SerialComm()) is WHOLE


@pytest.mark.parametrize("size", [2, 3, 8])
@pytest.mark.parametrize("kind", [GaussianPolicy, CategoricalPolicy])
def test_a_shared_step_has_the_bits_of_a_whole_one(kind, size):
    rng, policy = np.random.default_rng(size), kind(5, 3, (16, 8))
    theta, observations = policy.initialise(rng), rng.standard_normal((4000, 5))
    actions = policy.sample(policy.distribution(theta, observations), policy.draw_noise(rng, 4000))
    (one, alone), (other, shared) = (
        trpo_step(policy, theta, Batch(observations, actions, observations[:, 0], shares), 0.01)
        for shares in (WHOLE, Rehearsal(size))
    )
    assert alone.accepted
    assert np.array_equal(one, other)
    assert all(np.array_equal(a, b) for a, b in zip(vars(alone).values(), vars(shared).values(), strict=True))


@pytest.mark.parametrize("size", [2, 3, 8])
@pytest.mark.parametrize("critic", [LinearCritic(5), MLPCritic(5, (16, 8), epochs=2, minibatch=100)])
def test_a_shared_fit_has_the_bits_of_a_whole_one(critic, size):
    rng = np.random.default_rng(size)
    observations, times = rng.standard_normal((3000, 5)), rng.integers(0, 200, 3000).astype(float)
    state, targets = critic.initialise(rng), np.sin(observations[:, 0]) + 0.01 * times
    one, other = (
        critic.fit(state, observations, times, targets, np.random.default_rng(1), shares)
        for shares in (WHOLE, Rehearsal(size))
    )
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[name], other[name]) for name in one)
    assert any(not np.array_equal(one[name], state[name]) for name in one)


def lesson(shares):
    """Return the hash of a policy step and a critic fit, large enough for every rank to have a share."""
    rng, policy, critic = np.random.default_rng(0), GaussianPolicy(5, 3, (16, 8)), MLPCritic(5, (16,), epochs=2)
    theta, observations = policy.initialise(rng), rng.standard_normal((9000, 5))
    actions = policy.sample(policy.distribution(theta, observations), policy.draw_noise(rng, 9000))
    theta, report = trpo_step(policy, theta, Batch(observations, actions, observations[:, 0], shares), 0.01)
    assert report.accepted
    targets, state = np.sin(observations[:, 1]), critic.initialise(rng)
    state = critic.fit(state, observations, np.zeros(9000), targets, np.random.default_rng(1), shares)
    return hashlib.sha256(theta.tobytes() + state["phi"].tobytes()).hexdigest()


PROGRAM = """
import sys
from threadpoolctl import threadpool_limits
from minitrpo.parallel.comm import connect
from minitrpo.parallel.allreduce import shares_of
from tests_shares import lesson

ranks = connect()
team = ranks.team(int(sys.argv[1]))
expected = min(ranks.size, int(sys.argv[1]))
assert (team is None) == (ranks.rank >= expected)
found = None
if team is not None:
    assert (team.size, team.rank) == (expected, ranks.rank)
    sent = {"a": __import__("numpy").arange(3), "b": __import__("numpy").ones((2, 2), "f4")} if team.rank == 0 else {}
    got = team.broadcast_arrays(sent)
    assert got["a"].tolist() == [0, 1, 2] and got["b"].dtype == "f4" and got["b"].shape == (2, 2)
    last = team.broadcast_arrays({"rank": __import__("numpy").array([team.rank])}, team.size - 1)
    assert last["rank"].tolist() == [team.size - 1]
    side = team.side(1)
    assert (side.size, side.rank) == ((1, 0) if team.rank == 0 else (team.size - 1, team.rank - 1))
    with threadpool_limits(1):
        found = lesson(shares_of(team))
everybody = ranks.gather_objects(found)
if ranks.rank == 0:
    assert set(everybody[:expected]) == {found}, everybody
    print(found)
"""


@pytest.mark.parametrize(("ranks", "per_node"), [(1, 1), (2, 2), (3, 3), (5, 5), (3, 2)])
def test_a_team_of_real_ranks_has_the_bits_of_one_process(ranks, per_node, tmp_path):
    (tmp_path / "tests_shares.py").write_text(Path(__file__).read_text())
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["mpiexec", "-n", str(ranks), sys.executable, "-c", PROGRAM, str(per_node)],
        env={**os.environ, "PATH": path, "PYTHONPATH": str(tmp_path)}, cwd=tmp_path,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with threadpool_limits(1):
        assert done.stdout.strip() == lesson(WHOLE)
