"""Quantiles of our own peers: calibrated around what they said, as measurements came in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from clearwatt.benchmark.history import History, Power
from clearwatt.experiment.intervals import Swap, issued, lag_of
from clearwatt.intervals import Calibrator


class Quantiles(NamedTuple):
    """What was said of every step of the stream, and what it takes."""

    by_level: Mapping[float, Power]
    """Steps x entities at each."""
    state_bytes: int
    """Of the calibrator, per entity."""


def calibrated(
    history: History,
    *,
    levels: Sequence[float],
    fitted: Power,
    live: Power,
    swaps: Iterable[Swap] = (),
) -> Quantiles:
    """Quantiles around live forecasts, each by what was measured until a delay before it.

    Args:
        history: of a zone.
        levels: of the quantiles.
        fitted: what the first models say of all that is known at the first forecast, n x entities.
        live: what was said of every sample that comes later, the first forecast's delay included.
        swaps: models that came into service, by the rows of ``live``.
    """
    known = history.known()
    start = len(known.y)
    low, high = _limits(history)
    calibrator = Calibrator.start(
        fitted.astype(np.float64),
        known.y.astype(np.float64),
        history.clock[:start],
        day=history.day,
        lag=lag_of(history.delay, history.day),
        low=low,
        high=high,
    )
    later = history.measured[start:].astype(np.float64)
    found = issued(
        calibrator,
        live.astype(np.float64),
        later,
        at=history.clock[start:],
        swaps=swaps,
        levels=levels,
    )[-history.steps :]
    by_level = {level: found[:, :, at] for at, level in enumerate(levels)}
    return Quantiles(by_level, calibrator.state_bytes)


def _limits(history: History) -> tuple[Power, Power]:
    """The lowest and the highest power of each entity."""
    limits = np.array(history.limits or [(-np.inf, np.inf)] * len(history.entities))
    return limits[:, 0], limits[:, 1]
