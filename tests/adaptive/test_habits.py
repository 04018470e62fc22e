"""A changed habit: found after its second weekend, followed on those days alone."""

from dataclasses import replace

import numpy as np
import pytest

from clearwatt.adaptive import AdaptiveForecaster, PastRescaled, habits
from clearwatt.adaptive.breaks import (
    EVERY_DAY,
    MOST_BREAKS,
    Break,
    current_levels,
    habits_at,
    levels_of,
    with_break,
)
from clearwatt.adaptive.habits import find_habit
from clearwatt.adaptive.publication import pack_networks, split_deployed, unpack_networks
from clearwatt.clock import DAYS_PER_WEEK
from clearwatt.packing import Packed
from clearwatt.testing.changes import (
    CHANGE,
    DAY,
    LENGTH,
    SETTINGS,
    WARM_UP,
    followed,
    followed_in_pieces,
    live_errors,
    of_kind,
    rmse,
    started,
    steady_stream,
)

FIRST = CHANGE + (5 - CHANGE // DAY) % DAYS_PER_WEEK * DAY
"""First step of the first changed weekend: days 5 and 6 of a week of the clock."""
FOUND = FIRST + 9 * DAY
STOP = FOUND + 2 * DAY


def weekends(stream, *, factor=0.6, since=CHANGE, until=LENGTH, days=(5, 6)):
    at = np.arange(LENGTH)
    own = (at >= since) & (at < until) & np.isin(at // DAY % DAYS_PER_WEEK, days)
    stream.y[own, 0] *= factor
    return stream


def changed_habit(**options):
    return weekends(steady_stream(), **options)


@pytest.fixture(scope="module")
def whole():
    return followed(changed_habit(), stop=STOP)


def test_other_weekends_are_found_when_they_repeat(whole):
    forecaster, events = whole
    (event,) = of_kind(events, PastRescaled)
    assert event.days == (5, 6)
    assert (event.since, event.step) == (FIRST, FOUND)
    assert event.factor == pytest.approx(0.6, rel=0.05)
    assert event.error_after < event.error_before
    assert "readings of these 2 days of the week are 0.6" in event.explanation
    (found,) = forecaster.versions[0].breaks
    assert found.scaled == (5, 6)


def test_weekends_and_weekdays_are_forecast_as_they_are_after_it():
    errors = live_errors(changed_habit())
    without = live_errors(changed_habit(), settings=replace(SETTINGS, changes=None))
    rest = slice(FOUND + DAY - WARM_UP, None)
    usual = slice(CHANGE - 14 * DAY - WARM_UP, CHANGE - WARM_UP)
    assert rmse(errors[rest]) < 1.3 * rmse(errors[usual])
    assert rmse(errors[rest]) < 0.7 * rmse(without[rest])


def test_one_day_of_the_week_can_change_alone():
    _, events = followed(changed_habit(days=(6,)), stop=STOP)
    (event,) = of_kind(events, PastRescaled)
    assert event.days == (6,)
    assert "readings of this day of the week" in event.explanation


@pytest.mark.parametrize(
    "options",
    [
        {"until": FIRST + 2 * DAY},  # once
        {"factor": 0.9},
        {"days": (3, 4, 5, 6)},
    ],
)
def test_what_is_no_habit_of_a_weekend(options):
    _, events = followed(changed_habit(**options), stop=STOP)
    assert not [each for each in of_kind(events, PastRescaled) if each.days != EVERY_DAY]


def test_deployed_forecasts_are_those_that_the_stream_issues():
    stream = changed_habit()
    live = started(stream).live(*stream.part(WARM_UP, LENGTH))
    forecaster, _ = followed(stream, stop=FOUND)
    for start in range(FOUND, LENGTH - DAY, 6):
        ahead = stream.part(start, start + DAY)
        issued = forecaster.deployed.forecast(ahead.x, ahead.at)
        np.testing.assert_allclose(issued.day_ahead[-1], live[start + DAY - 1 - WARM_UP], rtol=1e-6)
        forecaster.observe(*stream.part(start, start + 6))


def test_deployed_networks_know_the_day_of_the_week(whole):
    forecaster, _ = whole
    stream = changed_habit()
    ahead = stream.part(FIRST + 14 * DAY, FIRST + 17 * DAY)
    networks = forecaster.deployed.networks(ahead.x, ahead.at)[:, 0]
    assert np.abs(networks - ahead.y[:, 0]).mean() < 0.15 * ahead.y[:, 0].mean()


def test_published_networks_know_the_day_of_the_week(whole):
    forecaster, _ = whole
    deployed = forecaster.deployed
    base, period = split_deployed(deployed, forecaster.state.boundary)
    versions = [unpack_networks(*pack_networks(each)) for each in forecaster.versions]
    published = base.with_networks(versions, period)
    ahead = changed_habit().part(FIRST + 14 * DAY, FIRST + 16 * DAY)
    np.testing.assert_array_equal(
        published.forecast(ahead.x, ahead.at).power, deployed.forecast(ahead.x, ahead.at).power
    )


def test_any_cut_and_a_pause_give_the_same_state(whole):
    other = followed_in_pieces(changed_habit(), stop=STOP)
    assert other.digest() == whole[0].digest()


def test_a_state_without_days_by_weekday_goes_on():
    stream = changed_habit()
    forecaster, _ = followed(stream, stop=CHANGE - 14 * DAY)
    values, tensors = forecaster.pack()
    old = {
        name: each
        for name, each in tensors.items()
        if name not in ("state.watch.logs", "state.watch.logged")
    }
    resumed = AdaptiveForecaster.unpack(Packed(values, old))
    np.testing.assert_array_equal(resumed.state.watch.days, forecaster.state.watch.days)
    resumed.observe(*stream.part(CHANGE - 14 * DAY, STOP))
    (found,) = resumed.versions[0].breaks
    assert found.scaled == (5, 6)


def test_the_version_before_undoes_it():
    stream = changed_habit()
    forecaster, _ = followed(stream, stop=FOUND - DAY)
    before = forecaster.versions[0]
    forecaster.observe(*stream.part(FOUND - DAY, STOP))
    assert forecaster.versions[0].breaks
    forecaster.activate(before)
    ahead = stream.part(FIRST + 14 * DAY, FIRST + 15 * DAY)
    undone = forecaster.deployed.networks(ahead.x, ahead.at)[:, 0]
    assert np.abs(undone - ahead.y[:, 0] / 0.6).mean() < 0.6


def test_with_approval_it_waits():
    stream = changed_habit()
    forecaster = started(stream)
    forecaster.require_approval()
    events = [each.event for each in forecaster.observe(*stream.part(WARM_UP, STOP))]
    (event,) = of_kind(events, PastRescaled)
    assert not event.accepted
    assert forecaster.versions[0].breaks == ()
    (waiting,) = [each for each in forecaster.candidates if each.entity == 0]
    forecaster.activate(waiting)
    ahead = stream.part(FIRST + 14 * DAY, FIRST + 15 * DAY)
    forecast = forecaster.deployed.networks(ahead.x, ahead.at)[:, 0]
    assert np.abs(forecast - ahead.y[:, 0]).mean() < 0.4


def test_the_cheap_test_before_the_others_changes_nothing(whole, monkeypatch):
    rng, state = np.random.default_rng(0), whole[0].state
    calm = replace(state.watch, squares=0.01 * state.watch.weights)
    states, odd = [], np.arange(14) % DAYS_PER_WEEK >= 5
    for _ in range(300):
        logs = rng.normal(0, 0.05, (2, 14))
        logs[0, odd] += rng.normal(0, 0.35)
        states.append(state._replace(watch=replace(calm, logs=logs)))
    monkeypatch.setattr(habits, "_judge", lambda *_, size: size)
    found = [find_habit(each, 0) for each in states]
    monkeypatch.setattr(habits, "_may_repeat", lambda _: True)
    assert found == [find_habit(each, 0) for each in states]
    assert 20 < sum(each is not None for each in found) < 280


def test_levels_of_some_weekdays():
    at = np.arange(14)
    breaks = (Break(7, 9, 2.0), Break(7, 20, 0.5, scaled=(5, 6)))
    np.testing.assert_array_equal(levels_of(breaks, at, 1), [1] * 7 + [2] * 5 + [1, 1])
    assert current_levels([breaks]).tolist() == [2.0]
    habits = habits_at([breaks, ()], at, 1)
    np.testing.assert_array_equal(habits[:, 0], [1, 1, 1, 1, 1, 0.5, 0.5] * 2)
    np.testing.assert_array_equal(habits[:, 1], np.ones(14))
    assert habits_at([breaks[:1], ()], at, 1) is None


def test_merged_breaks_are_of_the_same_days():
    breaks = (Break(0, 0, 0.5, scaled=(5, 6)),)
    for step in range(1, MOST_BREAKS + 1):
        breaks = with_break(breaks, Break(step, step, 2.0))
    assert len(breaks) == MOST_BREAKS
    assert breaks[0] == Break(0, 0, 0.5, scaled=(5, 6))
    assert current_levels([breaks]).tolist() == [2.0**MOST_BREAKS]
