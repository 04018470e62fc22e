from dataclasses import fields

import numpy as np
import pytest

from clearwatt.data.simulate.weather import Weather, wind_speed


def correlation(a, b):
    return np.corrcoef(a, b)[0, 1]


def test_there_are_thirteen_variables_all_finite(year):
    assert len(fields(Weather)) == 13
    for field in fields(Weather):
        values = getattr(year.weather, field.name)
        assert values.shape == year.clock.times.shape
        assert np.isfinite(values).all(), field.name


def test_it_is_germany(year):
    weather = year.weather
    assert 8 < weather.temperature_2m_c.mean() < 12
    assert weather.temperature_2m_c.min() > -25
    assert weather.temperature_2m_c.max() < 42
    assert 950 < weather.ghi_wm2.mean() * 8.766 < 1300
    assert 450 < weather.precipitation_mm.mean() * 8766 < 1200
    assert 50 < weather.cloud_cover_pct.mean() < 75
    assert 5 < weather.wind_speed_100m_ms.mean() < 7.5


def test_physics_holds(year):
    weather = year.weather
    assert (weather.dew_point_2m_c < weather.temperature_2m_c).all()
    assert weather.relative_humidity_2m_pct.max() <= 100
    assert (weather.wind_speed_10m_ms < weather.wind_speed_100m_ms).all()
    assert (weather.wind_gust_10m_ms > weather.wind_speed_10m_ms).all()
    assert (weather.ghi_wm2[year.sun.zenith > 90] == 0).all()
    assert (weather.ghi_wm2 >= 0).all() and (weather.dni_wm2 >= 0).all()
    assert weather.cloud_cover_pct.min() >= 0 and weather.cloud_cover_pct.max() <= 100
    assert (weather.cloud_cover_low_pct <= weather.cloud_cover_pct).all()


def test_variables_hang_together(year):
    weather = year.weather
    noon = np.abs(year.clock.hour - 13) < 1
    assert correlation(weather.cloud_cover_pct[noon], weather.ghi_wm2[noon]) < -0.3
    assert correlation(weather.pressure_msl_hpa, weather.cloud_cover_pct) < -0.2
    assert correlation(weather.pressure_msl_hpa, weather.wind_speed_100m_ms) < -0.2
    assert correlation(year.clock.winter(lag_days=32), weather.temperature_2m_c) < -0.6


def test_wind_speeds_have_the_stated_mean():
    anomaly = np.random.default_rng(0).standard_normal(200_000)
    assert wind_speed(anomaly, mean=6.0).mean() == pytest.approx(6.0, rel=0.02)
