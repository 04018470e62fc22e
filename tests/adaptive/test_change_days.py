"""Errors and factors of days: the same as computed day by day."""

import numpy as np
import pytest

from clearwatt.adaptive.change_days import FLOOR, day_errors, day_factors, factors_of_days
from clearwatt.adaptive.day_readings import last_week
from clearwatt.clock import DAYS_PER_WEEK
from clearwatt.testing.changes import CHANGE, DAY, followed, steady_stream


@pytest.fixture(scope="module")
def gappy():
    """A state without some rows and readings whose second entity stands still."""
    state = followed(steady_stream(), stop=CHANGE + DAY)[0].state
    recent, rng = state.recent, np.random.default_rng(0)
    measured = recent.measured.copy()
    measured[rng.random(measured.shape) < 0.3] = np.nan
    rows = np.flatnonzero((rng.random(recent.size) < 0.8) & (recent.at // DAY % 5 != 0))
    recent = recent._replace(measured=measured).pick(rows)
    watch = state.watch.stand(1, state.boundary - 2 * DAY)
    return state._replace(recent=recent, watch=watch)


def readings(state, place, first, end):
    """Measured and forecast deviations of the steps in between that count."""
    recent, since = state.recent, state.watch.standing[place]
    rows = (recent.at >= first) & (recent.at < end) & np.isfinite(recent.measured[:, place])
    if since >= 0:
        rows &= recent.at < since
    return recent.measured[rows, place], recent.slow[rows, place]


def test_errors_of_days_are_those_of_their_readings(gappy):
    found = day_errors(gappy)
    for age in range(DAYS_PER_WEEK):
        end = gappy.boundary - age * DAY
        for place, version in enumerate(gappy.ensemble.versions):
            measured, forecast = readings(gappy, place, end - DAY, end)
            errors = np.abs(measured - forecast)
            cell = (-1 - age, place)
            assert found.measured[cell] == (2 * len(errors) >= DAY)
            assert found.bad[cell] == (len(errors) > 0 and errors.mean() > 2.0 * version.error)
            assert found.counts[cell] == len(errors)
            assert found.sums[cell] == pytest.approx(errors.sum(), rel=1e-12)


def test_factors_of_days_are_those_of_their_readings(gappy):
    days = [day_factors(gappy, age) for age in range(DAYS_PER_WEEK)]
    logs, weights = (np.array(each) for each in zip(*days, strict=True))
    scale, mean = gappy.power.scale, gappy.power.mean
    for age in range(DAYS_PER_WEEK):
        end = gappy.boundary // DAY * DAY - age * DAY
        for place in range(2):
            both = readings(gappy, place, end - DAY, end)
            power = [each * scale[place] + mean[place] for each in both]
            if 2 * len(power[0]) < DAY:
                assert np.isnan(logs[age, place])
                continue
            limits = np.array([gappy.limits.low[place], gappy.limits.high[place]])
            floor = FLOOR * np.abs(limits * scale[place] + mean[place]).max()
            means = [each.mean() + floor for each in power]
            assert logs[age, place] == pytest.approx(np.log(means[0] / means[1]), abs=1e-12)
            assert weights[age, place] == pytest.approx(means[1])


def test_days_together_are_days_alone(gappy):
    week = last_week(gappy, gappy.boundary // DAY * DAY)
    together = factors_of_days(gappy, week.pick(slice(None, None, DAYS_PER_WEEK - 1)))
    alone = [day_factors(gappy, age) for age in (DAYS_PER_WEEK - 1, 0)]
    for part in range(2):
        np.testing.assert_array_equal(together[part], [each[part] for each in alone])
