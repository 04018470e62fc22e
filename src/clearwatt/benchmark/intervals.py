"""Quantiles of our own peers, calibrated around their forecasts as measurements become known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from clearwatt.benchmark.history import Power, ZoneHistory
from clearwatt.intervals import ModelSwap, calibrate_stream, scale_stream


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

    Less than a day ahead, their width follows the share of measurements outside (`LeadScale`).

    Args:
        history: Of a zone.
        levels: Of the quantiles.
        fitted: Forecasts, by the first models, of all that is known at the first forecast,
            n x entities.
        live: Forecasts of all later samples, including those of the first forecast's delay.
        swaps: Models that began to serve, by the rows of ``live``.
    """
    unlimited = [(-np.inf, np.inf)] * len(history.entities)
    near, limits = history.delay < history.day, history.limits or unlimited
    quantiles = calibrate_stream(
        fitted,
        live,
        history.measured,
        at=history.at,
        clock=history.clock,
        limits=unlimited if near else limits,
        swaps=swaps,
        levels=levels,
    )
    values = quantiles.values
    if near:
        values = scale_stream(
            values,
            live,
            history.measured[-len(live) :].astype(np.float64),
            history.at[-len(live) :],
            levels=levels,
            clock=history.clock,
            limits=np.transpose(limits),
        )
    values = values[-history.steps :]
    by_level = {level: values[:, :, at] for at, level in enumerate(levels)}
    return CalibratedQuantiles(by_level, quantiles.state_bytes)
