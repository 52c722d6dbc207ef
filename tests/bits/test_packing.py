"""Named arrays as one buffer: whatever goes in comes out, names, dtypes, shapes and bits, in one message."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from minitrpo.parallel.comm import ALIGNED, flat, nested, packed, unpacked

KINDS = st.sampled_from([np.float64, np.float32, np.int64, np.int32, np.int8, np.uint8, np.bool_, np.complex128])
SHAPES = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=7)
ARRAYS = KINDS.flatmap(lambda kind: arrays.arrays(kind, SHAPES))  # NaN, infinity and -0.0 among the numbers
DICTS = st.dictionaries(st.text(max_size=8), ARRAYS, max_size=6)


def same_bits(a, b):
    """Return whether names, their order, dtypes, shapes and bits agree."""
    pairs = list(zip(a.values(), b.values(), strict=True)) if list(a) == list(b) else []
    alike = all(x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes() for x, y in pairs)
    return list(a) == list(b) and alike


@given(DICTS, DICTS)
@settings(max_examples=30)
def test_through_a_buffer_and_back_also_of_several_in_one(one, other):
    """As the root gets them: one after the other. Every array is aligned, and the receiver owns it."""
    buffers = [packed(one), packed(other)]
    everything = np.concatenate(buffers)
    for buffer, sent in zip(np.split(everything, [len(buffers[0])]), (one, other), strict=True):
        assert (buffer.dtype, buffer.ndim, len(buffer) % ALIGNED) == (np.uint8, 1, 0)
        received = unpacked(buffer)
        assert same_bits(received, sent)
        for array in received.values():
            assert array.flags.writeable
            assert array.flags.c_contiguous
            assert array.size == 0 or (array.ctypes.data - buffer.ctypes.data) % ALIGNED == 0


STATES = st.recursive(ARRAYS, lambda part: st.dictionaries(st.sampled_from(["theta", "phi", "a"]), part), max_leaves=8)


@given(st.dictionaries(st.sampled_from(["theta", "critic", "b"]), STATES))
@settings(max_examples=30)
def test_dicts_within_dicts_also_empty_ones_come_back_from_a_buffer_and_from_names_in_one_row(state):
    assert all(isinstance(array, np.ndarray) for array in flat(state).values())
    for back in (nested(flat(state)), unpacked(packed(state))):
        assert repr(back) == repr(state)
        assert same_bits(flat(back), flat(state))


def test_arrays_of_unusual_kinds():
    turned, backwards, big = np.arange(12.0).reshape(3, 4).T, np.arange(10)[::-2], np.arange(6, dtype=">i4")
    for array in (turned, backwards, big, np.array(["accepted", "no improvement"])):
        (back,) = unpacked(packed({"a": array})).values()
        assert (back.dtype, back.shape, back.tolist()) == (array.dtype, array.shape, array.tolist())
