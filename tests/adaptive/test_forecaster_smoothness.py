"""Forecasts of quarter hours: no sawtooth within the hour, never outside the range of power."""

import numpy as np
import pandas as pd
import pytest

from clearwatt.adaptive import AdaptiveForecaster, AdaptiveSettings, NetworkSettings
from clearwatt.data.features import calendar, interpolate_weather

DAY, DAYS, WARMUP = 96, 70, 30
SETTINGS = AdaptiveSettings(networks=NetworkSettings(members=1))


@pytest.fixture(scope="module")
def quarter_hours():
    """A plant with photovoltaics and a load, hourly weather; measured and live forecast power."""
    rng = np.random.default_rng(0)
    times = pd.date_range("2024-04-01", periods=DAYS * DAY, freq="15min", tz="UTC")
    hours = pd.date_range(times[0], periods=DAYS * 24 + 1, freq="h", name="time")
    clouds = np.convolve(rng.normal(size=len(hours) + 47), np.ones(48) / 7, mode="valid")
    sun = np.maximum(0, -np.cos(2 * np.pi * hours.hour / 24)) / (1 + np.exp(clouds))
    frame = pd.DataFrame({"sun": sun, "temperature": clouds}, index=hours)
    weather = interpolate_weather(frame, times).astype(float)
    x = np.concatenate([weather, calendar(times)], axis=1)
    angle = 2 * np.pi * np.arange(len(times)) / DAY
    load = 5 + np.sin(angle - 2) + 0.3 * weather[:, 1]
    y = np.stack([weather[:, 0], load], axis=1)
    at, cut = np.arange(len(times)), WARMUP * DAY
    forecaster = AdaptiveForecaster.fit(x[:cut], y[:cut], at[:cut], day=DAY, settings=SETTINGS)
    return y[cut:], forecaster.live(x[cut:], y[cut:], at[cut:])


def test_forecasts_step_no_more_than_twice_as_much_as_measurements(quarter_hours):
    measured, live = (np.abs(np.diff(power, axis=0)).mean(axis=0) for power in quarter_hours)
    assert (live < 2 * measured).all()


def test_forecasts_bend_no_more_at_full_hours_than_the_weather_does(quarter_hours):
    bends = [np.abs(np.diff(power, n=2, axis=0)).mean(axis=0) for power in quarter_hours]
    assert (bends[1] < 2 * bends[0]).all(), bends


def test_photovoltaics_are_never_forecast_below_nothing(quarter_hours):
    measured, live = quarter_hours
    assert live[:, 0].min() >= measured[:, 0].min() - 1e-9
    assert live[:, 0].max() <= 1.0
