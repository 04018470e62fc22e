"""A change of level that ends: the return to the level of before is found within hours or a day."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from clearwatt.adaptive import AdaptiveForecaster, Break, PastRescaled
from clearwatt.adaptive.breaks import EVERY_DAY
from clearwatt.adaptive.level_return import return_factors
from clearwatt.testing.changes import (
    CHANGE,
    DAY,
    SETTINGS,
    WARM_UP,
    followed,
    live_errors,
    multiplied,
    of_kind,
    rmse,
    started,
)

END = CHANGE + 9 * DAY
STOP = END + 4 * DAY


@pytest.fixture(scope="module")
def whole():
    return followed(multiplied(0.3, CHANGE, END), stop=STOP)


@pytest.mark.parametrize(("factor", "hours"), [(0.3, 12), (3.0, 30)])
def test_the_end_of_a_change_is_found_sooner_than_its_beginning(factor, hours):
    forecaster, events = followed(multiplied(factor, CHANGE, END), stop=STOP)
    first, back = of_kind(events, PastRescaled)
    assert first.step >= CHANGE + 3 * DAY
    assert not first.returned
    assert abs(back.since - END) <= 2
    assert back.step <= END + hours
    assert back.returned
    assert "are back at a level of before" in back.explanation
    assert "are back" not in first.explanation
    assert first.factor * back.factor == pytest.approx(1.0)
    assert [each.factor for each in forecaster.versions[0].breaks] == [first.factor, back.factor]


def test_forecasts_recover_a_day_after_the_end():
    stream = multiplied(0.3, CHANGE, END)
    errors = live_errors(stream)
    without = live_errors(stream, settings=replace(SETTINGS, changes=None))
    days = slice(END + 2 * DAY - WARM_UP, END + 6 * DAY - WARM_UP)
    usual = slice(CHANGE - 7 * DAY - WARM_UP, CHANGE - WARM_UP)
    assert rmse(errors[days]) < 1.3 * rmse(errors[usual])
    assert rmse(errors[days]) < 0.6 * rmse(without[days])


def test_a_third_level_is_no_return():
    stream = multiplied(0.3, CHANGE, END)
    stream.y[END:, 0] *= 0.55
    _, events = followed(stream, stop=STOP)
    assert not [each for each in of_kind(events, PastRescaled) if each.returned]


def test_hours_unlike_the_forecast_are_no_return():
    stream = multiplied(3.0, CHANGE)
    stream.y[END : END + 8, 0] /= 3
    _, events = followed(stream, stop=STOP)
    assert len(of_kind(events, PastRescaled)) == 1


def test_where_days_vary_more_a_lower_level_needs_three_days():
    stream = multiplied(3.0, CHANGE, END)
    forecaster, _ = followed(stream, stop=END)
    watch = forecaster.state.watch
    varied = replace(watch, squares=0.2**2 * watch.weights)
    forecaster.state = forecaster.state._replace(watch=varied)
    early = forecaster.observe(*stream.part(END, END + 60))
    assert not of_kind([each.event for each in early], PastRescaled)
    late = forecaster.observe(*stream.part(END + 60, END + 4 * DAY))
    (back,) = of_kind([each.event for each in late], PastRescaled)
    assert back.returned


def test_any_cut_and_a_pause_give_the_same_state(whole):
    stream = multiplied(0.3, CHANGE, END)
    other = started(stream)
    for low, high in pairwise([*range(WARM_UP, STOP, 43), STOP]):
        other.observe(*stream.part(low, high))
        other = AdaptiveForecaster.unpack(other.pack())
    assert other.digest() == whole[0].digest()


def test_the_version_before_a_return_undoes_it(whole):
    stream = multiplied(0.3, CHANGE, END)
    forecaster, _ = followed(stream, stop=END)
    before = forecaster.versions[0]
    forecaster.observe(*stream.part(END, END + DAY))
    assert len(forecaster.versions[0].breaks) == 2
    forecaster.activate(before)
    ahead = stream.part(END + DAY, END + 2 * DAY)
    undone = forecaster.deployed.forecast(ahead.x, ahead.at).day_ahead[:, 0]
    assert np.abs(undone - 0.3 * ahead.y[:, 0]).mean() < 0.3


def test_with_approval_a_return_waits():
    stream = multiplied(0.3, CHANGE, END)
    forecaster, _ = followed(stream, stop=END)
    forecaster.require_approval()
    events = [each.event for each in forecaster.observe(*stream.part(END, END + DAY))]
    (event,) = of_kind(events, PastRescaled)
    assert not event.accepted
    assert len(forecaster.versions[0].breaks) == 1
    (waiting,) = [each for each in forecaster.candidates if each.entity == 0]
    forecaster.activate(waiting)
    ahead = stream.part(END + DAY, END + 2 * DAY)
    forecast = forecaster.deployed.forecast(ahead.x, ahead.at).day_ahead[:, 0]
    assert np.abs(forecast - ahead.y[:, 0]).mean() < 0.5


def test_levels_of_before_relative_to_the_present_one():
    breaks = (Break(10, 20, 0.5), Break(30, 40, 4.0))
    assert return_factors(breaks) == [0.25, 0.5]
    assert return_factors(()) == []
    first = Break(10, 20, 0.5, EVERY_DAY)
    assert return_factors((first, Break(30, 40, 4.0))) == [0.25]
