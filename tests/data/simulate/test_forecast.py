from dataclasses import fields

import numpy as np
import pytest

from clearwatt.data.simulate.forecast import lead_growth
from clearwatt.data.simulate.site import SiteClock
from clearwatt.data.simulate.sun import sun_at
from clearwatt.data.simulate.weather import Weather, diagnose, synoptic_anomalies

# Day-ahead errors (root mean square) as the field reports them for central Europe.
REALISTIC = {
    "temperature_2m_c": (1.0, 2.0),
    "wind_speed_100m_ms": (0.8, 1.8),
    "ghi_wm2": (40.0, 110.0),
    "pressure_msl_hpa": (0.5, 2.0),
}


@pytest.fixture(scope="module")
def truth(year):
    """What happens, as coarsely as a weather model sees it."""
    hourly = SiteClock(year.clock.site, year.hours)
    anomalies = synoptic_anomalies(year.seed, len(year.hours))
    return diagnose(anomalies, hourly, sun_at(hourly), per_hour=1)


@pytest.fixture(scope="module")
def error(year, truth):
    return lambda variable: getattr(year.forecast, variable) - getattr(truth, variable)


@pytest.mark.parametrize("variable", REALISTIC)
def test_errors_are_of_realistic_size(error, variable):
    low, high = REALISTIC[variable]
    assert low < np.sqrt(np.mean(error(variable) ** 2)) < high


@pytest.mark.parametrize("variable", REALISTIC)
def test_a_forecast_is_useful_but_not_the_truth(year, truth, variable):
    pair = getattr(year.forecast, variable), getattr(truth, variable)
    assert 0.85 < np.corrcoef(*pair)[0, 1] < 0.999


@pytest.mark.parametrize("variable", ["temperature_2m_c", "wind_speed_100m_ms", "cloud_cover_pct"])
def test_errors_are_autocorrelated_within_and_across_runs(error, variable):
    wrong = error(variable)

    def correlation(lag):
        return np.corrcoef(wrong[:-lag], wrong[lag:])[0, 1]

    assert correlation(1) > 0.6
    assert correlation(1) > correlation(6) > correlation(24) > 0.05


def test_errors_grow_with_the_lead_time(year, error):
    wrong, hour = error("temperature_2m_c"), year.hours.hour
    early = np.sqrt(np.mean(wrong[hour < 6] ** 2))
    late = np.sqrt(np.mean(wrong[hour >= 18] ** 2))
    assert late > 1.15 * early
    growth = lead_growth(year.hours[:24])
    assert (np.diff(growth) > 0).all()


def test_the_forecast_is_physically_consistent(year):
    assert (year.forecast.dew_point_2m_c < year.forecast.temperature_2m_c).all()
    assert year.forecast.ghi_wm2.min() == 0
    for field in fields(Weather):
        assert np.isfinite(getattr(year.forecast, field.name)).all(), field.name
