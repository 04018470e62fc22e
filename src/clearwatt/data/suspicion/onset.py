"""When a lie began, and when it ended."""

from __future__ import annotations

import numpy as np

from clearwatt.arrays import Float64Array
from clearwatt.clock import SECONDS_PER_DAY

_LARGE = 4.0
"""Squared error, in units of the usual one, above which a reading counts for the lie."""
_SMALL = 2.0
"""The same, below which a reading counts for the repair."""
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
