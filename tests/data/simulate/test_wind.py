from dataclasses import replace

import numpy as np
import pytest

from clearwatt.data.simulate.wind import TURBINES, farm_output, hub_wind, wind_farm


@pytest.mark.parametrize("turbine", TURBINES, ids=lambda turbine: turbine.kind)
def test_the_power_curve_cuts_in_rises_and_reaches_rated_power(turbine):
    output = farm_output(turbine, np.array([0.0, 2.0, 6.0, 9.0, 15.0]))
    assert output[0] == 0 and output[1] < 0.02
    assert (np.diff(output) > 0).all()
    assert 0.95 < output[-1] <= 1.03


def test_a_farm_has_a_german_capacity_factor(year, undisturbed):
    output = wind_farm("farm", year, undisturbed)
    assert 0.18 < output.mean() < 0.35
    assert output.min() >= 0 and output.max() <= 1


def test_a_higher_hub_sees_more_wind(year):
    low, high = replace(TURBINES[0], hub_height=80.0), replace(TURBINES[0], hub_height=140.0)
    assert hub_wind(high, year).mean() > hub_wind(low, year).mean()
