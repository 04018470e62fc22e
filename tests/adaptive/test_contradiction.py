"""Weather that acts with the opposite sign: the past is left out, and only then."""

from dataclasses import replace

import numpy as np
import pytest

from clearwatt.adaptive import NetworkUpdate, PastLeftOut
from clearwatt.adaptive.breaks import EVERY_DAY
from clearwatt.adaptive.change_days import day_errors
from clearwatt.adaptive.contradiction import find_contradiction, may_contradict
from clearwatt.testing.changes import (
    CHANGE,
    DAY,
    LENGTH,
    SETTINGS,
    WARM_UP,
    followed,
    followed_in_pieces,
    live_errors,
    multiplied,
    of_kind,
    rmse,
    started,
    steady_stream,
)

STOP = CHANGE + 9 * DAY


def mirrored(start=CHANGE, stop=LENGTH):
    """The stream in which the first entity is mirrored at the mean of each hour."""
    stream = steady_stream()
    hours = stream.at % DAY
    means = np.array([stream.y[hours == hour, 0].mean() for hour in range(DAY)])
    rows = slice(start, stop)
    stream.y[rows, 0] = 2 * means[hours[rows]] - stream.y[rows, 0]
    return stream


@pytest.fixture(scope="module")
def whole():
    return followed(mirrored(), stop=STOP)


def test_the_past_is_left_out_and_networks_train_on_the_days_since(whole):
    forecaster, events = whole
    (event,) = of_kind(events, PastLeftOut)
    assert event.entity == 0
    assert abs(event.since - CHANGE) <= DAY
    assert event.step <= CHANGE + 8 * DAY
    assert event.weekdays == EVERY_DAY
    assert "opposite to what the same weather gave before" in event.explanation
    assert f"Error since then {event.error_before:.4g}" in event.explanation
    update = events[events.index(event) + 1]
    assert isinstance(update, NetworkUpdate)
    assert update.trained_on <= event.step - event.since
    assert [each.weekdays for each in forecaster.versions[0].breaks] == [EVERY_DAY]
    assert not forecaster.versions[1].breaks


def test_forecasts_recover_sooner_than_without():
    errors = live_errors(mirrored())
    without = live_errors(mirrored(), settings=replace(SETTINGS, changes=None))
    days = slice(STOP - WARM_UP, None)
    assert rmse(errors[days]) < 0.7 * rmse(without[days])
    start = CHANGE - WARM_UP
    np.testing.assert_array_equal(errors[:start], without[:start])


@pytest.mark.parametrize(
    "stream",
    [
        mirrored(CHANGE, CHANGE + 3 * DAY),
        multiplied(0.3, CHANGE, CHANGE + 4 * DAY),
        steady_stream(),
    ],
    ids=["three days", "a level", "no change"],
)
def test_nothing_is_left_out_otherwise(stream):
    _, events = followed(stream)
    assert not of_kind(events, PastLeftOut)


@pytest.fixture(scope="module")
def steady():
    return followed(steady_stream(), stop=CHANGE + DAY)[0].state


def last_week(state, daily):
    """The state with these forecasts and readings of the first entity on its last days."""
    recent = state.recent
    slow, measured = recent.slow.copy(), recent.measured.copy()
    ages = (state.boundary - 1 - recent.at) // DAY
    for age, (forecast, reading) in enumerate(reversed(list(daily))):
        slow[ages == age, 0], measured[ages == age, 0] = forecast, reading
    return state._replace(recent=recent._replace(slow=slow, measured=measured))


def test_readings_that_mirror_the_forecast_are_a_contradiction(steady):
    mirror = last_week(steady, [(each, -each) for each in (-1, 1, -1, 1, -1, 1, 1)])
    found = find_contradiction(mirror, 0)
    assert found is not None
    assert found.step == mirror.boundary - 7 * DAY


def test_one_extreme_day_is_no_contradiction(steady):
    odd = last_week(steady, [(-1.0, 10.0), *[(0.2, 0.2)] * 6])
    assert find_contradiction(odd, 0) is None


def test_readings_opposite_but_of_another_size_are_no_contradiction(steady):
    large = last_week(steady, [(each, -6.0 * each) for each in (-1, 1, -1, 1, -1, 1, 1)])
    assert find_contradiction(large, 0) is None


def test_where_there_may_be_no_contradiction_none_is_found(steady):
    rng = np.random.default_rng(0)
    usual, found = steady.ensemble.versions[0].error, []
    for _ in range(300):
        forecasts = rng.choice([-1, 1], 7) * rng.uniform(0.6, 1.6, 7) * usual
        signs = np.where(rng.random(7) < 0.2, 1, -1)
        week = last_week(steady, zip(forecasts, signs * forecasts, strict=True))
        possible = may_contradict(week, 0, day_errors(week))
        found.append((possible, find_contradiction(week, 0) is not None))
    assert (False, True) not in found
    assert {(True, True), (False, False)} <= set(found)


def test_any_cut_and_a_pause_give_the_same_state(whole):
    other = followed_in_pieces(mirrored(), stop=STOP)
    assert other.digest() == whole[0].digest()


def test_the_version_before_undoes_it():
    stream = mirrored()
    forecaster, _ = followed(stream, stop=CHANGE)
    before = forecaster.versions[0]
    forecaster.observe(*stream.part(CHANGE, STOP))
    assert forecaster.versions[0].breaks
    forecaster.activate(before)
    ahead, plain = (each.part(STOP, STOP + DAY) for each in (stream, steady_stream()))
    undone = forecaster.deployed.networks(ahead.x, ahead.at)[:, 0]
    assert np.abs(undone - plain.y[:, 0]).mean() < 0.3


def test_with_approval_it_waits():
    stream = mirrored()
    forecaster = started(stream)
    forecaster.require_approval()
    events = [each.event for each in forecaster.observe(*stream.part(WARM_UP, STOP))]
    (event,) = of_kind(events, PastLeftOut)
    assert not event.accepted
    assert "was not done" in event.explanation
    assert forecaster.versions[0].breaks == ()
    (waiting,) = [each for each in forecaster.candidates if each.entity == 0]
    assert waiting.breaks
