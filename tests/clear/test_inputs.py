"""Stored inputs stay retrievable by row number when others are dropped."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from clearwatt.clear.inputs import InputStore


@settings(max_examples=50)
@given(st.data())
def test_inputs_find_every_row_they_were_told_to_keep(data):
    inputs = InputStore(2)
    kept: set[int] = set()
    for _ in range(data.draw(st.integers(1, 6))):
        size = data.draw(st.integers(0, 20))
        first = inputs.next_row
        values = np.arange(first, first + size, dtype=np.float32)[:, None] * [1, -1]
        kept |= set(inputs.append(values.astype(np.float32)).tolist())
        if kept and data.draw(st.booleans()):
            kept = data.draw(st.sets(st.sampled_from(sorted(kept))))
            inputs.keep([np.array(sorted(kept), dtype=np.int64)])
    rows = np.array(sorted(kept), dtype=np.int64)
    assert inputs.rows.tolist() == rows.tolist()
    assert np.array_equal(inputs.take(rows), rows[:, None] * [1, -1])
