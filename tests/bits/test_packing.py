"""Arrays, and dicts of them within dicts: in one row, as a checkpoint has them, and as bytes, as they travel."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from minitrpo.parallel.comm import flat, nested, packed, unpacked

KINDS = st.sampled_from([np.float64, np.float32, np.int64, np.int32, np.int8, np.uint8, np.bool_, np.complex128])
SHAPES = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=7)
ARRAYS = KINDS.flatmap(lambda kind: arrays.arrays(kind, SHAPES))  # NaN, infinity and -0.0 among the numbers
STATES = st.recursive(ARRAYS, lambda part: st.dictionaries(st.sampled_from(["theta", "phi", "a"]), part), max_leaves=8)


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
