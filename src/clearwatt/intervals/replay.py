"""Quantiles of forecasts that were recorded, as they would have been given at their time.

Nothing is used before it is known: the calibrator lags by the delay of measurements, and a new
model is tried on the measurements that were known when it began to serve.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float64Array
from clearwatt.clock import Clock, Steps
from clearwatt.intervals.calibrator import Calibrator
from clearwatt.intervals.levels import LEVELS
from clearwatt.intervals.window import WINDOW_DAYS


class ModelSwap(NamedTuple):
    """A new model of one entity.

    ``start`` is the first row that it forecasts; its measurements are those of the rows before
    ``known``. ``forecasts`` are its own for the last of these rows (`window_rows`).
    """

    start: int
    known: int
    column: int
    forecasts: Float64Array


class StreamQuantiles(NamedTuple):
    """Quantiles of a stream, and the memory that they take."""

    values: Float64Array
    """Rows x entities x levels."""
    state_bytes: int
    """Of the calibrator, per entity."""


def window_rows(known: int, day: int) -> slice:
    """The last `WINDOW_DAYS` of rows before ``known``."""
    return slice(max(0, known - WINDOW_DAYS * day), known)


def calibrate_stream(
    fitted: npt.NDArray[np.floating[Any]],
    live: npt.NDArray[np.floating[Any]],
    measured: npt.NDArray[np.floating[Any]],
    *,
    at: Steps,
    clock: Clock,
    limits: Sequence[tuple[float, float]],
    swaps: Iterable[ModelSwap] = (),
    levels: Sequence[float] = LEVELS,
) -> StreamQuantiles:
    """Quantiles of the rows of ``live``; the calibrator starts with those of ``fitted``.

    Args:
        fitted: Forecasts of the warm-up by its own models, rows x entities.
        live: Forecasts of the rows after it, each as it was issued, rows x entities.
        measured: Power of all these rows; NaN where there is no measurement.
        at: Step of each of these rows.
        clock: Steps per day, and delay of measurements.
        limits: Lowest and highest power of each entity; infinite where nothing limits it.
        swaps: Models that began to serve, by the rows of ``live``.
        levels: Of the quantiles.
    """
    start, power = len(fitted), measured.astype(np.float64)
    low, high = np.array(limits, np.float64).T
    calibrator = Calibrator.start(
        fitted.astype(np.float64),
        power[:start],
        at[:start],
        day=clock.day,
        lag=clock.lag_days,
        low=low,
        high=high,
    )
    quantiles = replay_quantiles(
        calibrator,
        live.astype(np.float64),
        power[start:],
        at=at[start:],
        swaps=swaps,
        levels=levels,
    )
    return StreamQuantiles(quantiles, calibrator.state_bytes)


def replay_quantiles(
    calibrator: Calibrator,
    forecasts: Float64Array,
    y: Float64Array,
    *,
    at: Steps,
    swaps: Iterable[ModelSwap] = (),
    levels: Sequence[float] = LEVELS,
) -> Float64Array:
    """Quantiles (n x m x levels) of live forecasts (n x m), each from what was known at its time.

    Args:
        calibrator: After the warm-up, with the lag of measurements (`Clock.lag_days`). It learns
            at least what is known at the last row.
        forecasts: Of the models in service.
        y: Measurements, n x m; NaN where there is none.
        at: Step of each row, n.
        swaps: The models that began to serve.
        levels: Of the quantiles.
    """
    day, y = calibrator.cells.day, y.copy()
    groups: dict[tuple[int, int], list[ModelSwap]] = {}
    for swap in swaps:
        if swap.start < len(y):
            groups.setdefault((swap.start, swap.known), []).append(swap)
    if not groups and (np.diff(at // day) <= 1).all():
        # The calibrator returns the quantiles that it had given for each day, many days at a time.
        return np.asarray(calibrator.observe(forecasts, y, at, levels=levels), np.float64)
    quantiles, learned = np.empty((*y.shape, len(levels))), 0
    midnights = (np.flatnonzero(np.diff(at // day)) + 1).tolist()
    starts = sorted({0, *(start for start, _ in groups), *midnights})
    for start, stop in pairwise([*starts, len(y)]):
        # Whole days, all of which are known at the first row of this day.
        known = int(np.searchsorted(at, (at[start] // day - calibrator.lag) * day))
        rows = slice(learned, max(learned, known))
        calibrator.observe(forecasts[rows], y[rows], at[rows])
        learned = rows.stop
        for group in [groups[key] for key in sorted(groups) if key[0] == start]:
            _swap(calibrator, group, y, at)
            # Residuals of the replaced models that are not known yet do not count any more.
            y[learned:start, [swap.column for swap in group]] = np.nan
        piece = slice(start, stop)
        quantiles[piece] = calibrator.snapshot.quantiles(forecasts[piece], at[piece], levels)
    return quantiles


def _swap(calibrator: Calibrator, group: Sequence[ModelSwap], y: Float64Array, at: Steps) -> None:
    """Put models into service that were trained on the same rows."""
    columns = np.array([swap.column for swap in group])
    forecasts = np.stack([swap.forecasts for swap in group], axis=1)
    rows = slice(group[0].known - len(forecasts), group[0].known)
    calibrator.swap(columns, forecasts, y[rows][:, columns], at[rows])
