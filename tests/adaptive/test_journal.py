"""The journal: written, written again, measured, retired."""

import numpy as np
import pytest

from clearwatt.adaptive.journal import Entries, Journal
from clearwatt.errors import DataError


def entries(at, issued=0.0):
    n = len(at)
    blank = np.zeros((n, 1))
    return Entries(
        at=np.asarray(at, dtype=np.int64),
        x=blank.copy(),
        seen=blank.astype(np.float32),
        slow=blank.copy(),
        terms=np.zeros((n, 1, 1)),
        experts=np.zeros((n, 1, 1)),
        issued=blank + issued,
        measured=blank + np.nan,
        learned=np.zeros((n, 1), np.bool_),
    )


def test_a_step_written_again_keeps_its_measurement_and_its_place():
    journal = Journal(entries([3, 4, 5]))
    journal.measure(np.array([[7.0]]), np.array([4]))
    journal.write(entries([4, 6], issued=1.0))
    np.testing.assert_array_equal(journal.entries.at, [3, 4, 5, 6])
    np.testing.assert_array_equal(journal.entries.issued[:, 0], [0, 1, 0, 1])
    assert journal.entries.measured[1, 0] == 7


def test_nan_does_not_undo_a_measurement():
    journal = Journal(entries([3]))
    journal.measure(np.array([[7.0]]), np.array([3]))
    journal.measure(np.array([[np.nan]]), np.array([3]))
    assert journal.entries.measured_at_all.size == 1


def test_a_step_that_is_not_there_cannot_be_measured():
    with pytest.raises(DataError, match="step 9"):
        Journal(entries([3, 4])).measure(np.array([[1.0]]), np.array([9]))


def test_retired_entries_are_gone():
    journal = Journal(entries([3, 4, 8]))
    np.testing.assert_array_equal(journal.retire(5).at, [3, 4])
    np.testing.assert_array_equal(journal.entries.at, [8])
    assert journal.between(0, 8).size == 0
