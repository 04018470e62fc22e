"""Checks of readings, one function per fault; each returns a boolean per reading.

All arrays are ``entities x n`` with time last, so that runs lie in contiguous memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd
from numpy.lib.stride_tricks import sliding_window_view

from clearwatt.arrays import BoolArray, Float32Array
from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.data.quality_rules import QualityRules, ReadingLimits
from clearwatt.data.schema import Entity, Kind
from clearwatt.errors import DataError

IntArray = npt.NDArray[np.int32]

# The least number of past days that a verdict may be based on.
_FEWEST_DAYS = 7
# The size of an entity without rated capacity: a quantile of recent daily peaks, with a margin.
_UNRATED_QUANTILE = 0.9
_UNRATED_MARGIN = 1.5


@dataclass(frozen=True, eq=False)
class PowerReadings:
    """Power (``entities x n``) with the entities and rules of the checks."""

    values: Float32Array
    entities: tuple[Entity, ...]
    rules: QualityRules
    step: pd.Timedelta
    day: IntArray

    @classmethod
    def of(
        cls, power: pd.DataFrame, entities: tuple[Entity, ...], rules: QualityRules
    ) -> PowerReadings:
        """The readings of a frame; ``day`` numbers the UTC day of each step from 0."""
        times = pd.DatetimeIndex(power.index)
        if times.tz is None:
            raise DataError("readings carry no time zone; use a DatetimeIndex in UTC")
        values = np.ascontiguousarray(power.to_numpy(dtype=np.float32).T)
        days = times.tz_convert("UTC").as_unit("s").asi8 // SECONDS_PER_DAY
        step = times[1] - times[0] if len(times) > 1 else pd.Timedelta(hours=1)
        return cls(values, entities, rules, step, (days - days[0]).astype(np.int32))

    def limit(self, of: Callable[[ReadingLimits], float]) -> Float32Array:
        """One limit of each entity, ``entities x 1``."""
        values = [of(self.rules.limits(entity)) for entity in self.entities]
        return np.array(values, dtype=np.float32)[:, None]

    def steps(self, of: Callable[[ReadingLimits], float]) -> IntArray:
        """A limit in hours as a number of readings, at least one, ``entities x 1``."""
        per_hour = pd.Timedelta(hours=1) / self.step
        return np.array(np.ceil(self.limit(of) * per_hour).clip(1), dtype=np.int32)

    @cached_property
    def peaks(self) -> Float32Array:
        """The highest power of each day, ``entities x days``."""
        return self.daily_peak(np.abs(self.values))

    @cached_property
    def size(self) -> Float32Array:
        """Reference power of each day, ``entities x days``: capacity, or recent peaks, or NaN."""
        rated = np.array([entity.capacity or np.nan for entity in self.entities], dtype=np.float32)
        size = np.repeat(rated[:, None], self.peaks.shape[1], axis=1)
        unrated = np.isnan(rated)
        if unrated.any():
            peaks = self.past_quantile(self.peaks[unrated], _UNRATED_QUANTILE, fewest=_FEWEST_DAYS)
            size[unrated] = np.where(peaks > 0, _UNRATED_MARGIN * peaks, np.nan)
        return size

    def repeat_daily(self, daily: Float32Array) -> Float32Array:
        """A value per day repeated for the readings of the day."""
        return daily[:, self.day]

    def daily_peak(self, values: Float32Array) -> Float32Array:
        """The largest reading of each day, ``entities x days``; NaN without any."""
        starts = np.searchsorted(self.day, np.arange(self.day[-1] + 1))
        return np.fmax.reduceat(values, starts, axis=1)

    def past_quantile(
        self, daily: Float32Array, quantile: float, *, fewest: int = 1
    ) -> Float32Array:
        """A quantile over the days before each day, excluding the day itself.

        Days without a value are skipped; NaN where fewer than ``fewest`` have one.
        """
        span = self.rules.typical_days
        before = np.pad(daily[:, :-1], ((0, 0), (span, 0)), constant_values=np.nan)
        ranked = np.sort(sliding_window_view(before, span, axis=1), axis=-1)
        known = np.isfinite(ranked).sum(axis=-1)
        rank = np.rint(quantile * np.maximum(known - 1, 0)).astype(np.intp)
        taken = np.take_along_axis(ranked, rank[..., None], axis=-1)[..., 0]
        return np.where(known >= fewest, taken, np.float32(np.nan))


def usual_power(times: npt.NDArray[np.int64], values: npt.NDArray[np.float64]) -> float | None:
    """Size of an entity without rated capacity, from readings (n) at times (n, seconds, ascending).

    A quantile of the daily peaks with a margin; None if there are too few days.
    """
    days, starts = np.unique(times // SECONDS_PER_DAY, return_index=True)
    if len(days) < _FEWEST_DAYS:
        return None
    peaks = np.maximum.reduceat(np.abs(values), starts)
    return _UNRATED_MARGIN * float(np.quantile(peaks, _UNRATED_QUANTILE, method="nearest"))


def run_lengths(mask: BoolArray) -> tuple[IntArray, IntArray]:
    """Positions and lengths of runs along time.

    Returns:
        For every reading its position in its run (from 1) and the run's length; both 0 outside.
    """
    index = np.arange(mask.shape[1], dtype=np.int32)
    before = np.maximum.accumulate(np.where(mask, np.int32(-1), index), axis=1)
    after = np.where(mask, np.int32(mask.shape[1]), index)[:, ::-1]
    after = np.minimum.accumulate(after, axis=1)[:, ::-1]
    position = np.where(mask, index - before, 0)
    return position, np.where(mask, after - before - 1, 0)


def out_of_range(readings: PowerReadings) -> BoolArray:
    """Flag power beyond the limits of the entity."""
    size = readings.size
    low = readings.repeat_daily(size * readings.limit(lambda limits: limits.low))
    high = readings.repeat_daily(size * readings.limit(lambda limits: limits.high))
    return (readings.values < low) | (readings.values > high)


def spikes(readings: PowerReadings) -> BoolArray:
    """Flag short excursions that are far larger than those of a typical day."""
    excursion = _excursions(readings.values, readings.rules.spike_readings)
    # NaN on the first day, which has no history to compare with.
    typical = readings.past_quantile(readings.daily_peak(excursion), 0.5)
    floor = readings.size * readings.limit(lambda limits: limits.spike_floor)
    typical = typical * readings.limit(lambda limits: limits.spike_factor)
    return excursion > readings.repeat_daily(np.maximum(typical, floor))


def _excursions(values: Float32Array, longest: int) -> Float32Array:
    """The distance of each reading from both a reading before and one after it."""
    count = values.shape[1]
    best = np.full_like(values, np.nan)
    for before in range(1, longest + 1):
        for after in range(1, longest + 2 - before):
            if count <= before + after:
                continue
            middle = values[:, before : count - after]
            left = middle - values[:, : count - after - before]
            right = middle - values[:, before + after :]
            out = np.maximum(np.minimum(left, right), np.minimum(-left, -right))
            part = best[:, before : count - after]
            np.fmax(part, out, out=part)
    return best


def flatlines(readings: PowerReadings) -> BoolArray:
    """Flag all repetitions of a value that repeats for too long to be a measurement."""
    values = readings.values
    tolerance = readings.repeat_daily(
        np.nan_to_num(readings.size) * np.float32(readings.rules.same)
    )
    repeats = np.zeros(values.shape, dtype=np.bool_)
    repeats[:, 1:] = np.abs(np.diff(values, axis=1)) <= tolerance[:, 1:]
    # A run of repetitions is one shorter than the run of equal values it continues.
    inside = repeats.copy()
    inside[:, :-1] |= repeats[:, 1:]
    _, length = run_lengths(repeats)
    length[:, :-1] = np.maximum(length[:, :-1], np.where(repeats[:, :-1], 0, length[:, 1:]))
    enough = readings.steps(lambda limits: limits.flat_hours)
    enough = np.maximum(enough, readings.rules.fewest_readings)
    return inside & (length + 1 >= enough) & ~_may_be_flat(readings)


def _may_be_flat(readings: PowerReadings) -> BoolArray:
    """Mark power that may be constant: zero, idle, or the plant's maximum."""
    power = np.abs(readings.values)
    size = np.nan_to_num(readings.size)
    idle = readings.limit(lambda limits: max(limits.flat_above, readings.rules.zero))
    margin = readings.limit(lambda limits: np.nan if limits.ceiling is None else limits.ceiling)
    recent = np.nan_to_num(readings.past_quantile(readings.peaks, 1.0))
    top = np.where(recent > 0, np.minimum(recent, size), size) * (1 - margin)
    return (power <= readings.repeat_daily(size * idle)) | (power >= readings.repeat_daily(top))


