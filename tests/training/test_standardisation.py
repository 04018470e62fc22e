import json

import numpy as np
import pytest

from clearwatt.errors import DataError
from clearwatt.training.standardisation import Standardisation

VALUES = np.random.default_rng(0).normal([3.0, -200.0], [0.1, 50.0], (400, 2))


def test_columns_get_mean_zero_and_deviation_one_and_come_back():
    units = Standardisation.fit(VALUES)
    scaled = units.apply(VALUES)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(scaled.std(axis=0), 1, rtol=1e-4)
    np.testing.assert_allclose(units.undo(scaled.astype(float)), VALUES, rtol=1e-4)


def test_missing_values_do_not_count_and_stay_missing():
    holes = VALUES.copy()
    holes[::3, 0] = np.nan
    units = Standardisation.fit(holes)
    assert units.mean[0] == pytest.approx(np.nanmean(holes[:, 0]))
    assert np.isnan(units.apply(holes)[::3, 0]).all()


def test_a_constant_column_is_only_moved():
    units = Standardisation.fit(np.full((10, 1), 0.1))
    np.testing.assert_allclose(units.apply(np.array([[0.1], [1.1]])), [[0], [1]], atol=1e-6)


def test_identity_changes_nothing():
    np.testing.assert_array_equal(
        Standardisation.identity(2).apply(VALUES), VALUES.astype(np.float32)
    )


def test_json_keeps_it_exactly():
    units = Standardisation.fit(VALUES)
    back = Standardisation.from_dict(json.loads(json.dumps(units.to_dict())))
    np.testing.assert_array_equal(back.mean, units.mean)
    np.testing.assert_array_equal(back.scale, units.scale)


def test_values_too_large_to_scale_are_named():
    with pytest.raises(DataError, match="column 1 holds values too large"):
        Standardisation.fit(np.array([[0.0, 1e308], [1.0, -1e308]]))
