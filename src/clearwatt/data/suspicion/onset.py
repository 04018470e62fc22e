"""When a lie began."""

from __future__ import annotations

import numpy as np

from clearwatt.arrays import Float64Array
from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.data.suspicion.copies import count_copied
from clearwatt.data.suspicion.statistics import SAME

_LARGE = 4.0
"""Squared error, in units of the usual one, above which a reading counts for the lie."""
_LARGEST = 25.0


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
    return first - count_copied(power[stop - day : stop][::-1], others) * step


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
