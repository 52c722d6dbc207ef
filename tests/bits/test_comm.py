"""The small interface behind which MPI stands, what travels through it, and which transport gradients get."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from minitrpo.errors import BadInput
from minitrpo.parallel.comm import Comm, connect, flat, nested, packed, unpacked
from minitrpo.supervision.mpiexec import mpiexec
from minitrpo.training.asynchronous.loop import transport_of
from minitrpo.training.run_context import check_ranks, meets_too_often
from minitrpo.training.settings import Settings, chosen

EVERY_CALL = Path(__file__).parent / "every_call.py"
KINDS = st.sampled_from([np.float64, np.float32, np.int64, np.int32, np.int8, np.uint8, np.bool_, np.complex128])
SHAPES = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=7)
ARRAYS = KINDS.flatmap(lambda kind: arrays.arrays(kind, SHAPES))  # NaN, infinity and -0.0 among the numbers
STATES = st.recursive(ARRAYS, lambda part: st.dictionaries(st.sampled_from(["theta", "phi", "a"]), part), max_leaves=8)


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [3, pytest.param(8, marks=pytest.mark.slow)])
def test_every_call_on_real_ranks(ranks):
    """On 3 also gradients over both transports: each counted, none lost by a server, lead and staleness bounded."""
    assert mpiexec(ranks, str(EVERY_CALL)) == "fine\n"


def test_alone_needs_no_mpi():
    done = subprocess.run([sys.executable, EVERY_CALL], capture_output=True, text=True, check=False)
    assert done.stdout == "fine\n", done.stderr
    assert isinstance(connect(), Comm)


def test_fewer_ranks_than_were_started_are_noticed(monkeypatch):
    monkeypatch.setenv("MINITRPO_RANKS", "2")
    with pytest.raises(RuntimeError, match="2 ranks"):
        connect()


# --- arrays, and dicts of them within dicts: in one row, as a checkpoint has them, and as bytes, as they travel


def same_bits(a, b):
    """Return whether names, their order, dtypes, shapes and bits agree."""
    pairs = list(zip(a.values(), b.values(), strict=True)) if list(a) == list(b) else []
    alike = all(x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes() for x, y in pairs)
    return list(a) == list(b) and alike


@given(st.dictionaries(st.sampled_from(["theta", "critic", "b"]), STATES))
@settings(max_examples=30)
def test_dicts_within_dicts_also_empty_ones_come_back_from_bytes_and_from_names_in_one_row(state):
    assert all(isinstance(array, np.ndarray) for array in flat(state).values())
    for back in (nested(flat(state)), unpacked(packed(state))):
        assert repr(back) == repr(state)
        assert same_bits(flat(back), flat(state))


# --- which transport a run gets, which ranks work, and what cannot be had


@pytest.mark.parametrize(
    ("algorithm", "own", "shares_memory", "transport"),
    [
        ("a3c", {}, True, "window"),
        ("a3c", {}, False, "server"),
        ("gorila", {}, True, "window"),
        ("gorila", {"learners": 1}, True, "window"),
        ("a3c", {"transport": "server"}, True, "server"),
        ("a3c", {"transport": "events"}, False, "events"),
    ],
)
def test_auto_is_the_window_where_all_share_memory(algorithm, own, shares_memory, transport):
    choice = chosen({"env": "CartPole-v1", "algorithm": algorithm, **own})
    assert transport_of(choice, shares_memory, 4) == transport


@pytest.mark.parametrize(
    ("own", "shares_memory", "ranks"),
    [
        ({"transport": "window"}, False, 4),
        ({"transport": "server", "learners": 2, "algorithm": "gorila"}, True, 3),
        ({"learners": 2, "algorithm": "gorila"}, True, 2),
    ],
)
def test_a_transport_that_cannot_be_had_is_one_line(own, shares_memory, ranks):
    choice = chosen({"env": "CartPole-v1", "algorithm": "a3c", **own})
    with pytest.raises(BadInput) as raised:
        transport_of(choice, shares_memory, ranks)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("env", "steps", "too_often"),
    [
        ("CartPole-v1", 128, True),
        ("CartPole-v1", 129, False),
        ("Reacher-v5", 80, False),
        ("CartPoleOfMyOwn", 80, False),
    ],
)
def test_only_few_and_light_steps_are_played_by_one_rank(env, steps, too_often):
    assert meets_too_often(replace(Settings(), env=env, steps_per_update=steps)) is too_often


def test_a_job_of_segments_needs_a_slot_for_every_rank():
    with pytest.raises(BadInput, match="--num-envs"):
        check_ranks(Settings(requests="segments", num_envs=2), 3)
    check_ranks(Settings(requests="segments", num_envs=3), 3)
    check_ranks(Settings(requests="episodes", num_envs=2), 3)
