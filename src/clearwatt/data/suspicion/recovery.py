"""When a lie has ended, and which readings are right again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearwatt.arrays import BoolArray, Float64Array
from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.data.suspicion.copies import NOTHING, count_copied, is_copy
from clearwatt.data.suspicion.lies import Lie
from clearwatt.data.suspicion.patterns import is_spike, repetitions
from clearwatt.data.suspicion.rules import Health
from clearwatt.data.suspicion.statistics import LEAST_SHARE, SAME

_SMALL = 2.0
"""Squared error, in units of the usual one, below which a reading counts for the repair."""
_LARGEST = 25.0
_BEYOND = 2.0
"""Readings above the largest trusted one times this, in some unit, are in a larger one."""
_NEGATIVE = 0.02
"""Negative readings beyond this share of the largest trusted one have the wrong sign."""
_POSITIVE = 0.05
"""Readings beyond this share of the largest trusted one have the right sign."""
_EXCEEDS = 1.01
"""A reading above a cut times this is not cut off."""
_FEWEST = 2
"""Readings that prove that a lie has ended; one may be wrong for itself."""
_SMALL_UNIT = -2
"""Power of ten of the largest of the units that are too small. On calm days a hundredth may look
like a thousandth, so both end by readings that are too large for a hundredth."""
_MOVES = 0.25
"""Variance of a day, in shares of the usual one, of a meter that is not stuck."""
_AWAY = 6.0
"""Readings that differ from those of a stuck meter by more than so many of its deviations are not
of it."""
_RARE_JUMP = 0.99
"""Quantile of the jumps on trusted days that a jump of noise exceeds."""
_TURNED_DAYS = 0.5
"""Days of readings that prove that a lie has ended which only the expectation excludes."""
_NEARER = 0.25
"""Their largest squared error, as a share of that if the lie still went on."""
_RUNS = 0.2
"""Least share of a day's readings other than zero, to tell whether they are copies or jump."""
_COPIED = 0.75
"""Share of these that are copies on a day that repeats another, the last one maybe in part."""
_DISTINCT = 0.5
"""Share of readings that another one of the day equals, below which values are not few."""


class Past(NamedTuple):
    """Readings of a meter on trusted days (h x n) and on the last ones (k x n); NaN: none."""

    trusted: Float64Array
    last: Float64Array

    @property
    def days(self) -> Float64Array:
        """All of these days, `h + k x n`."""
        return np.concatenate([self.trusted, self.last])

    @property
    def range(self) -> Float64Array:
        """Lowest and highest trusted reading."""
        return np.array([np.nanmin(self.trusted), np.nanmax(self.trusted)])

    @property
    def peak(self) -> float:
        """Largest trusted reading, of either sign."""
        return float(np.nanmax(np.abs(self.trusted), initial=0))


