"""Streams in which an entity changes, and an adaptive forecaster that follows them quickly."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np

from clearwatt.adaptive import AdaptiveForecaster, AdaptiveSettings, NetworkSettings
from clearwatt.arrays import Float64Array
from clearwatt.data.features import CALENDAR_COLUMNS
from clearwatt.forecaster import Event
from clearwatt.testing.forecasters import DAY, SampleStream
from clearwatt.training.fleet import Training

T = TypeVar("T")

WARM_UP = 30 * DAY
CHANGE = WARM_UP + 24 * DAY
"""First step after a change. By then enough days have been observed to know how much they vary."""
LENGTH = 70 * DAY
SETTINGS = AdaptiveSettings(
    memory=900,
    networks=NetworkSettings(
        width=16, members=1, windows=(), warm_up=Training(epochs=40, patience=None, batch=64)
    ),
)
"""Networks that learn these streams within a second."""


def steady_stream() -> SampleStream:
    """Power of two entities that follows weather and hour, always above 0."""
    rng = np.random.default_rng(3)
    at = np.arange(LENGTH)
    weather = np.sin(at[:, None] / [17.3, 41.0]) + 0.2 * rng.normal(size=(LENGTH, 2))
    hour = 2 * np.pi * at / DAY
    calendar = np.zeros((LENGTH, len(CALENDAR_COLUMNS)))
    calendar[:, 0], calendar[:, 1] = np.sin(hour), np.cos(hour)
    power = 3 + weather @ [[0.8, 0.3], [0.0, 0.7]] + np.sin(hour)[:, None] * [[0.7, 0.5]]
    power += 0.03 * rng.normal(size=power.shape)
    return SampleStream(np.concatenate([weather, calendar], axis=1), power, at)


def multiplied(factor: float, start: int = CHANGE, stop: int = LENGTH) -> SampleStream:
    """The stream in which the first entity has a multiple of its power for some steps."""
    stream = steady_stream()
    stream.y[start:stop, 0] *= factor
    return stream


def started(stream: SampleStream, settings: AdaptiveSettings = SETTINGS) -> AdaptiveForecaster:
    """A forecaster after its warm-up."""
    return AdaptiveForecaster.fit(*stream.part(0, WARM_UP), day=DAY, settings=settings)


def followed(
    stream: SampleStream, *, stop: int = LENGTH, settings: AdaptiveSettings = SETTINGS
) -> tuple[AdaptiveForecaster, list[Event]]:
    """A forecaster after the stream up to a step, and its events."""
    forecaster = started(stream, settings)
    changes = forecaster.observe(*stream.part(WARM_UP, stop))
    return forecaster, [change.event for change in changes]


def followed_in_pieces(stream: SampleStream, *, stop: int) -> AdaptiveForecaster:
    """A forecaster after the stream in pieces, saved and loaded after each."""
    forecaster = started(stream)
    for low, high in pairwise([*range(WARM_UP, stop, 43), stop]):
        forecaster.observe(*stream.part(low, high))
        forecaster = AdaptiveForecaster.unpack(forecaster.pack())
    return forecaster


def of_kind(events: Sequence[Event], kind: type[T]) -> list[T]:
    """The events of one class."""
    return [event for event in events if isinstance(event, kind)]


def live_errors(stream: SampleStream, settings: AdaptiveSettings = SETTINGS) -> Float64Array:
    """Errors of the first entity's live forecasts from the end of the warm-up on, `n`."""
    rest = stream.part(WARM_UP, LENGTH)
    errors: Float64Array = started(stream, settings).live(*rest)[:, 0] - rest.y[:, 0]
    return errors


def rmse(errors: Float64Array) -> float:
    """Root of the mean squared error."""
    return float(np.sqrt(np.mean(np.square(errors))))
