"""Readings, forecasts and errors of an entity over time, reduced to a number of points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from safetensors.numpy import load as unpack

from clearwatt.arrays import Float64Array
from clearwatt.service.records import Flag, RegisteredEntity, SignalDay, StoredSeries
from clearwatt.service.store import Store
from clearwatt.service.times import Times


@dataclass(frozen=True, slots=True, eq=False)
class Signals:
    """Times (n) with readings, forecasts and errors (n each); NaN where there is no value."""

    times: Times
    measured: Float64Array
    forecast: Float64Array
    error: Float64Array
    reconstruction: Float64Array

    @property
    def columns(self) -> tuple[Float64Array, Float64Array, Float64Array, Float64Array]:
        """All columns but the times."""
        return self.measured, self.forecast, self.error, self.reconstruction

    def between(self, start: int, end: int) -> Signals:
        """The part with start <= time < end."""
        part = slice(*np.searchsorted(self.times, [start, end]))
        return Signals(self.times[part], *(values[part] for values in self.columns))

    def means(self, points: int) -> Signals:
        """Means over at most ``points`` equal intervals, each at its first time."""
        if len(self.times) <= points:
            return self
        first = np.linspace(0, len(self.times), points, endpoint=False).astype(np.int64)
        return Signals(self.times[first], *(_means(values, first) for values in self.columns))

    def extremes(self, points: int) -> Signals:
        """Minimum and maximum of equal intervals, so that a plot shows every peak.

        An interval has two points, at its first and its middle time, with the extremes in their
        original order; their exact times differ from column to column.
        """
        if len(self.times) <= points:
            return self
        width = -(-len(self.times) // (points // 2))
        first = np.arange(0, len(self.times), width)
        middle = np.minimum(first + width // 2, len(self.times) - 1)
        times = np.column_stack([self.times[first], self.times[middle]]).ravel()
        ascending = np.diff(times, prepend=times[0] - 1) > 0  # the last interval may have one row
        return Signals(
            times[ascending], *(_extremes(values, width)[ascending] for values in self.columns)
        )


def signals_of(store: Store, entity: RegisteredEntity, *, start: int, end: int) -> Signals:
    """Signals of an entity with start <= time < end."""
    times, forecast, reconstruction = _join_days(
        store.signals(entity.zone, start=start, end=end), entity.number
    )
    readings = store.readings(entity.number, start=start, end=end)
    within = (times >= start) & (times < end)
    every = np.union1d(times[within], readings.times)
    measured = _align(every, *_usable(readings))
    forecasts = _align(every, times[within], forecast[within])
    return Signals(
        times=every,
        measured=measured,
        forecast=forecasts,
        error=np.abs(forecasts - measured),
        reconstruction=_align(every, times[within], reconstruction[within]),
    )


def _usable(readings: StoredSeries) -> tuple[Times, Float64Array]:
    usable = np.isin(readings.flags, [Flag.ACCEPTED, Flag.RELEASED, Flag.LATE])
    return readings.times[usable], readings.values[usable]


def _join_days(days: Sequence[SignalDay], number: int) -> tuple[Times, Float64Array, Float64Array]:
    """Times (n), forecasts of the entity (n) and reconstruction errors (n) of several days."""
    parts = [_day(day, number) for day in days]
    nothing = np.empty(0, np.int64), np.empty(0), np.empty(0)
    times, forecasts, errors = zip(*parts, strict=True) if parts else ((a,) for a in nothing)
    return np.concatenate(times), np.concatenate(forecasts), np.concatenate(errors)


def _day(day: SignalDay, number: int) -> tuple[Times, Float64Array, Float64Array]:
    content = unpack(day.content)
    times = content["times"]
    own = np.flatnonzero(content["entities"] == number)
    # An entity that started later has no column on this day.
    forecast = content["forecast"][:, own[0]] if len(own) else np.full(len(times), np.nan)
    return times, forecast.astype(np.float64), content["reconstruction"].astype(np.float64)


def _align(every: Times, times: Times, values: Float64Array) -> Float64Array:
    """Values at every time; NaN where ``times`` has none."""
    aligned = np.full(len(every), np.nan)
    aligned[np.searchsorted(every, times)] = values
    return aligned


def _means(values: Float64Array, first: Times) -> Float64Array:
    finite = np.isfinite(values)
    counts = np.add.reduceat(finite.astype(np.int64), first)
    sums = np.add.reduceat(np.where(finite, values, 0.0), first)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _extremes(values: Float64Array, width: int) -> Float64Array:
    """Minimum and maximum of each ``width`` values, in their order; NaN if all are NaN."""
    table = np.full((-(-len(values) // width), width), np.nan)
    table.ravel()[: len(values)] = values
    lowest = np.where(np.isnan(table), np.inf, table).argmin(axis=1)
    highest = np.where(np.isnan(table), -np.inf, table).argmax(axis=1)
    order = np.sort(np.column_stack([lowest, highest]), axis=1)
    found: Float64Array = np.take_along_axis(table, order, axis=1).ravel()
    return found