class Suspect(NamedTuple):
    """A suspected meter on the day that is judged.

    Args:
        lie: The kind that it is suspected of.
        size: Power of ten of a unit, or value that is never exceeded.
        since: Time of the first wrong reading.
        power: Readings of the last days and of this one, `k n`; NaN: none.
        expected: What was expected, `k n`.
        past: Readings of earlier days.
        loose: Whether it does not follow weather and hour on most days anyway.
        end: End of the day.
        step: Seconds between readings.
    """

    lie: Lie
    size: float
    since: int
    power: Float64Array
    expected: Float64Array
    past: Past
    loose: bool
    end: int
    step: int

    @property
    def rows(self) -> int:
        """Readings of a day."""
        return SECONDS_PER_DAY // self.step

    @property
    def today(self) -> Float64Array:
        """Readings of the day, `n`."""
        return self.power[-self.rows :]

    @property
    def _is_too_large(self) -> bool:
        """Whether readings are in a unit that makes them too large."""
        return self.lie is Lie.UNIT and self.size > 0

    @property
    def undone(self) -> Float64Array | None:
        """Readings as they would be if the lie still went on, `k n`; None: it cannot be undone.

        Only of lies that nothing but the expectation excludes.
        """
        if self._is_too_large:
            return np.asarray(self.power / 10.0**self.size, np.float64)
        if self.lie is Lie.OPPOSITE and self.loose:
            return np.asarray(self.past.range.sum() - self.power, np.float64)
        if self.lie is Lie.SHIFT:
            return _moved(self.power, -round(self.size * self.rows / 24))
        return None

    @property
    def rows_since_turn(self) -> int:
        """Number of newest readings that are nearer to the expectation than undone, all in all."""
        if self.undone is None:
            return 0
        gains = np.square(self.undone - self.expected) - np.square(self.power - self.expected)
        lying = (self.end - self.since) // self.step
        total = np.cumsum(np.nan_to_num(gains[::-1][:lying]))
        best = int(total.argmax())
        return best + 1 if total[best] > 0 else 0

    @property
    def has_turned(self) -> bool:
        """Whether half a day or more of readings is far nearer to the expectation than undone.

        Before them it must have been the other way round: another lie looks different.
        """
        count = self.rows_since_turn
        since = slice(-min(count, self.rows), None)
        before = slice(max(0, len(self.power) - (self.end - self.since) // self.step), -count)
        return (
            count >= _TURNED_DAYS * self.rows
            and self._undone_error(since) * _NEARER > 1
            and self._undone_error(before) < _NEARER
        )

    def _undone_error(self, rows: slice) -> float:
        """Squared error of undone readings, as a multiple of that of the readings as they are."""
        assert self.undone is not None
        wrong, right = (
            np.square(values[rows] - self.expected[rows]) for values in (self.undone, self.power)
        )
        known = np.isfinite(wrong) & np.isfinite(right)
        return float(wrong[known].sum() / max(float(right[known].sum()), 1e-12))

    def health(self, day: Health) -> Health:
        """How the day looks, by what the lie excludes and else by what was expected."""
        lie, well, sure = self.lie, day.well, day.sure
        if self._is_over(day):
            return day._replace(well=True, sure=True)
        if shows_its_end(lie, self.size) and lie is not Lie.SIGN:
            well = sure = False  # what is read in calms, or is another day's, looks well
        if lie is Lie.SHIFT and self.rows_since_turn < self.rows:
            well = sure = False  # hours later, much is as expected
        if lie is Lie.NOISE and day.lie is Lie.NONE:
            sure = is_smooth_again(self.today, self.past)
            well = well or sure
        return day._replace(well=well, sure=sure)

    def _is_over(self, day: Health) -> bool:
        """Whether the readings cannot be of the lie, or look far more like right ones."""
        if self._is_too_large:
            return self.has_turned
        if shows_its_end(self.lie, self.size):
            if day.odd and self.lie is Lie.UNIT:  # little power may have been of another meter
                return False
            return has_ended(self.lie, self.size, power=self.today, past=self.past)
        return not day.odd and day.lie is Lie.NONE and self.has_turned

    def right_since(self, well_days: int) -> int:
        """Time of the first right reading, once it is well.

        Args:
            well_days: Days since the first one that was as expected, that one included.
        """
        lie, rows = self.lie, self.rows
        if self._is_too_large or (lie is Lie.OPPOSITE and self.loose and self.has_turned):
            return self._turned_at()
        shows = shows_its_end(lie, self.size)
        days = {Lie.REPLAY: 1, Lie.FROZEN: 2}.get(lie, len(self.power) // rows)
        if not shows:  # and of the day before the first one that was as expected
            days = min(days, well_days + 1)
        power = self.power.copy()
        power[: max(0, len(power) - (self.end - self.since) // self.step)] = np.nan
        whole = shows or lie is Lie.NOISE  # the last day may be wrong in part
        recent = power[-days * rows :] if whole else power[-days * rows : -rows]
        row = first_right_row(lie, self.size, power=recent, past=self.past)
        earliest = max(self.end - (days * rows - row) * self.step, self.since)
        if shows:
            return earliest
        right = repair(earliest, power=power, expected=self.expected, end=self.end, step=self.step)
        return max(right, self._turned_at()) if lie is Lie.SHIFT and self.has_turned else right

    def _turned_at(self) -> int:
        """Time of the first reading since the turn, and after the last that is out of range."""
        last = first_right_row(self.lie, self.size, power=self.power, past=self.past)
        count = min(self.rows_since_turn, len(self.power) - last)
        return max(self.end - count * self.step, self.since)


def shows_its_end(lie: Lie, size: float) -> bool:
    """Whether a single reading may prove that a lie of this kind has ended; see `has_ended`."""
    kinds = (Lie.SIGN, Lie.CLIPPED, Lie.REPLAY, Lie.FROZEN, Lie.FEW_VALUES, Lie.SPIKES)
    return lie in kinds or (lie is Lie.UNIT and size < 0)


def has_ended(lie: Lie, size: float, *, power: Float64Array, past: Past) -> bool:
    """Whether readings of a day cannot be of a lie, whatever is expected of them.

    A meter in too small a unit does not read half of its peak, one that repeats a day does not
    read anything new. An hour of such readings is needed, two at least.

    Args:
        lie: A kind that `shows_its_end`.
        size: Power of ten of a unit, or value that is never exceeded.
        power: Readings of the day, `n`; NaN: none.
        past: Readings of earlier days.
    """
    if lie is Lie.REPLAY:
        told = np.abs(power) > NOTHING * past.peak
        copies = [(told & is_copy(power, other)).sum() for other in past.days]
        return bool(told.sum() >= _RUNS * len(power) and max(copies) < _COPIED * told.sum())
    if lie is Lie.FROZEN:
        usual = np.nanmedian(np.nanvar(past.trusted[_has_readings(past.trusted)], axis=1))
        return bool(_has_readings(power[None])[0] and np.nanvar(power) > _MOVES * usual)
    if lie is Lie.FEW_VALUES:
        return bool(repetitions(power[None, :, None], past.peak).share[0, 0] < _DISTINCT)
    if lie is Lie.SPIKES:
        spikes = is_spike(power[None, :, None], past.peak)[0, :, 0]
        spikes &= np.abs(power - size) <= SAME * past.peak
        return bool(_runs(power, past.peak) and not spikes.any())
    if lie is Lie.CLIPPED:
        right = power > _EXCEEDS * size
    elif lie is Lie.SIGN:
        right = power > _POSITIVE * past.peak
        right &= np.arange(len(power)) >= first_right_row(lie, size, power=power, past=past)
    else:
        right = _is_beyond(power, size, past.peak)
    return bool(right.sum() >= max(_FEWEST, len(power) // 24))


def is_smooth_again(power: Float64Array, past: Past) -> bool:
    """Whether readings of a day jump no more than on the roughest of trusted days."""
    trusted = past.trusted[_has_readings(past.trusted)]
    usual = np.nanmean(np.abs(np.diff(trusted, axis=1)), axis=1)
    jumps = np.abs(np.diff(power))
    known = np.isfinite(jumps)
    return bool(known.any() and len(usual) and jumps[known].mean() <= usual.max())


def first_right_row(lie: Lie, size: float, *, power: Float64Array, past: Past) -> int:
    """Row from which on readings are right, by the kind of a lie alone; their number: none are.

    Args:
        lie: The kind.
        size: Power of ten of a unit, or value that is never exceeded.
        power: Readings, the first of which are wrong, `n`; NaN: none.
        past: Readings of earlier days.
    """
    if lie is Lie.REPLAY:
        return count_copied(power[: past.trusted.shape[1]], past.days)
    if lie is Lie.FROZEN:
        stuck = min(past.last[_has_readings(past.last)], key=np.nanstd, default=power)
        spread = _AWAY * np.nanstd(stuck) + NOTHING * past.peak
        away = np.flatnonzero(np.abs(power - np.nanmedian(stuck)) > spread)
        return int(away[0]) if len(away) else len(power)
    if lie is Lie.UNIT and size < 0:
        right = np.flatnonzero(_is_beyond(power, size, past.peak))
        return int(right[0]) if len(right) else len(power)
    wrong = np.zeros(len(power), np.bool_)
    if lie is Lie.UNIT:
        wrong = _is_beyond(power, 0, past.peak)
    if lie is Lie.SIGN:
        wrong = power < -_NEGATIVE * past.peak
    if lie is Lie.NOISE:
        usual = np.abs(np.diff(past.trusted, axis=1))
        limit = np.quantile(usual[np.isfinite(usual)], _RARE_JUMP)
        wrong[1:] = np.abs(np.diff(power)) > limit
    if lie in (Lie.CLIPPED, Lie.SPIKES):
        wrong = np.abs(power - size) <= SAME * past.peak
    if lie is Lie.FEW_VALUES:
        wrong = _is_repeated(power, rows=past.trusted.shape[1], peak=past.peak)
    return int(np.flatnonzero(wrong)[-1]) + 1 if wrong.any() else 0


def repair(
    earliest: int, *, step: int, power: Float64Array, expected: Float64Array, end: int
) -> int:
    """The time from which on readings are right, by those of the last day, which are.

    Args:
        earliest: It is not before this time.
        step: Seconds between readings.
        power: Readings of the last days, `n`; NaN: none.
        expected: What was expected, `n`.
        end: End of the last of these days.
    """
    day = SECONDS_PER_DAY // step
    errors = np.square(power - expected)
    usual = errors[-day:][np.isfinite(errors[-day:])]
    scale = (float(usual.mean()) if len(usual) else 0.0) or 1.0
    gains = np.cumsum((_SMALL - np.minimum(errors / scale, _LARGEST))[:-day][::-1])
    gains[~np.isfinite(gains)] = -np.inf
    best = int(gains.argmax()) if len(gains) else 0
    right = best + 1 if len(gains) and gains[best] > 0 else 0
    return max(earliest, end - SECONDS_PER_DAY - right * step)


def _moved(values: Float64Array, rows: int) -> Float64Array:
    """Values some rows later, or earlier if negative; NaN where there are none."""
    found = np.roll(values, rows)
    found[slice(0, rows) if rows > 0 else slice(rows, None)] = np.nan
    return found


def _has_readings(days: Float64Array) -> BoolArray:
    """Which days (h x n) have two readings in a row."""
    return np.asarray(np.isfinite(np.diff(days, axis=1)).any(axis=1), np.bool_)


def _runs(power: Float64Array, peak: float) -> bool:
    """Whether a day has enough readings (n), and enough of them are not zero."""
    enough = np.isfinite(power).mean() >= LEAST_SHARE
    return bool(enough and (np.abs(power) > NOTHING * peak).mean() >= _RUNS)


def _is_repeated(power: Float64Array, *, rows: int, peak: float) -> BoolArray:
    """Which readings (n) are not zero and equal another one of their day of so many rows."""
    days = power.reshape(-1, rows)
    order = np.argsort(days, axis=1)
    equal = np.diff(np.take_along_axis(days, order, axis=1), axis=1) <= SAME * peak
    ends = np.zeros_like(equal[:, :1])
    either = np.concatenate([equal, ends], axis=1) | np.concatenate([ends, equal], axis=1)
    same = np.zeros(days.shape, np.bool_)
    np.put_along_axis(same, order, either, axis=1)
    return np.asarray((np.abs(power) > NOTHING * peak) & same.ravel(), np.bool_)


def _is_beyond(power: Float64Array, size: float, peak: float) -> BoolArray:
    """Which readings are too large for a unit, given as a power of ten of the right one."""
    return np.asarray(np.abs(power) > _BEYOND * 10.0 ** max(size, _SMALL_UNIT) * peak, np.bool_)
