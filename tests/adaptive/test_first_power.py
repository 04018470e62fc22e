"""An entity that never had power begins: its empty past is left out."""

from dataclasses import replace

import numpy as np

from clearwatt.adaptive import PastLeftOut, Standstill
from clearwatt.adaptive.breaks import EVERY_DAY
from clearwatt.testing.changes import (
    CHANGE,
    DAY,
    SETTINGS,
    WARM_UP,
    followed,
    live_errors,
    of_kind,
    rmse,
    steady_stream,
)

START = WARM_UP + 10 * DAY


def begins():
    stream = steady_stream()
    stream.y[:START, 0] = 0.0
    return stream


def test_networks_train_on_what_there_is_since_the_first_power():
    forecaster, events = followed(begins())
    (event,) = of_kind(events, PastLeftOut)
    assert (event.entity, event.since, event.weekdays) == (0, START, EVERY_DAY)
    assert f"since step {START} readings vary" in event.explanation
    (found,) = forecaster.versions[0].breaks
    spread = np.std(begins().y[START : START + 3 * DAY, 0])
    assert 0.7 < found.factor / spread < 1.4
    assert not of_kind(events, Standstill)


def test_its_error_is_far_below_that_with_the_empty_past():
    stream = begins()
    late = slice(CHANGE - WARM_UP, None)
    without = live_errors(stream, settings=replace(SETTINGS, changes=None))[late]
    assert rmse(live_errors(stream)[late]) < 0.6 * rmse(without)
