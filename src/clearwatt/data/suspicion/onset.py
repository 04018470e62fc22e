"""When a lie began, and when it ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clearwatt.arrays import BoolArray, Float64Array
from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.data.suspicion.lies import Lie
from clearwatt.data.suspicion.statistics import SAME

_LARGE = 4.0
"""Squared error, in units of the usual one, above which a reading counts for the lie."""
_SMALL = 2.0
"""The same, below which a reading counts for the repair."""
_LARGEST = 25.0
_NOTHING = 1e-3
"""Readings up to this share of the largest are like any other zero, whatever they repeat."""
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
_RUNS = 0.2
"""Least share of a day's readings other than zero, to tell whether they are copies."""
_COPIED = 0.75
"""Share of these that are copies on a day that repeats another, the last one maybe in part."""


class Past(NamedTuple):
    """Readings of a meter on trusted days (h x n) and on the last ones (k x n); NaN: none."""

    trusted: Float64Array
    last: Float64Array

    @property
    def days(self) -> Float64Array:
        """All of these days, `h + k x n`."""
        return np.concatenate([self.trusted, self.last])

    @property
    def peak(self) -> float:
        """Largest trusted reading, of either sign."""
        return float(np.nanmax(np.abs(self.trusted), initial=0))


def onset(first: int, *, step: int, power: Float64Array, expected: Float64Array, end: int) -> int:
    """The time from which on readings are wrong, from a day before the first wrong day on.

    The errors up to the end of the first wrong day exceed the usual ones most from there on.

    Args:
        first: Begin of the first day that is wrong.
        step: Seconds between readings.
        power: Readings of the last days, `n`; NaN: none.
        expected: What was expected, `n`.
        end: End of the last of these days.
    """
    day = SECONDS_PER_DAY // step
    stop = len(power) - (end - first) // step + day
    errors = np.square(power - expected)
    usual = errors[max(0, stop - 4 * day) : max(0, stop - 2 * day)]
    usual = usual[np.isfinite(usual)]
    if len(usual) < day // 2:
        return first
    scale = float(usual.mean()) or 1.0
    excess = np.minimum(np.nan_to_num(errors[stop - 2 * day : stop] / scale), _LARGEST) - _LARGE
    gains = np.cumsum(excess[::-1])
    best = int(gains.argmax())
    return first if gains[best] <= 0 else first + SECONDS_PER_DAY - (best + 1) * step


def unit_since(
    size: float, *, step: int, power: Float64Array, expected: Float64Array, end: int
) -> int:
    """The time from which on readings are in another unit, of the last days.

    Readings count for it if they are nearer to the expected ones in that unit, and against it
    otherwise, by the expected power: calm hours of a wind farm tell little, calm days as well.

    Args:
        size: Power of ten of the unit.
        step: Seconds between readings.
        power: Readings of the last days, `n`; NaN: none.
        expected: What was expected, `n`.
        end: End of the last of these days.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        nearer = np.log10(np.abs(power / expected)) / size >= 0.5
    votes = np.where(nearer, 1, -1) * np.where(np.isfinite(power), np.abs(expected), 0)
    return end - (int(np.cumsum(np.nan_to_num(votes)[::-1]).argmax()) + 1) * step


def repeated_since(
    first: int, *, step: int, power: Float64Array, trusted: Float64Array, end: int
) -> int:
    """The time from which on readings are those of one earlier day, within the day before.

    Args:
        first: Begin of the first day that repeats another.
        step: Seconds between readings.
        power: Readings of the last days, `n`; NaN: none.
        trusted: Readings of trusted days, `h x steps of a day`.
        end: End of the last of these days.
    """
    day = SECONDS_PER_DAY // step
    stop = len(power) - (end - first) // step
    if stop < day:
        return first
    others = [*power[: stop - day].reshape(-1, day)[:, ::-1], *trusted[:, ::-1]]
    return first - _copied(power[stop - day : stop][::-1], others) * step


def _copied(own: Float64Array, others: Sequence[Float64Array] | Float64Array) -> int:
    """Number of readings, from the first, that equal those of one other day and are not zero."""
    tells = np.abs(own) > _NOTHING * np.nanmax(np.abs([own, *others]))
    most = 0
    for other in others:
        differs = np.flatnonzero(tells & ~_is_copy(own, other))
        copies = np.flatnonzero(tells[: differs[0]] if len(differs) else tells)
        most = max(most, int(copies[-1]) + 1 if len(copies) else 0)
    return most


def cut_since(first: int, cut: float, *, step: int, power: Float64Array, end: int) -> int:
    """The time of the first reading at a cut after the last one above it.

    Args:
        first: Begin of the first day on which it shows; the result if no reading is at the cut.
        cut: Value that is not exceeded.
        step: Seconds between readings.
        power: Readings of the last days, `n`; NaN: none.
        end: End of the last of these days.
    """
    above = np.flatnonzero(power > (1 + SAME) * cut)
    since = int(above[-1]) + 1 if len(above) else 0
    at_cut = np.flatnonzero(power[since:] >= (1 - SAME) * cut)
    return end - (len(power) - since - int(at_cut[0])) * step if len(at_cut) else first


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


def shows_its_end(lie: Lie, size: float) -> bool:
    """Whether a single reading may prove that a lie of this kind has ended; see `has_ended`."""
    kinds = (Lie.SIGN, Lie.CLIPPED, Lie.REPLAY, Lie.FROZEN)
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
        told = np.abs(power) > _NOTHING * past.peak
        copies = [(told & _is_copy(power, other)).sum() for other in past.days]
        return bool(told.sum() >= _RUNS * len(power) and max(copies) < _COPIED * told.sum())
    if lie is Lie.FROZEN:
        usual = np.nanmedian(np.nanvar(past.trusted[_has_readings(past.trusted)], axis=1))
        return bool(np.nanvar(power) > _MOVES * usual)
    if lie is Lie.CLIPPED:
        right = power > _EXCEEDS * size
    elif lie is Lie.SIGN:
        right = power > _POSITIVE * past.peak
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
        return _copied(power[: past.trusted.shape[1]], past.days)
    if lie is Lie.FROZEN:
        stuck = min(past.last[_has_readings(past.last)], key=np.nanstd, default=power)
        spread = _AWAY * np.nanstd(stuck) + _NOTHING * past.peak
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
    if lie is Lie.CLIPPED:
        wrong = np.abs(power - size) <= SAME * abs(size)
    return int(np.flatnonzero(wrong)[-1]) + 1 if wrong.any() else 0


def _has_readings(days: Float64Array) -> BoolArray:
    """Which days (h x n) have two readings in a row."""
    return np.asarray(np.isfinite(np.diff(days, axis=1)).any(axis=1), np.bool_)


def _is_beyond(power: Float64Array, size: float, peak: float) -> BoolArray:
    """Which readings are too large for a unit, given as a power of ten of the right one."""
    return np.asarray(np.abs(power) > _BEYOND * 10.0 ** max(size, _SMALL_UNIT) * peak, np.bool_)


def _is_copy(power: Float64Array, other: Float64Array) -> BoolArray:
    """Which readings equal those of another day."""
    return np.asarray(np.abs(power - other) <= SAME * np.abs(power), np.bool_)