def stuck_at_zero(readings: PowerReadings) -> BoolArray:
    """Flag zeros while the neighbours run, up to the duration of an outage."""
    rules = readings.rules
    size = readings.repeat_daily(np.nan_to_num(readings.size))
    zero = np.abs(readings.values) <= size * np.float32(rules.zero)
    position, length = run_lengths(zero)
    enough = readings.steps(lambda limits: limits.zero_hours)
    outage = readings.steps(lambda _: rules.outage_hours)
    suspicious = zero & (length >= enough) & (position <= outage)
    running = _neighbours_mean(readings) >= readings.limit(lambda limits: limits.neighbours)
    return suspicious & (running | _verdict_of_run(_never_zero(readings, zero), position))


def _never_zero(readings: PowerReadings, zero: BoolArray) -> BoolArray:
    """Mark entities without a zero in the last weeks; they need no neighbour for a verdict."""
    known = np.array([[_neighbourhood(entity) is not None] for entity in readings.entities])
    zeros = np.where(np.isnan(readings.values), np.float32(np.nan), zero)
    before = readings.past_quantile(readings.daily_peak(zeros), 1.0, fewest=_FEWEST_DAYS)
    never: BoolArray = known & (before == 0)
    return never[:, readings.day]


def _verdict_of_run(verdict: BoolArray, position: IntArray) -> BoolArray:
    """The verdict on the first reading of each run, for all of its readings."""
    first = np.arange(verdict.shape[1], dtype=np.int32) - np.maximum(position - 1, 0)
    return np.take_along_axis(verdict, first, axis=1)


def _neighbours_mean(readings: PowerReadings) -> Float32Array:
    """The mean utilisation of each entity's neighbours at the same time; NaN without any."""
    mean = np.full_like(readings.values, np.nan)
    groups: dict[tuple[str, ...], list[int]] = {}
    for at, entity in enumerate(readings.entities):
        group = _neighbourhood(entity)
        if group is not None:
            groups.setdefault(group, []).append(at)
    for members in groups.values():
        use = np.abs(readings.values[members]) / readings.repeat_daily(readings.size[members])
        # The spike of one neighbour must not dominate the mean.
        use = np.minimum(use, 1)
        known = np.isfinite(use)
        use = np.where(known, use, 0)
        others = known.sum(axis=0) - known
        total = use.sum(axis=0) - use
        mean[members] = np.where(others > 0, total / np.maximum(others, 1), np.nan)
    return mean


def _neighbourhood(entity: Entity) -> tuple[str, ...] | None:
    """The key of similar entities: all demand of a zone, or plants of one technology in it.

    ``None`` for a plant of unknown technology: at night PV is zero while wind farms run.
    """
    if entity.kind is not Kind.GENERATOR:
        return (entity.zone, entity.kind.value)
    return (entity.zone, entity.subtype) if entity.subtype else None
