"""Intervals of a zone's forecasts, calibrated by its rows as they close."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from clearwatt.arrays import BoolArray, Float32Array, Float64Array, Int64Array
from clearwatt.clock import SECONDS_PER_DAY, steps_per_day
from clearwatt.intervals import (
    CalibratedStream,
    Calibrator,
    ForecastFunction,
    NearCalibrators,
    SampleWindow,
)
from clearwatt.packing import tensors_below
from clearwatt.service.learner.apply.earlier_days import days_to_keep
from clearwatt.service.learner.apply.persistence import values_at
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
    ``near`` are the calibrators of the next hours; None before the first day of forecasts by lead.
    ``days`` have what was learned at the beginning of each of the last days, by time.
    ``coverage`` counts, per day, the readings with an interval and those inside it.
    """

    def __init__(self, step: int) -> None:
        self.step, self.day = step, steps_per_day(timedelta(seconds=step))
        self.stream: CalibratedStream | None = None
        self.low = self.high = np.empty((0, 0), np.float32)
        self.near: NearCalibrators | None = None
        self.days: dict[int, dict[str, npt.NDArray[Any]]] = {}
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
        known, steps = y.astype(np.float64), times // self.step
        self.stream.add(forecasts, known, steps, low=low, high=high)
        if self.near is not None:
            self.near.add(forecasts, known, steps, limits=limits)
        blank = self.window.y[:, -1:]
        self.low, self.high = (np.hstack([each, blank]) for each in (self.low, self.high))
        self.coverage.add_columns(1)

    def continue_revision(self, revision: int) -> None:
        """Count revisions on after those of intervals that these have replaced."""
        assert self.stream is not None
        self.stream.calibrator.revision = max(self.stream.calibrator.revision, revision) + 1

    def leave(self, column: int) -> None:
        """Remove an entity."""
        assert self.stream is not None
        self.stream.remove(column)
        self.days = {}  # nothing of an entity that left may stay
        if self.near is not None:
            self.near.remove(column)
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

    def observe_leads(
        self,
        power: Float64Array,
        y: Float64Array,
        times: Times,
        *,
        leads: Sequence[int],
        horizon: int,
    ) -> Float64Array | None:
        """Learn from the forecasts of whole days by their distance to the newest reading.

        Args:
            power: Scaled forecasts at each distance, b x n x m.
            y: Readings, n x m; NaN: none.
            times: Of the rows, n.
            leads: The distances in steps, ascending, b.
            horizon: Distance from which on forecasts are those of a day ahead.

        Returns:
            Ends of the monitored interval as they were given, b x n x m x 2; None before the
            warm-up.
        """
        if self.stream is None or not leads:
            return None
        if self.near is None:
            calibrator = self.stream.calibrator
            self.near = NearCalibrators.start(calibrator, leads, horizon=horizon, levels=MONITORED)
        return self.near.observe(_round_to_single(power), y, times // self.step, levels=MONITORED)

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

    def note_day(self, time: int) -> None:
        """Keep what is learned at the beginning of a day."""
        if self.stream is not None:
            self.days[time] = self.stream.calibrator.learned
            self.days = {day: self.days[day] for day in days_to_keep(list(self.days))}

    def go_back(self, column: int, time: int) -> None:
        """Go back to what was learned of an entity before a time, or on the oldest day kept."""
        days = {day: each for day, each in self.days.items() if len(each["wide"]) > column}
        if self.stream is None or not days:
            return
        chosen = days[max((day for day in days if day <= time), default=min(days))]
        self.stream.calibrator.go_back(column, chosen)
        if self.near is not None:
            self.near.restart(column, chosen)
        for day in [day for day in self.days if day > time]:  # they know wrong readings
            del self.days[day]

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
    def limits(self) -> Float64Array:
        """Lower and upper limit of the power of each entity (2 x entities), scaled."""
        return np.empty((2, 0)) if self.stream is None else self.stream.calibrator.limits

    def ends_at(self, times: Times) -> Float64Array:
        """Ends of the monitored interval (n x entities x 2); NaN where none was given."""
        known = self.window.steps * self.step
        ends = [values_at(times, known, each) for each in (self.low, self.high)]
        return np.stack(ends, axis=2).astype(np.float64)

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
        near = None if self.near is None else self.near.snapshot
        content = replace(calibrator.snapshot, near=near).pack()
        return IntervalSnapshot(zone, calibrator.revision, tuple(numbers.tolist()), content)

    def values(self) -> dict[str, Any] | None:
        """The plain values of the state."""
        if self.stream is None:
            return None
        near = None if self.near is None else self.near.state()[0]
        return {**self.stream.calibrator.state()[0], "near": near}

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
        if self.near is not None:
            arrays |= {f"near.{name}": each for name, each in self.near.state()[1].items()}
        return {
            **{name: torch.from_numpy(each.copy()) for name, each in arrays.items()},
            **{f"coverage.{name}": each for name, each in self.coverage.tensors().items()},
            **{
                f"days.{day}.{name}": torch.from_numpy(each.copy())
                for day, known in self.days.items()
                for name, each in known.items()
            },
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
        if (near := values.get("near")) is not None:
            held = {name: each.numpy() for name, each in tensors_below(tensors, "near.").items()}
            self.near = NearCalibrators.from_state(near, held)
        for name, each in tensors_below(tensors, "days.").items():
            day, _, part = name.partition(".")
            self.days.setdefault(int(day), {})[part] = each.numpy()
        self.days = dict(sorted(self.days.items()))
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
