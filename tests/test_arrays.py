"""Nothing enters an instance that would spoil it, and the message says where it is."""

import numpy as np
import pytest

from clearwatt.arrays import checked_inputs, checked_targets
from clearwatt.errors import DataError


def test_inputs_are_stored_as_single_precision_rows():
    found = checked_inputs([[1, 2], [3, 4]], 2)
    assert found.dtype == np.float32
    assert found.flags.c_contiguous
    assert found.tolist() == [[1, 2], [3, 4]]


def test_a_measurement_may_be_missing_but_not_infinite():
    y = np.array([[1.0, np.nan], [np.nan, 2.0]])
    assert np.array_equal(checked_targets(y, 2, ["park", "mill"]), y, equal_nan=True)
    y[1, 1] = -np.inf
    with pytest.raises(DataError, match=r"y is infinite at row 1, entity mill; use NaN"):
        checked_targets(y, 2, ["park", "mill"])


def test_a_number_too_large_to_store_is_refused():
    with pytest.raises(DataError, match="x is inf at row 0, column 1"):
        checked_inputs([[0.0, 1e39]], 2)
