"""Distances of forecasts from the newest reading known, by hand-counted cases."""

from clearwatt.service.learner.apply.adaptive_leads import ForecastDistances

HOUR = 3600


def test_a_forecast_never_knows_less_than_one_of_a_day_before():
    hourly = ForecastDistances(HOUR, 24)
    assert hourly.reported(0) == [1, 3, 6, 12, 24]
    assert hourly.reported(2 * HOUR) == [3, 5, 8, 14, 24]
    assert hourly.reported(23 * HOUR) == [24, 24, 24, 24, 24]


def test_a_lead_beyond_the_delay_stays_as_far_ahead_as_it_is():
    assert ForecastDistances(HOUR, 6).reported(0) == [1, 3, 6, 12, 24]
    assert ForecastDistances(HOUR, 6).near == [1, 3]


def test_distances_of_late_readings_are_computed_beside_those_of_intervals():
    hourly = ForecastDistances(HOUR, 24)
    assert hourly.near == [1, 3, 6, 12]
    assert hourly.computed(2 * HOUR) == [1, 3, 5, 6, 8, 12, 14, 24]


def test_quarter_hours_are_counted_as_four_an_hour():
    assert ForecastDistances(900, 96).reported(0) == [1, 4, 12, 24, 48, 96]
