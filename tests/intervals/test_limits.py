import json
import math

import numpy as np
import pytest

from clearwatt.errors import ConfigurationError
from clearwatt.intervals import checked_limits, physical_limits, plain_limits


def test_a_generator_gives_between_nothing_and_its_rated_capacity():
    readings = np.array([0.2, np.nan, 0.9])
    assert physical_limits("generator", rated=1.0, readings=readings) == (0.0, 1.0)
    assert physical_limits("generator", rated=None, readings=readings) == (0.0, math.inf)


def test_what_was_read_beyond_them_is_possible():
    readings = np.array([-0.01, 1.05])
    assert physical_limits("generator", rated=1.0, readings=readings) == (-0.01, 1.05)


def test_others_have_no_limits():
    for kind in ("consumer", "residual"):
        assert physical_limits(kind, rated=1.0, readings=np.zeros(3)) == (-math.inf, math.inf)


def test_limits_are_given_for_all_or_for_each():
    for limits, wanted in (
        (None, [[-math.inf, -math.inf], [math.inf, math.inf]]),
        ((0, None), [[0, 0], [math.inf, math.inf]]),
        ((None, np.array([1.0, 2.0])), [[-math.inf, -math.inf], [1, 2]]),
        ([-1, [1, 2]], [[-1, -1], [1, 2]]),
    ):
        np.testing.assert_array_equal(checked_limits(limits, 2), wanted)


def test_limits_survive_as_json():
    limits = (0, np.array([1.0, math.inf]))
    kept = json.loads(json.dumps(plain_limits(limits)))
    np.testing.assert_array_equal(checked_limits(kept, 2), checked_limits(limits, 2))


@pytest.mark.parametrize("limits", [3, (0,), (0, 1, 2), ("low", None), (0, [1, 2, 3])])
def test_limits_that_cannot_be_are_refused_by_name(limits):
    with pytest.raises(ConfigurationError, match=r"limits are .* give the low and the high one"):
        checked_limits(limits, 2)


@pytest.mark.parametrize("limits", [(1, 0), (0, [1, -1]), (math.nan, None)])
def test_limits_must_be_in_order(limits):
    with pytest.raises(ConfigurationError, match="low one must not be above"):
        checked_limits(limits, 2)
