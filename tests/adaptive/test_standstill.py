"""A plant that is off is not a plant that has changed."""

from dataclasses import replace

import numpy as np

from clearwatt.adaptive import AdaptiveForecaster, PastRescaled, Standstill, standstill
from clearwatt.adaptive.change_watch import RUNS
from clearwatt.adaptive.standstill import may_stand_still
from clearwatt.testing.changes import (
    CHANGE,
    DAY,
    LENGTH,
    SETTINGS,
    WARM_UP,
    followed,
    live_errors,
    multiplied,
    of_kind,
    rmse,
    steady_stream,
)

BACK = CHANGE + 10 * DAY


def off():
    return multiplied(0.0, CHANGE, BACK)


def test_a_standstill_and_its_end_are_events():
    _, events = followed(off())
    begun, ended = of_kind(events, Standstill)
    assert (begun.entity, begun.since, begun.ended) == (0, CHANGE, False)
    assert begun.step <= CHANGE + 3 * DAY
    assert (ended.since, ended.step, ended.ended) == (CHANGE, BACK, True)
    assert f"stands still since step {CHANGE}" in begun.explanation
    assert f"runs again since step {BACK}" in ended.explanation
    assert not of_kind(events, PastRescaled)


def test_no_power_is_forecast_meanwhile_and_the_old_model_serves_after_it():
    stream = off()
    errors, calm = live_errors(stream), live_errors(steady_stream())
    without = live_errors(stream, settings=replace(SETTINGS, changes=None))
    still = slice(CHANGE + 4 * DAY - WARM_UP, BACK - WARM_UP)
    assert np.abs(errors[still]).max() < 1e-6
    # A day after its first reading, which is when a forecast can know of it, and six hours.
    after = slice(BACK + DAY + 7 - WARM_UP, BACK + 5 * DAY - WARM_UP)
    assert rmse(errors[after]) < 1.5 * rmse(calm[after])
    assert rmse(errors[after]) < 0.5 * rmse(without[after])


def test_nothing_of_a_standstill_is_learned():
    stream = off()
    forecaster, _ = followed(stream, stop=BACK)
    number = forecaster.versions[0].number
    calm, _ = followed(steady_stream(), stop=CHANGE)
    assert number == calm.versions[0].number
    held = forecaster.state.reservoir
    assert np.isnan(held.y[held.at >= CHANGE, 0]).all()
    assert np.isfinite(held.y[held.at >= CHANGE, 1]).any()
    forecaster.observe(*stream.part(BACK, BACK + DAY))
    recent = forecaster.state.recent
    gone = (recent.at >= CHANGE) & (recent.at < BACK)
    assert np.isnan(recent.measured[gone, 0]).all()


def test_a_standstill_is_forgotten_with_the_readings_that_showed_it():
    """As if the meter had been silent: what it reads next is learned."""
    forecaster, events = followed(off(), stop=CHANGE + 4 * DAY)
    assert of_kind(events, Standstill)
    forecaster.forget(np.arange(CHANGE, CHANGE + DAY), [0])
    assert forecaster.state.watch.standing[0] == CHANGE, "three days of readings are left"
    forecaster.forget(np.arange(CHANGE, CHANGE + 4 * DAY), [1])
    assert forecaster.state.watch.standing[0] == CHANGE, "readings of another entity"
    forecaster.forget(np.arange(CHANGE, CHANGE + 4 * DAY), [0])
    assert forecaster.state.watch.standing[0] == RUNS
    stream = steady_stream()
    forecaster.observe(*stream.part(CHANGE + 4 * DAY, CHANGE + 5 * DAY))
    recent = forecaster.state.recent
    assert np.isfinite(recent.measured[recent.at >= CHANGE + 4 * DAY, 0]).all()


def test_a_standstill_survives_saving_and_any_cut():
    stream = off()
    whole, _ = followed(stream)
    for stop in (CHANGE + DAY + 3, CHANGE + 5 * DAY, BACK + 4):
        resumed, _ = followed(stream, stop=stop)
        resumed = AdaptiveForecaster.unpack(resumed.pack())
        resumed.observe(*stream.part(stop, LENGTH))
        assert resumed.digest() == whole.digest()


def test_low_power_that_was_forecast_is_no_standstill():
    stream = steady_stream()
    night = stream.at % DAY < 12
    stream.y[night, 0] = 0.0
    _, events = followed(stream)
    assert not of_kind(events, Standstill)


def test_entities_that_nobody_asks_about_are_not_looked_at(monkeypatch):
    forecaster, _ = followed(off(), stop=CHANGE + DAY + 7)
    state = forecaster.state
    assert may_stand_still(state).tolist() == [True, False]
    assert may_stand_still(state, np.array([True, False])).tolist() == [True, False]
    assert may_stand_still(state, np.array([False, True])).tolist() == [False, False]
    # Nor does the cheap test before the others change anything.
    monkeypatch.setattr(standstill, "_has_power", lambda *_: False)
    assert may_stand_still(state).tolist() == [True, False]
