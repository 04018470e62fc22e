"""Errors, skill and coverage of a zone's forecasts by how far ahead they were made."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearwatt.arrays import BoolArray, Float32Array, Float64Array
from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.intervals import move_quantiles
from clearwatt.service.leads import LeadQuality, reported_leads
from clearwatt.service.learner.apply.intervals import ZoneIntervals
from clearwatt.service.learner.apply.live import LiveForecasts
from clearwatt.service.learner.apply.persistence import repeat_last_day, values_at
from clearwatt.service.learner.apply.two_weeks import TwoWeeks
from clearwatt.service.times import Times

QUANTITIES = 6
"""Of a lead: steps compared, squared errors of the forecasts, of the last reading and of the last
day, readings with an interval, readings inside it."""
DIGITS = 5
"""Significant digits of what is reported; the status of a zone is written often."""


class LeadRows(NamedTuple):
    """Scaled forecasts of whole days for each of `b` reported leads.

    ``times`` (n); ``power`` and ``spread`` (b x n x entities); ``day_ahead`` (n x entities) are the
    forecasts that intervals were given for. A forecast knows readings up to the lead and ``delay``
    seconds, the reporting delay, before its time. ``ends`` (b x n x entities x 2) are those of the
    interval of each lead; None: that of a day ahead, narrower by the spread.
    """

    times: Times
    power: Float64Array
    day_ahead: Float64Array
    spread: Float64Array
    delay: int = 0
    ends: Float64Array | None = None

    def part(self, rows: BoolArray) -> LeadRows:
        """Some of the rows."""
        return self._replace(
            times=self.times[rows],
            power=self.power[:, rows],
            day_ahead=self.day_ahead[rows],
            spread=self.spread[:, rows],
            ends=None if self.ends is None else self.ends[:, rows],
        )


class ErrorsByLead:
    """Daily sums by lead over two weeks; each day is added at once, when it has ended.

    So they do not depend on how the stream was cut, and their size is bounded.
    """

    def __init__(self, step: int) -> None:
        self.leads = reported_leads(step)
        self.weeks = TwoWeeks(QUANTITIES * len(self.leads), fails=_never)
        self._reported: list[tuple[LeadQuality, ...]] = []
        self._reported_total: Float64Array | None = None

    def add_rows(
        self, rows: LeadRows, live: LiveForecasts, intervals: ZoneIntervals, sizes: Float64Array
    ) -> None:
        """Add days whose forecasts are known by lead; ``sizes`` (entities) is their scale."""
        days = rows.times // SECONDS_PER_DAY * SECONDS_PER_DAY
        for day in np.unique(days):
            own = rows.part(np.asarray(days == day, np.bool_))
            self.weeks.add(int(day), self._sums(own, live, intervals, sizes))

    def close_day(
        self,
        day: int,
        live: LiveForecasts,
        intervals: ZoneIntervals,
        sizes: Float64Array,
        *,
        delay: int = 0,
    ) -> None:
        """Add a day of forecasts that are the same for each lead, unless it has been added.

        ``delay`` is the reporting delay in seconds.
        """
        inside = slice(*np.searchsorted(live.times, [day, day + SECONDS_PER_DAY]))
        if day in self.weeks.sums or inside.start == inside.stop:
            return
        forecasts = live.forecasts[inside] / sizes
        each = np.broadcast_to(forecasts, (len(self.leads), *forecasts.shape))
        rows = LeadRows(live.times[inside], each, forecasts, np.ones_like(each), delay)
        self.add_rows(rows, live, intervals, sizes)

    def quality_of(self, column: int) -> tuple[LeadQuality, ...]:
        """What is reported of an entity; empty before the first midnight."""
        if self._reported_total is not self.weeks.total:
            totals = self.weeks.total.reshape(-1, len(self.leads), QUANTITIES).tolist()
            self._reported = [tuple(map(_quality, self.leads, own)) for own in totals]
            self._reported_total = self.weeks.total
        found = self._reported[column]
        return found if any(each.n for each in found) else ()

    def _sums(
        self, rows: LeadRows, live: LiveForecasts, intervals: ZoneIntervals, sizes: Float64Array
    ) -> Float64Array:
        """Sums of each entity (entities x quantities of all leads)."""
        readings = values_at(rows.times, live.times, live.readings).astype(np.float64)
        given = rows.ends if rows.ends is not None else _moved_ends(rows, intervals)
        sums = []
        for lead, power, ends in zip(self.leads, rows.power, given, strict=True):
            known = lead + rows.delay
            last = values_at(rows.times - known, live.times, live.readings)
            day = repeat_last_day(rows.times, live.times, live.readings, delay=known)
            forecasts = (power * sizes).astype(np.float32)
            sums += _errors(readings, [forecasts, last, day])
            sums += _coverage(readings / sizes, ends)
        return np.stack(sums, axis=1)


def _moved_ends(rows: LeadRows, intervals: ZoneIntervals) -> list[Float64Array]:
    """Ends of the interval of a day ahead around the forecasts of each lead, narrower."""
    ends, limits = intervals.ends_at(rows.times), intervals.limits
    return [
        move_quantiles(ends, rows.day_ahead, power, spread, limits)
        for power, spread in zip(rows.power, rows.spread, strict=True)
    ]


def _errors(readings: Float64Array, forecasts: list[Float32Array]) -> list[Float64Array]:
    """Number of steps that all forecast, and the squared errors of each (entities)."""
    squares = [(each - readings) ** 2 for each in forecasts]
    compared = np.isfinite(squares).all(axis=0)
    sums = [np.where(compared, each, 0.0).sum(axis=0) for each in squares]
    return [compared.sum(axis=0).astype(np.float64), *sums]


def _coverage(scaled: Float64Array, ends: Float64Array) -> list[Float64Array]:
    """Number of readings (n x entities) with an interval (ends: n x entities x 2), and inside."""
    low, high = np.moveaxis(ends, 2, 0)
    known = np.isfinite(scaled) & np.isfinite(low)
    inside = known & (scaled >= low) & (scaled <= high)
    return [each.sum(axis=0).astype(np.float64) for each in (known, inside)]


def _quality(lead: int, sums: list[float]) -> LeadQuality:
    compared, squares, last, day, known, inside = sums
    if not compared:
        return LeadQuality(lead)
    rmse, reference = (_rounded((each / compared) ** 0.5) for each in (squares, min(last, day)))
    return LeadQuality(
        lead, int(compared), rmse, reference, _rounded(inside / known) if known else None
    )


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _never(sums: Float64Array) -> BoolArray:
    """No entity fails: errors by lead are shown, alerts are about live forecasts."""
    return np.zeros(len(sums), np.bool_)
