import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from clearwatt.errors import DataError
from clearwatt.estimators.targets import (
    entity_names,
    require_measured,
    require_same,
    target_columns,
)

INPUTS = np.zeros((3, 2))


def columns_of(y):
    return target_columns(y, INPUTS, estimator=LinearRegression())


def test_targets_of_one_entity_become_a_column():
    targets, flat = columns_of([1, np.nan, 3])
    np.testing.assert_array_equal(targets, [[1.0], [np.nan], [3.0]])
    assert flat


def test_targets_of_several_entities_keep_their_columns():
    targets, flat = columns_of([[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(targets, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert not flat


@pytest.mark.parametrize(
    ("y", "says"),
    [
        (None, "LinearRegression requires y to be passed"),
        ([1.0, np.inf, 2.0], "infinity"),
        ([1.0, 2.0], "inconsistent numbers of samples"),
    ],
    ids=["none", "infinite", "too short"],
)
def test_targets_that_cannot_be_used_are_refused(y, says):
    with pytest.raises(ValueError, match=says):
        columns_of(y)


def test_columns_of_a_data_frame_name_entities():
    assert entity_names(pd.DataFrame({"farm": [1.0], 7: [2.0]})) == ["farm", "7"]
    assert entity_names(np.zeros((1, 2))) is None


def test_a_name_must_not_stand_twice():
    twice = pd.DataFrame([[1.0, 2.0]], columns=["farm", "farm"])
    with pytest.raises(DataError, match="more than one column named 'farm'"):
        entity_names(twice)


def test_entities_must_be_those_of_the_warm_up():
    y = pd.DataFrame({"farm": [1.0], "park": [2.0]})
    require_same(y, y.to_numpy(), ["farm", "park"])
    require_same(y.to_numpy(), y.to_numpy(), ["farm", "park"])
    with pytest.raises(DataError, match="same ones in the same order"):
        require_same(y, y.to_numpy(), ["park", "farm"])
    with pytest.raises(DataError, match="2 columns; this model was warmed up with 3"):
        require_same(y, y.to_numpy(), ["farm", "park", "town"])


def test_an_entity_needs_two_measurements():
    require_measured(np.array([[1.0, 2.0], [3.0, np.nan], [np.nan, 4.0]]))
    with pytest.raises(DataError, match="all but 1 rows of entity 1"):
        require_measured(np.array([[1.0, 2.0], [3.0, np.nan], [np.nan, np.nan]]))
