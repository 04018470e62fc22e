"""A small stream, and a forecaster that learns it quickly."""

from types import SimpleNamespace

import numpy as np
import pytest

from clearwatt.adaptive import (
    AdaptiveForecaster,
    AdaptiveSettings,
    NetworkSettings,
    NoveltySettings,
)
from clearwatt.data.features import CALENDAR_COLUMNS
from clearwatt.training.fleet import Training

DAY = 24
WARMUP = 40 * DAY
SMALL = AdaptiveSettings(
    memory=600,
    novelty=NoveltySettings(capacity=2.0),
    networks=NetworkSettings(
        width=8,
        members=1,
        warm_up=Training(epochs=8, patience=None),
        update=Training(epochs=1, patience=None),
    ),
)


def stream(days, *, seed=0):
    """Inputs (two of weather, then the calendar), power of two entities, and steps."""
    rng = np.random.default_rng(seed)
    at = np.arange(days * DAY)
    weather = np.sin(at[:, None] / [7.3, 31.0]) + 0.2 * rng.normal(size=(len(at), 2))
    hour = 2 * np.pi * at / DAY
    calendar = np.zeros((len(at), len(CALENDAR_COLUMNS)))
    calendar[:, 0], calendar[:, 1] = np.sin(hour), np.cos(hour)
    calendar[:, 8] = np.sin(hour / 365)
    x = np.concatenate([weather, calendar], axis=1)
    power = np.stack([weather[:, 0] ** 2, 1 + np.sin(hour) * weather[:, 1]], axis=1)
    return x, power + 0.05 * rng.normal(size=power.shape), at


def started(x, y, at, **options):
    """A forecaster after its warm-up."""
    options = {"day": DAY, "settings": SMALL} | options
    return AdaptiveForecaster.fit(x[:WARMUP], y[:WARMUP], at[:WARMUP], **options)


@pytest.fixture
def small():
    """The stream, the forecaster and their lengths."""
    return SimpleNamespace(DAY=DAY, WARMUP=WARMUP, SETTINGS=SMALL, stream=stream, started=started)
