"""A jump of the level: the last known day is forecast until trust has followed."""

from dataclasses import replace

import numpy as np

from clearwatt.adaptive import FastSettings, TrustShift


def follow(small, y_of, *, hours=range(24), **fast):
    """Errors and shifts of trust; a function changes the power after the warm-up."""
    x, y, at = small.stream(50)
    rest = slice(small.WARMUP, None)
    used = (at < small.WARMUP) | np.isin(at % small.DAY, hours)
    y[rest] = y_of(y[rest])
    settings = replace(small.SETTINGS, fast=FastSettings(**fast))
    x, y, at = x[used], y[used], at[used]
    forecaster = small.started(x, y, at, settings=settings)
    parts = list(forecaster.follow(x[rest], y[rest], at[rest]))
    events = [change.event for _, changes in parts for change in changes]
    shifts = [event for event in events if isinstance(event, TrustShift)]
    return np.concatenate([part.power for part, _ in parts]) - y[rest], shifts


def lifted(small, first, last):
    """A function that lifts the first entity by 5 from one step after the warm-up to another."""

    def lift(y):
        y = y.copy()
        y[first:last, 0] += 5
        return y

    return lift


def rmse(errors):
    return float(np.sqrt(np.mean(np.square(errors))))


def test_after_a_jump_the_last_known_day_is_forecast_and_an_event_says_so(small):
    jump = lifted(small, 3 * small.DAY, None)
    errors, shifts = follow(small, jump)
    without, _ = follow(small, jump, jump=None)
    days = slice(4 * small.DAY + 6, 7 * small.DAY)
    assert rmse(errors[days, 0]) < 0.5 * rmse(without[days, 0])
    first = next(event for event in shifts if event.step > small.WARMUP + 3 * small.DAY)
    assert (first.entity, first.weight) == (0, 1.0)
    assert first.expert == "the same hour of the day before"
    np.testing.assert_array_equal(errors[:, 1], without[:, 1])


def test_a_few_odd_readings_are_no_jump(small):
    spike = lifted(small, 3 * small.DAY, 3 * small.DAY + 5)
    errors, _ = follow(small, spike)
    without, _ = follow(small, spike, jump=None)
    np.testing.assert_array_equal(errors, without)


def test_usual_errors_are_no_jump(small):
    errors, _ = follow(small, lambda y: y)
    without, _ = follow(small, lambda y: y, jump=None)
    np.testing.assert_array_equal(errors, without)


def test_a_jump_is_found_in_a_stream_with_gaps(small):
    jump = lifted(small, 3 * small.DAY, None)
    _, shifts = follow(small, jump, hours=range(6, 12))
    assert ("the same hour of the day before", 1.0) in {
        (event.expert, event.weight) for event in shifts
    }


def test_a_jump_ends_when_the_entity_falls_silent(small):
    def lift(y):
        y = lifted(small, 3 * small.DAY, None)(y)
        y[3 * small.DAY + 6 :, 0] = np.nan
        return y

    _, shifts = follow(small, lift)
    own = [event.expert for event in shifts if event.entity == 0]
    assert "the same hour of the day before" in own
    assert own[-1] != "the same hour of the day before"
