"""Named arrays as one buffer: whatever goes in comes out, names, dtypes, shapes and bits, in one message."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from minitrpo.parallel.packing import ALIGNED, packed, unpacked

QUICK = settings(max_examples=100, deadline=None)
KINDS = st.sampled_from([np.float64, np.float32, np.int64, np.int32, np.int8, np.uint8, np.bool_, np.complex128])
SHAPES = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=7)
ARRAYS = KINDS.flatmap(lambda kind: arrays.arrays(kind, SHAPES))  # NaN, infinity and -0.0 among the numbers
DICTS = st.dictionaries(st.text(max_size=8), ARRAYS, max_size=6)


def same_bits(a, b):
    """Return whether names, their order, dtypes, shapes and bits agree."""
    pairs = list(zip(a.values(), b.values(), strict=True)) if list(a) == list(b) else []
    alike = all(x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes() for x, y in pairs)
    return list(a) == list(b) and alike


@given(DICTS)
@QUICK
def test_through_a_buffer_and_back(sent):
    buffer = packed(sent)
    assert (buffer.dtype, buffer.ndim) == (np.uint8, 1)
    assert same_bits(unpacked(buffer), sent)


@given(DICTS, DICTS)
@QUICK
def test_several_buffers_in_one_are_each_found(one, other):
    """As the root gets them: one after the other in one large buffer."""
    buffers = [packed(one), packed(other)]
    everything = np.concatenate(buffers)
    first, second = np.split(everything, [len(buffers[0])])
    assert same_bits(unpacked(first), one)
    assert same_bits(unpacked(second), other)


@given(DICTS)
@QUICK
def test_every_array_is_aligned_and_may_be_written_to(sent):
    """A float64 in the middle of a word would be slow; and a receiver owns what it received."""
    buffer = packed(sent)
    assert len(buffer) % ALIGNED == 0
    for array in unpacked(buffer).values():
        assert array.flags.writeable
        assert array.flags.c_contiguous
        assert array.size == 0 or (array.ctypes.data - buffer.ctypes.data) % ALIGNED == 0


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12.0).reshape(3, 4).T,  # not in the order of its memory
        np.arange(10)[::-2],
        np.array(3.5),
        np.zeros((0, 5), np.float32),
        np.zeros((3, 0)),
        np.array([True, False, True]),
        np.frombuffer(bytes(range(13)), np.uint8),
        np.arange(6, dtype=">i4"),
        np.array(["accepted", "no improvement"]),
    ],
)
def test_arrays_of_every_kind(array):
    (back,) = unpacked(packed({"a": array})).values()
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert np.array_equal(back, array)


def test_nothing_is_nothing():
    assert unpacked(packed({})) == {}


def test_what_was_packed_is_a_copy():
    theta = np.zeros(3)
    buffer = packed({"theta": theta})
    theta[:] = 1.0
    received = unpacked(buffer)["theta"]
    assert received.tolist() == [0.0, 0.0, 0.0]
    received[:] = 2.0
    assert theta.tolist() == [1.0, 1.0, 1.0]
