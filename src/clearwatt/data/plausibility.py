"""One function per way a reading can be wrong: arrays in, a boolean per reading out.

All arrays are ``entities x n``, time last, so that runs are followed along contiguous memory.
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
from clearwatt.data.limits import Limits, QualityRules, subtype
from clearwatt.data.schema import Entity, Kind
from clearwatt.errors import DataError

IntArray = npt.NDArray[np.int32]

# Less than this is no history to judge by.
_FEWEST_DAYS = 7
# An entity without rated capacity is judged by its recent daily peaks, generously.
_UNRATED_QUANTILE = 0.9
_UNRATED_MARGIN = 1.5


@dataclass(frozen=True, eq=False)
class Readings:
    """Power (``entities x n``) with what the checks need to know about it."""

    values: Float32Array
    entities: tuple[Entity, ...]
    rules: QualityRules
    step: pd.Timedelta
    day: IntArray

    @classmethod
    def of(cls, power: pd.DataFrame, entities: tuple[Entity, ...], rules: QualityRules) -> Readings:
        """Arrange a frame of readings; ``day`` numbers the UTC day of each step from 0."""
        times = pd.DatetimeIndex(power.index)
        if times.tz is None:
            raise DataError("readings carry no time zone; use a DatetimeIndex in UTC")
        values = np.ascontiguousarray(power.to_numpy(dtype=np.float32).T)
        days = times.tz_convert("UTC").as_unit("s").asi8 // 86_400
        step = times[1] - times[0] if len(times) > 1 else pd.Timedelta(hours=1)
        return cls(values, entities, rules, step, (days - days[0]).astype(np.int32))

    def limit(self, of: Callable[[Limits], float]) -> Float32Array:
        """Give one limit as a column, ``entities x 1``."""
        values = [of(self.rules.limits(entity)) for entity in self.entities]
        return np.array(values, dtype=np.float32)[:, None]

    def steps(self, of: Callable[[Limits], float]) -> IntArray:
        """Turn a limit in hours into a number of readings, at least one, ``entities x 1``."""
        per_hour = pd.Timedelta(hours=1) / self.step
        return np.array(np.ceil(self.limit(of) * per_hour).clip(1), dtype=np.int32)

    @cached_property
    def peaks(self) -> Float32Array:
        """The highest power of each day, ``entities x days``."""
        return self.daily_peak(np.abs(self.values))

    @cached_property
    def size(self) -> Float32Array:
        """What 1 means on each day, ``entities x days``: capacity, or recent peaks, or NaN."""
        rated = np.array([entity.capacity or np.nan for entity in self.entities], dtype=np.float32)
        size = np.repeat(rated[:, None], self.peaks.shape[1], axis=1)
        unrated = np.isnan(rated)
        if unrated.any():
            peaks = self.past(self.peaks[unrated], _UNRATED_QUANTILE, fewest=_FEWEST_DAYS)
            size[unrated] = np.where(peaks > 0, _UNRATED_MARGIN * peaks, np.nan)
        return size

    def each(self, daily: Float32Array) -> Float32Array:
        """Spread a value per day over the readings of the day."""
        return daily[:, self.day]

    def daily_peak(self, values: Float32Array) -> Float32Array:
        """Reduce readings to the largest of each day, ``entities x days``; NaN without any."""
        starts = np.searchsorted(self.day, np.arange(self.day[-1] + 1))
        return np.fmax.reduceat(values, starts, axis=1)

    def past(self, daily: Float32Array, quantile: float, *, fewest: int = 1) -> Float32Array:
        """Take a quantile over the days before each day, so that no day judges itself.

        Days without a value are passed over; NaN where fewer than ``fewest`` have one.
        """
        span = self.rules.typical_days
        before = np.pad(daily[:, :-1], ((0, 0), (span, 0)), constant_values=np.nan)
        ranked = np.sort(sliding_window_view(before, span, axis=1), axis=-1)
        known = np.isfinite(ranked).sum(axis=-1)
        rank = np.rint(quantile * np.maximum(known - 1, 0)).astype(np.intp)
        taken = np.take_along_axis(ranked, rank[..., None], axis=-1)[..., 0]
        return np.where(known >= fewest, taken, np.float32(np.nan))


def run_lengths(member: BoolArray) -> tuple[IntArray, IntArray]:
    """Measure runs along time.

    Returns:
        For every reading its position in its run (from 1) and the run's length; both 0 outside.
    """
    index = np.arange(member.shape[1], dtype=np.int32)
    before = np.maximum.accumulate(np.where(member, np.int32(-1), index), axis=1)
    after = np.where(member, np.int32(member.shape[1]), index)[:, ::-1]
    after = np.minimum.accumulate(after, axis=1)[:, ::-1]
    position = np.where(member, index - before, 0)
    return position, np.where(member, after - before - 1, 0)


def out_of_range(readings: Readings) -> BoolArray:
    """Flag power beyond what the entity can deliver or draw."""
    size = readings.size
    low = readings.each(size * readings.limit(lambda limits: limits.low))
    high = readings.each(size * readings.limit(lambda limits: limits.high))
    return (readings.values < low) | (readings.values > high)


def spikes(readings: Readings) -> BoolArray:
    """Flag short excursions that return and are far larger than those of an ordinary day."""
    excursion = _excursions(readings.values, readings.rules.spike_readings)
    # NaN on the first day: without any history nothing is known to be unusual.
    usual = readings.past(readings.daily_peak(excursion), 0.5)
    floor = readings.size * readings.limit(lambda limits: limits.spike_floor)
    usual = usual * readings.limit(lambda limits: limits.spike_factor)
    return excursion > readings.each(np.maximum(usual, floor))


def _excursions(values: Float32Array, longest: int) -> Float32Array:
    """Measure how far each reading sticks out from both a reading before and one after it."""
    count = values.shape[1]
    best = np.full_like(values, np.nan)
    for before in range(1, longest + 1):
        for after in range(1, longest + 2 - before):
            if count <= before + after:
                continue
            here = values[:, before : count - after]
            left = here - values[:, : count - after - before]
            right = here - values[:, before + after :]
            out = np.maximum(np.minimum(left, right), np.minimum(-left, -right))
            part = best[:, before : count - after]
            np.fmax(part, out, out=part)
    return best


def flatlines(readings: Readings) -> BoolArray:
    """Flag values that repeat for too long to be measured, all repetitions of them."""
    values = readings.values
    tolerance = readings.each(np.nan_to_num(readings.size) * np.float32(readings.rules.same))
    repeats = np.zeros(values.shape, dtype=np.bool_)
    repeats[:, 1:] = np.abs(np.diff(values, axis=1)) <= tolerance[:, 1:]
    # A run of repetitions is one shorter than the run of equal values it continues.
    inside = repeats.copy()
    inside[:, :-1] |= repeats[:, 1:]
    _, length = run_lengths(repeats)
    length[:, :-1] = np.maximum(length[:, :-1], np.where(repeats[:, :-1], 0, length[:, 1:]))
    enough = readings.steps(lambda limits: limits.flat_hours)
    enough = np.maximum(enough, readings.rules.fewest_readings)
    return inside & (length + 1 >= enough) & ~_rightly_flat(readings)


def _rightly_flat(readings: Readings) -> BoolArray:
    """Mark power at which standing still is ordinary: zero, idle, or the plant's ceiling."""
    power = np.abs(readings.values)
    size = np.nan_to_num(readings.size)
    idle = readings.limit(lambda limits: max(limits.flat_above, readings.rules.zero))
    margin = readings.limit(lambda limits: np.nan if limits.ceiling is None else limits.ceiling)
    recent = np.nan_to_num(readings.past(readings.peaks, 1.0))
    top = np.where(recent > 0, np.minimum(recent, size), size) * (1 - margin)
    return (power <= readings.each(size * idle)) | (power >= readings.each(top))


