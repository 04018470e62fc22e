"""Ten times the power, and power at night, are told of meters of either sign."""

from __future__ import annotations

import numpy as np
import pytest
from tests.data.suspicion.cases import HISTORY, case_of

from clearwatt.data.suspicion.values import at_night, unit


@pytest.mark.parametrize(("factor", "tells"), [(10, True), (5, False)])
@pytest.mark.parametrize("highest", [1, 0.05, -0.1])
def test_ten_times_is_measured_by_the_largest_reading_of_either_sign(highest, factor, tells):
    hours = np.arange(24)
    usual = highest - np.clip(np.sin(np.pi * (hours - 6) / 12), 0, None)
    expected = np.tile(usual, (HISTORY + 5, 1))
    days = expected * np.random.default_rng(1).uniform(0.9, 1.1, expected.shape)
    days[-2:] *= factor
    assert unit(case_of(days, expected)).shows[0] == tells
    days[-2:] = expected[-2:]
    days[-2:, :6] = 10 * abs(highest)
    assert not unit(case_of(days, expected)).shows[0]


@pytest.mark.parametrize("sign", [1, -1])
def test_power_at_night_is_told_of_a_plant_of_either_sign(sign):
    hours = np.arange(24)
    days = np.tile(sign * np.clip(np.sin(np.pi * (hours - 6) / 12), 0, None), (HISTORY + 5, 1))
    assert not at_night(case_of(days)).shows[0]
    power = days.copy()
    power[-1, :6] = 0.3 * sign
    assert at_night(case_of(power, days)).shows[0]
