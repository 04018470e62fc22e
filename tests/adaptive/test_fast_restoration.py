"""The fast part that is kept to go back to: that of doubtful entities stays as it was."""

import numpy as np
import pytest

from clearwatt.adaptive.fast_restoration import fast_part_of, keep_fast_part
from clearwatt.packing import pack
from clearwatt.testing.changes import CHANGE, DAY, followed, steady_stream


@pytest.fixture(scope="module")
def state():
    """A state that has kept a fast part of five days before."""
    forecaster, _ = followed(steady_stream(), stop=CHANGE)
    earlier = forecaster.fast_part
    forecaster.observe(*steady_stream().part(CHANGE, CHANGE + 5 * DAY))
    return forecaster.state._replace(earlier=earlier)


@pytest.mark.parametrize("doubtful", [(), (0,), (1,), (0, 1)])
def test_doubtful_entities_together_are_as_each_alone(state, doubtful):
    found = keep_fast_part(state, np.isin([0, 1], doubtful)).earlier
    expected = fast_part_of(state)
    for name in doubtful:
        expected = expected.with_entity(state.earlier, name)
    assert pack(found).values == pack(expected).values
    for name, each in pack(expected).tensors.items():
        np.testing.assert_array_equal(pack(found).tensors[name], each)


def test_an_entity_that_was_not_there_before_has_nothing_to_keep(state):
    first = state._replace(earlier=None)
    assert keep_fast_part(first, np.array([True, True])).earlier == fast_part_of(state)
