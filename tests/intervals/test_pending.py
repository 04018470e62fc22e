import numpy as np
import pytest

from clearwatt.intervals.cells import BANDS, ResidualCells
from clearwatt.intervals.pending import DAYS, PendingResiduals, ResidualRows

CELLS = ResidualCells(6, 3, np.zeros(2), np.ones(2))


def rows(*residuals):
    values = np.array(residuals)
    count = np.arange(len(values))
    return ResidualRows(count, count, np.full(values.shape, 4), values)


def test_empty_rows_have_no_residuals_and_places_of_their_entities():
    empty = PendingResiduals.empty(CELLS, 2)
    assert empty.residuals.shape == (DAYS * 6, 2)
    assert np.isnan(empty.residuals).all()
    assert np.unique(empty.places, axis=0).tolist() == [[0, 3 * BANDS]]


@pytest.mark.parametrize("at", [[2, 3], [2, 7]], ids=["neighbours", "apart"])
def test_residuals_are_written_to_their_rows_alone(at):
    pending = PendingResiduals.empty(CELLS, 2)
    pending.write(rows([1.0, 2.0], [3.0, 4.0]), np.array(at))
    assert pending.residuals[at].tolist() == [[1, 2], [3, 4]]
    assert pending.places[at].tolist() == [[4, 4], [4, 4]]
    assert np.flatnonzero(~np.isnan(pending.residuals[:, 0])).tolist() == at


def test_nothing_to_write_changes_nothing():
    pending = PendingResiduals.empty(CELLS, 2)
    pending.write(ResidualRows(*(np.empty(0, np.int64),) * 3, np.empty((0, 2))), np.empty(0, int))
    assert np.isnan(pending.residuals).all()


def test_a_copy_is_independent():
    pending = PendingResiduals.empty(CELLS, 2)
    copy = pending.copy()
    copy.write(rows([1.0, 2.0]), np.array([0]))
    assert np.isnan(pending.residuals).all()
    assert pending.places[0].tolist() == [0, 3 * BANDS]


def test_cleared_rows_have_no_residuals():
    pending = PendingResiduals.empty(CELLS, 2)
    pending.write(rows([1.0, 2.0]), np.array([5]))
    pending.clear()
    assert np.isnan(pending.residuals).all()
