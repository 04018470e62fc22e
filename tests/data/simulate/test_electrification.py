import numpy as np

from clearwatt.data.simulate.electrification import electric_vehicles, heat_pumps


def test_heat_pumps_follow_the_cold(year):
    load, temperature = heat_pumps(year), year.weather.temperature_2m_c
    assert np.corrcoef(load, temperature)[0, 1] < -0.7
    assert load[temperature < 0].mean() > 10 * load[temperature > 18].mean()
    assert load.min() >= 0 and load.max() < 1.3


def test_vehicles_charge_in_the_evening_of_working_days(year):
    load, hour, weekday = electric_vehicles(year), year.clock.hour, year.clock.weekday
    evening = np.abs(hour - 19) < 1
    assert load[evening].mean() > 5 * load[np.abs(hour - 5) < 1].mean()
    assert load[evening & (weekday < 5)].mean() > load[evening & (weekday >= 5)].mean()
    assert load.max() < 1.4
