import numpy as np

from clearwatt.data.simulate.panels import ROOFS, SOUTH, SOUTH_EAST, SOUTH_WEST, panel_output


def test_nights_are_dark_and_days_within_the_inverter(year):
    for layout in (SOUTH, SOUTH_EAST, SOUTH_WEST, ROOFS):
        output = panel_output(layout, year.sun, year.weather)
        assert (output[year.sun.zenith > 90] == 0).all()
        assert output.min() == 0
        assert 0.6 < output.max() <= 0.86


def test_capacity_factors_are_those_of_germany(year):
    south = panel_output(SOUTH, year.sun, year.weather).mean()
    east = panel_output(SOUTH_EAST, year.sun, year.weather).mean()
    assert 0.09 < east < south < 0.14


def test_panels_that_face_west_peak_later(year):
    def middle(layout):
        output = panel_output(layout, year.sun, year.weather)
        return np.average(year.clock.times.hour, weights=output)

    assert middle(SOUTH_EAST) + 0.1 < middle(SOUTH) < middle(SOUTH_WEST) - 0.1
