"""What a zone's models said of an entity, beside what was measured, in as many points as wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load as unpack

from clearwatt.service.records import Entity, Flag, SignalDay
from clearwatt.service.store.base import Series, Store

Times = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Signals:
    """Times (n) and beside them, NaN where there is nothing, readings, forecasts and errors."""

    times: Times
    measured: Floats
    forecast: Floats
    error: Floats
    reconstruction: Floats

    def thinned(self, points: int) -> Signals:
        """Means over equal stretches, at most so many; a stretch is named by its first time."""
        if len(self.times) <= points:
            return self
        first = np.linspace(0, len(self.times), points, endpoint=False).astype(np.int64)
        return Signals(
            self.times[first],
            *(
                _means(values, first)
                for values in (self.measured, self.forecast, self.error, self.reconstruction)
            ),
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


def _believed(readings: Series) -> tuple[Times, Floats]:
    usable = np.isin(readings.flags, [Flag.ACCEPTED, Flag.RELEASED, Flag.LATE])
    return readings.times[usable], readings.values[usable]


def _said(days: Sequence[SignalDay], number: int) -> tuple[Times, Floats, Floats]:
    """Times (n), forecasts of the entity (n) and reconstruction errors (n) of several days."""
    parts = [_day(day, number) for day in days]
    nothing = np.empty(0, np.int64), np.empty(0), np.empty(0)
    times, forecasts, errors = zip(*parts, strict=True) if parts else ((a,) for a in nothing)
    return np.concatenate(times), np.concatenate(forecasts), np.concatenate(errors)


def _day(day: SignalDay, number: int) -> tuple[Times, Floats, Floats]:
    content = unpack(day.content)
    times = content["times"]
    own = np.flatnonzero(content["entities"] == number)
    # An entity that began to learn later has no column on this day.
    forecast = content["forecast"][:, own[0]] if len(own) else np.full(len(times), np.nan)
    return times, forecast.astype(np.float64), content["reconstruction"].astype(np.float64)


def _placed(every: Times, times: Times, values: Floats) -> Floats:
    placed = np.full(len(every), np.nan)
    placed[np.searchsorted(every, times)] = values
    return placed


def _means(values: Floats, first: Times) -> Floats:
    known = np.isfinite(values)
    counts = np.add.reduceat(known.astype(np.int64), first)
    sums = np.add.reduceat(np.where(known, values, 0.0), first)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
