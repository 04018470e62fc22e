"""Data as they come: gaps, constants, few inputs, little history, any step, wild readings."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from clearwatt.adaptive import AdaptiveSettings, NetworkSettings
from clearwatt.benchmark.peers.adaptive import Adaptive, day_ahead_run
from clearwatt.benchmark.run import Benchmark
from clearwatt.clock import Clock
from clearwatt.data import Dataset, Entity, Kind
from clearwatt.experiment.adaptive_stream import clock_steps, run_adaptive

QUICK = AdaptiveSettings(networks=NetworkSettings(width=16, members=1))


class World:
    """A town whose demand follows the hour, the weekday and the temperature."""

    def __init__(self, step: str, days: int) -> None:
        rng = np.random.default_rng(0)
        self.day = pd.Timedelta(days=1) // pd.Timedelta(step)
        self.times = pd.date_range(
            "2023-02-10", periods=days * self.day, freq=step, tz="UTC", name="time"
        )
        n = len(self.times)
        place = np.arange(n) / self.day
        temperature = np.sin(place / 9) + np.sin(place * 2 * np.pi) + 0.3 * rng.normal(size=n)
        self.power = 20 - 4 * temperature - 4 * (self.times.dayofweek > 4) + rng.normal(size=n)
        self.power = np.asarray(self.power, dtype=float)
        self.weather = pd.DataFrame({"temperature": temperature}, index=self.times)

    def history(self):
        dataset = Dataset(
            name="town",
            power=pd.DataFrame({"town": self.power}, index=self.times),
            weather={"here": self.weather},
            entities=(Entity("town", Kind.CONSUMER, 40.0, "here"),),
        )
        (found,) = Benchmark().histories(dataset)
        return found


def forecast(history):
    """Forecasts and quantiles for every step, finite; returns the forecasts."""
    found = Adaptive(QUICK).forecast(history)
    assert found.power.shape == (history.steps, 1)
    assert np.isfinite(found.power).all()
    assert all(np.isfinite(each).all() for each in found.quantiles.values())
    return found.power[:, 0]


def median_error(power, history):
    return float(np.nanmedian(np.abs(history.measured[history.first :, 0] - power)))


def spread(history):
    wanted = history.measured[history.first :, 0]
    return float(np.nanmedian(np.abs(wanted - np.nanmedian(wanted))))


@pytest.mark.parametrize(
    ("step", "days"), [("1h", 45), ("30min", 30), ("6h", 90), ("1D", 250), ("10min", 15)]
)
def test_any_step_and_a_short_history_are_forecast_better_than_by_the_median(step, days):
    history = World(step, days).history()
    assert median_error(forecast(history), history) < 0.8 * spread(history)


def test_weeks_without_measurements_or_weather_stop_nothing():
    world = World("1h", 80)
    world.power[30 * 24 : 50 * 24] = np.nan
    world.power[3 * 24 : 6 * 24] = np.nan
    world.weather.iloc[60 * 24 : 70 * 24] = np.nan
    history = world.history()
    assert median_error(forecast(history), history) < 0.8 * spread(history)


def test_what_never_changes_is_forecast_exactly():
    world = World("1h", 45)
    world.power[:] = 20.0
    history = world.history()
    np.testing.assert_allclose(forecast(history), history.measured[history.first :, 0])


def test_what_stood_still_in_the_warm_up_is_followed_once_it_moves():
    world = World("1h", 80)
    world.power[: 20 * 24] = 0.0
    history = world.history()
    late = slice(-20 * 24, None)
    power = forecast(history)[late]
    errors = np.abs(history.measured[late, 0] - power)
    assert np.median(errors) < 0.1  # of the capacity; it moves between a quarter and three


def test_weather_that_says_nothing_leaves_the_calendar():
    world = World("1h", 60)
    world.weather["temperature"] = 1.0
    history = world.history()
    assert median_error(forecast(history), history) < spread(history)


def test_wild_readings_hardly_change_what_is_said_of_the_rest():
    calm, wild = World("1h", 60), World("1h", 60)
    wild.power[[400, 700, 701, 1000]] = [4_000.0, -3_000.0, 1e5, 1e6]
    histories = calm.history(), wild.history()
    errors = [median_error(forecast(history), history) for history in histories]
    assert errors[1] < 1.25 * errors[0]


@pytest.mark.parametrize(("delay", "corrected"), [(3, True), (24, False), (30, False)])
def test_only_what_is_known_within_a_day_corrects_the_forecast(delay, corrected):
    history = replace(World("1h", 45).history(), delay=delay)
    run = run_adaptive(
        history.wide,
        history.measured,
        clock_steps(history.times, history.day),
        first=history.first,
        clock=Clock(history.day, max(history.day, delay)),
        settings=QUICK,
        names=history.entities,
        columns=history.columns,
        seed=history.seed,
    )
    same = forecast(history) == run.live[-history.steps :, 0]
    assert same.all() != corrected


def test_leads_below_a_day_correct_the_same_day_ahead_forecasts():
    history = World("1h", 50).history()
    hour, day, two_days = (
        day_ahead_run(replace(history, delay=delay), QUICK) for delay in (1, 24, 48)
    )
    assert hour is day
    assert two_days is not day
    louder = replace(history, measured=1.1 * history.measured)
    assert day_ahead_run(louder, QUICK) is not day
