"""Quantiles of our own peers, calibrated around their forecasts as measurements become known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from clearwatt.benchmark.history import Power, ZoneHistory
from clearwatt.intervals import Calibrator, ModelSwap, replay_quantiles


class CalibratedQuantiles(NamedTuple):
    """Quantiles of every step of the stream, and the memory that they take."""

    by_level: Mapping[float, Power]
    """Steps x entities at each level."""
    state_bytes: int
    """Of the calibrator, per entity."""


def calibrate(
    history: ZoneHistory,
    *,
    levels: Sequence[float],
    fitted: Power,
    live: Power,
    swaps: Iterable[ModelSwap] = (),
) -> CalibratedQuantiles:
    """Quantiles around live forecasts, each from the measurements known at its time.

    Args:
        history: Of a zone.
        levels: Of the quantiles.
        fitted: Forecasts, by the first models, of all that is known at the first forecast,
            n x entities.
        live: Forecasts of all later samples, including those of the first forecast's delay.
        swaps: Models that began to serve, by the rows of ``live``.
    """
    start = len(history.known().y)
    limits = np.array(history.limits or [(-np.inf, np.inf)] * len(history.entities))
    calibrator = Calibrator.start(
        fitted.astype(np.float64),
        history.measured[:start].astype(np.float64),
        history.at[:start],
        day=history.day,
        lag=history.clock.lag_days,
        low=limits[:, 0],
        high=limits[:, 1],
    )
    quantiles = replay_quantiles(
        calibrator,
        live.astype(np.float64),
        history.measured[start:].astype(np.float64),
        at=history.at[start:],
        swaps=swaps,
        levels=levels,
    )[-history.steps :]
    by_level = {level: quantiles[:, :, at] for at, level in enumerate(levels)}
    return CalibratedQuantiles(by_level, calibrator.state_bytes)