def stuck_at_zero(readings: Readings) -> BoolArray:
    """Flag zeros while the neighbours run, until they have lasted so long that they are real."""
    rules = readings.rules
    size = readings.each(np.nan_to_num(readings.size))
    zero = np.abs(readings.values) <= size * np.float32(rules.zero)
    position, length = run_lengths(zero)
    enough = readings.steps(lambda limits: limits.zero_hours)
    believed = readings.steps(lambda _: rules.believe_zero_hours)
    suspicious = zero & (length >= enough) & (position <= believed)
    running = _neighbours_mean(readings) >= readings.limit(lambda limits: limits.neighbours)
    return suspicious & (running | _from_first(_never_rests(readings, zero), position))


def _never_rests(readings: Readings, zero: BoolArray) -> BoolArray:
    """Mark entities that read zero at no time of the last weeks: they need no neighbour."""
    known = np.array([[_neighbourhood(entity) is not None] for entity in readings.entities])
    rested = np.where(np.isnan(readings.values), np.float32(np.nan), zero)
    before = readings.past(readings.daily_peak(rested), 1.0, fewest=_FEWEST_DAYS)
    never: BoolArray = known & (before == 0)
    return never[:, readings.day]


def _from_first(verdict: BoolArray, position: IntArray) -> BoolArray:
    """Give every reading of a run the verdict on its first, though midnight may lie between."""
    first = np.arange(verdict.shape[1], dtype=np.int32) - np.maximum(position - 1, 0)
    return np.take_along_axis(verdict, first, axis=1)


def _neighbours_mean(readings: Readings) -> Float32Array:
    """Average the utilisation of each entity's neighbours at the same time; NaN without any."""
    mean = np.full_like(readings.values, np.nan)
    groups: dict[tuple[str, ...], list[int]] = {}
    for at, entity in enumerate(readings.entities):
        group = _neighbourhood(entity)
        if group is not None:
            groups.setdefault(group, []).append(at)
    for members in groups.values():
        use = np.abs(readings.values[members]) / readings.each(readings.size[members])
        # One neighbour's own spike must not speak for all of them.
        use = np.minimum(use, 1)
        known = np.isfinite(use)
        use = np.where(known, use, 0)
        others = known.sum(axis=0) - known
        total = use.sum(axis=0) - use
        mean[members] = np.where(others > 0, total / np.maximum(others, 1), np.nan)
    return mean


def _neighbourhood(entity: Entity) -> tuple[str, ...] | None:
    """Say whom an entity resembles: demand all demand of its zone, a plant only its like.

    A plant of unknown technology resembles none: photovoltaics rest at night while wind blows.
    """
    if entity.kind is not Kind.GENERATOR:
        return (entity.zone, entity.kind.value)
    return (entity.zone, subtype(entity)) if subtype(entity) else None
