"""What a zone's models said of an entity, beside what was measured, in as many points as wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load as unpack

from clearwatt.arrays import Float64Array
from clearwatt.service.records import Entity, Flag, Series, SignalDay
from clearwatt.service.store import Store

Times = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Signals:
    """Times (n) and beside them, NaN where there is nothing, readings, forecasts and errors."""

    times: Times
    measured: Float64Array
    forecast: Float64Array
    error: Float64Array
    reconstruction: Float64Array

    @property
    def columns(self) -> tuple[Float64Array, Float64Array, Float64Array, Float64Array]:
        """What is beside the times."""
        return self.measured, self.forecast, self.error, self.reconstruction

    def within(self, start: int, end: int) -> Signals:
        """The part with start <= time < end."""
        part = slice(*np.searchsorted(self.times, [start, end]))
        return Signals(self.times[part], *(values[part] for values in self.columns))

    def thinned(self, points: int) -> Signals:
        """Means over equal stretches, at most so many; a stretch is named by its first time."""
        if len(self.times) <= points:
            return self
        first = np.linspace(0, len(self.times), points, endpoint=False).astype(np.int64)
        return Signals(self.times[first], *(_means(values, first) for values in self.columns))

    def extremes(self, points: int) -> Signals:
        """The lowest and the highest of equal stretches, so that no peak is lost in a plot.

        Each stretch has two points, in the order in which its extremes came, at its first and its
        middle time; where they came exactly differs from column to column.
        """
        if len(self.times) <= points:
            return self
        width = -(-len(self.times) // (points // 2))
        first = np.arange(0, len(self.times), width)
        middle = np.minimum(first + width // 2, len(self.times) - 1)
        times = np.column_stack([self.times[first], self.times[middle]]).ravel()
        ascending = np.diff(times, prepend=times[0] - 1) > 0  # the last may stand alone
        return Signals(
            times[ascending], *(_extremes(values, width)[ascending] for values in self.columns)
        )


def signals_of(store: Store, entity: Entity, *, start: int, end: int) -> Signals:
    """Everything known about an entity with start <= time < end."""
    times, forecast, reconstruction = _said(
        store.signals(entity.zone, start=start, end=end), entity.number
    )
    readings = store.readings(entity.number, start=start, end=end)
    within = (times >= start) & (times < end)
    every = np.union1d(times[within], readings.times)
    measured = _placed(every, *_believed(readings))
    said = _placed(every, times[within], forecast[within])
    return Signals(
        times=every,
        measured=measured,
        forecast=said,
        error=np.abs(said - measured),
        reconstruction=_placed(every, times[within], reconstruction[within]),
    )


def _believed(readings: Series) -> tuple[Times, Float64Array]:
    usable = np.isin(readings.flags, [Flag.ACCEPTED, Flag.RELEASED, Flag.LATE])
    return readings.times[usable], readings.values[usable]


def _said(days: Sequence[SignalDay], number: int) -> tuple[Times, Float64Array, Float64Array]:
    """Times (n), forecasts of the entity (n) and reconstruction errors (n) of several days."""
    parts = [_day(day, number) for day in days]
    nothing = np.empty(0, np.int64), np.empty(0), np.empty(0)
    times, forecasts, errors = zip(*parts, strict=True) if parts else ((a,) for a in nothing)
    return np.concatenate(times), np.concatenate(forecasts), np.concatenate(errors)


def _day(day: SignalDay, number: int) -> tuple[Times, Float64Array, Float64Array]:
    content = unpack(day.content)
    times = content["times"]
    own = np.flatnonzero(content["entities"] == number)
    # An entity that began to learn later has no column on this day.
    forecast = content["forecast"][:, own[0]] if len(own) else np.full(len(times), np.nan)
    return times, forecast.astype(np.float64), content["reconstruction"].astype(np.float64)


def _placed(every: Times, times: Times, values: Float64Array) -> Float64Array:
    placed = np.full(len(every), np.nan)
    placed[np.searchsorted(every, times)] = values
    return placed


def _means(values: Float64Array, first: Times) -> Float64Array:
    known = np.isfinite(values)
    counts = np.add.reduceat(known.astype(np.int64), first)
    sums = np.add.reduceat(np.where(known, values, 0.0), first)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _extremes(values: Float64Array, width: int) -> Float64Array:
    """The lowest and highest of each so many values, in their order; NaN where none is known."""
    table = np.full((-(-len(values) // width), width), np.nan)
    table.ravel()[: len(values)] = values
    lowest = np.where(np.isnan(table), np.inf, table).argmin(axis=1)
    highest = np.where(np.isnan(table), -np.inf, table).argmax(axis=1)
    order = np.sort(np.column_stack([lowest, highest]), axis=1)
    found: Float64Array = np.take_along_axis(table, order, axis=1).ravel()
    return found
