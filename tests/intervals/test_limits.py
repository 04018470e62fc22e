import math

import numpy as np

from clearwatt.intervals import physical_limits


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
