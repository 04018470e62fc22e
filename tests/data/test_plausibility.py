from itertools import groupby

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clearwatt.data.plausibility import run_lengths


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_runs_are_measured_as_by_hand(member):
    position, length = run_lengths(np.array([member]))
    expected = []
    for inside, group in groupby(member):
        size = len(list(group))
        expected += [(at + 1, size) if inside else (0, 0) for at in range(size)]
    assert list(zip(position[0].tolist(), length[0].tolist(), strict=True)) == expected


def test_runs_of_different_entities_do_not_touch():
    _, length = run_lengths(np.array([[False, True], [True, False]]))
    assert length.tolist() == [[0, 1], [1, 0]]
