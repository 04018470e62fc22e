"""Intervals of a zone's forecasts, calibrated by its rows as they close."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from clearwatt.arrays import BoolArray, Float32Array, Float64Array, Int64Array
from clearwatt.clock import SECONDS_PER_DAY, steps_per_day
from clearwatt.intervals import CalibratedStream, Calibrator, ForecastFunction, SampleWindow
from clearwatt.packing import tensors_below
from clearwatt.service.learner.apply.two_weeks import TwoWeeks
from clearwatt.service.records import IntervalSnapshot
from clearwatt.service.status import IntervalQuality
from clearwatt.service.times import Times

MONITORED = (0.05, 0.95)
"""Levels of the interval whose coverage is reported."""
LOWEST_COVERAGE = 0.8
"""Coverage over two weeks below which there is an alert."""


class ZoneIntervals:
    """The calibrated stream of a zone, in the scale of its models; empty before its warm-up.

    ``low`` and ``high`` (n x entities) are the ends of the monitored interval for the samples of
    the stream's window, given a day before. Steps are times in units of the zone's step.
    ``coverage`` counts, per day, the readings with an interval and those inside it.
    """

    def __init__(self, step: int) -> None:
        self.step, self.day = step, steps_per_day(timedelta(seconds=step))
        self.stream: CalibratedStream | None = None
        self.low = self.high = np.empty((0, 0), np.float32)
        self.coverage = TwoWeeks(2, fails=_is_low)
        self._published = -1

    @property
    def window(self) -> SampleWindow:
        """The samples of the last days."""
        return SampleWindow.empty(0, 0) if self.stream is None else self.stream.window

    def begin(
        self,
        forecasts: Float64Array,
        y: Float32Array,
        *,
        x: Float32Array,
        times: Times,
        limits: Sequence[tuple[float, float]],
    ) -> None:
        """Start with the warm-up of the first entities: forecasts and y (n x m), x (n x d)."""
        low, high = np.array(limits).T
        warmup = SampleWindow(x, y, times // self.step)
        self.stream = CalibratedStream.start(forecasts, warmup, day=self.day, low=low, high=high)
        self.low = self.high = np.full(self.window.y.shape, np.nan, np.float32)
        self.coverage.add_columns(y.shape[1])

    def join(
        self,
        forecasts: Float64Array,
        y: Float32Array,
        *,
        times: Times,
        limits: tuple[float, float],
    ) -> None:
        """Add another entity with its warm-up: forecasts, y and times (n)."""
        assert self.stream is not None
        low, high = limits
        self.stream.add(forecasts, y.astype(np.float64), times // self.step, low=low, high=high)
        blank = self.window.y[:, -1:]
        self.low, self.high = (np.hstack([each, blank]) for each in (self.low, self.high))
        self.coverage.add_columns(1)

    def leave(self, column: int) -> None:
        """Remove an entity."""
        assert self.stream is not None
        self.stream.remove(column)
        self.low, self.high = (np.delete(each, column, axis=1) for each in (self.low, self.high))
        self.coverage.remove_column(column)

    def observe(
        self, forecasts: Float64Array, y: Float32Array, *, x: Float32Array, times: Times
    ) -> None:
        """Learn from rows as they close: live forecasts and measurements (n x m, NaN: none)."""
        if self.stream is None or len(times) == 0:
            return
        samples = SampleWindow(x, y, times // self.step)
        quantiles = self.stream.observe(_round_to_single(forecasts), samples, levels=MONITORED)
        assert quantiles is not None
        size = len(self.window.steps)
        low, high = quantiles.astype(np.float32).transpose(2, 0, 1)
        self.low, self.high = (
            np.concatenate([ends, new])[-size:]
            for ends, new in ((self.low, low), (self.high, high))
        )
        self._count(times, *_compare(y, low, high))

    def swap(self, columns: Int64Array, forecast: ForecastFunction) -> None:
        """Continue with new models of some entities."""
        if self.stream is not None:
            self.stream.swap(columns, lambda x, columns: _round_to_single(forecast(x, columns)))

    def forget(self, columns: Int64Array, start: int, end: int) -> None:
        """Delete measurements of some entities with start <= time < end."""
        if self.stream is not None:
            first, last = -(-start // self.step), -(-end // self.step)
            self.stream.forget(columns, first, last)
            self._count_again(columns, start, end)

    def _count(self, times: Times, known: BoolArray, inside: BoolArray) -> None:
        """Add the readings known and those inside their interval (n x entities) to their days."""
        days = times // SECONDS_PER_DAY * SECONDS_PER_DAY
        for day in np.unique(days):
            counts = [each[days == day].sum(axis=0) for each in (known, inside)]
            self.coverage.add(int(day), np.column_stack(counts).astype(np.float64))

    def _count_again(self, columns: Int64Array, start: int, end: int) -> None:
        """Count the days of start <= time < end again, from the samples that are left."""
        first = start // SECONDS_PER_DAY * SECONDS_PER_DAY
        for day in [day for day in self.coverage.sums if first <= day < end]:
            self.coverage.clear(day, columns)
        times = self.window.steps * self.step
        rows = (times >= first) & (times < -(-end // SECONDS_PER_DAY) * SECONDS_PER_DAY)
        known, inside = _compare(self.window.y[rows], self.low[rows], self.high[rows])
        chosen = np.isin(np.arange(known.shape[1]), columns)
        self._count(times[rows], known & chosen, inside & chosen)

    def quality(self, column: int, size: float) -> IntervalQuality:
        """Coverage and mean width of the interval over the last days, in the unit of power."""
        low, high = self.low[:, column], self.high[:, column]
        known, inside = _compare(self.window.y[:, column], low, high)
        count, contained = self.coverage.total[column].tolist()
        if not known.any() and not count:
            return IntervalQuality()
        widths = (high - low)[known].astype(np.float64)
        return IntervalQuality(
            n_week=int(known.sum()),
            coverage_week=float(inside[known].mean()) if known.any() else None,
            width_week=float(widths.mean() * size) if known.any() else None,
            n_two_weeks=int(count),
            coverage_two_weeks=contained / count if count else None,
            too_narrow=bool(self.coverage.failing[column]),
        )

    @property
    def revision(self) -> int | None:
        """Number that changes with the quantiles; None before the warm-up."""
        return None if self.stream is None else self.stream.calibrator.revision

    def new_snapshot(self, zone: str, numbers: Int64Array) -> IntervalSnapshot | None:
        """The quantiles to publish, if they have changed since the last call."""
        if self.stream is None or self.revision == self._published:
            return None
        calibrator = self.stream.calibrator
        self._published = calibrator.revision
        content = calibrator.snapshot.pack()
        return IntervalSnapshot(zone, calibrator.revision, tuple(numbers.tolist()), content)

    def values(self) -> dict[str, Any] | None:
        """The plain values of the state."""
        return None if self.stream is None else self.stream.calibrator.state()[0]

    def tensors(self) -> dict[str, Tensor]:
        """The tensors of the state."""
        if self.stream is None:
            return {}
        arrays: dict[str, npt.NDArray[Any]] = {
            "steps": self.window.steps,
            "x": self.window.x,
            "y": self.window.y,
            "low": self.low,
            "high": self.high,
        }
        own = self.stream.calibrator.state()[1]
        arrays |= {f"calibrator.{name}": each for name, each in own.items()}
        return {
            **{name: torch.from_numpy(each.copy()) for name, each in arrays.items()},
            **{f"coverage.{name}": each for name, each in self.coverage.tensors().items()},
        }

    def restore(self, values: dict[str, Any] | None, tensors: dict[str, Tensor]) -> None:
        """Continue from a saved state; its quantiles were published before it was saved."""
        if values is None:
            return
        arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
        self.low, self.high = arrays["low"], arrays["high"]
        own = {name: each.numpy() for name, each in tensors_below(tensors, "calibrator.").items()}
        calibrator = Calibrator.from_state(values, own)
        window = SampleWindow(arrays["x"], arrays["y"], arrays["steps"])
        self.stream = CalibratedStream(calibrator, window)
        self._published = calibrator.revision
        counts = tensors_below(tensors, "coverage.")
        self.coverage.restore(counts, columns=self.low.shape[1])


def _compare(y: Float32Array, low: Float32Array, high: Float32Array) -> tuple[BoolArray, BoolArray]:
    """Which readings have an interval, and which of them lie inside it."""
    known = np.isfinite(y) & np.isfinite(low)
    return known, known & (y >= low) & (y <= high)


def _is_low(counts: Float64Array) -> BoolArray:
    """Which entities have a low coverage, from their counts of readings known and inside."""
    return np.asarray(counts[:, 1] < LOWEST_COVERAGE * counts[:, 0], np.bool_)


def _round_to_single(forecasts: Float64Array) -> Float64Array:
    """Forecasts rounded to single precision.

    The last bits of a double depend on how many rows were computed at once; the state must not.
    """
    return forecasts.astype(np.float32).astype(np.float64)
