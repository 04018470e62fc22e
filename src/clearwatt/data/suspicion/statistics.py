"""What one day of readings looks like beside what was expected, per entity."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from clearwatt.arrays import Float32Array, Float64Array

SHIFTS = (-6, -5, -4, -3, -2, 2, 3, 4, 5, 6)
"""Hours by which a clock may be wrong; one hour happens with daylight saving time."""
LEAST_SHARE = 0.7
"""Least share of a day's readings for its statistics to count."""
SAME = 1e-5
"""Readings closer than this share of the day's largest are equal."""


class Statistic(IntEnum):
    """Places of a day's statistics; `SHIFTED` is the first of those of `SHIFTS`."""

    COVARIANCE = 0
    VARIANCE = 1
    EXPECTED_VARIANCE = 2
    MEAN = 3
    LEVEL = 4
    EXPECTED_LEVEL = 5
    ROUGHNESS = 6
    PEAK = 7
    AT_PEAK = 8
    NEGATIVE = 9
    EXCESS = 10
    SHIFTED = 11


WIDTH = Statistic.SHIFTED + len(SHIFTS)


def day_statistics(power: Float32Array, expected: Float64Array) -> Float64Array:
    """Statistics (e x `WIDTH`) of a day's power and expectation (both n x e).

    NaN for an entity with too few readings. What needs an expectation is NaN without one.
    Covariances and variances are those within the day. `AT_PEAK` is the share of readings equal to
    the highest, `EXCESS` the mean power expected above the highest where it is read, `NEGATIVE`
    the share of negative ones among readings above a fiftieth of the largest.
    """
    y = power.astype(np.float64)
    known = np.isfinite(y)
    count = np.maximum(known.sum(axis=0), 1)

    def mean(values: Float64Array) -> Float64Array:
        return np.asarray(np.where(known, values, 0).sum(axis=0) / count, np.float64)

    found = np.empty((y.shape[1], WIDTH))
    centred = np.where(known, y - mean(y), 0)
    baseline = np.where(known, expected - mean(expected), 0)
    largest = np.abs(np.where(known, y, 0)).max(axis=0)
    top = np.where(known, y, -np.inf).max(axis=0)
    at_top = known & (y >= top - SAME * largest)
    jumps = np.abs(np.diff(y, axis=0))
    found[:, Statistic.COVARIANCE] = mean(centred * baseline)
    found[:, Statistic.VARIANCE] = mean(np.square(centred))
    found[:, Statistic.EXPECTED_VARIANCE] = mean(np.square(baseline))
    found[:, Statistic.MEAN] = mean(y)
    found[:, Statistic.LEVEL] = mean(np.abs(y))
    found[:, Statistic.EXPECTED_LEVEL] = mean(np.abs(expected))
    found[:, Statistic.ROUGHNESS] = np.nansum(jumps, axis=0) / np.maximum(
        np.isfinite(jumps).sum(axis=0), 1
    )
    found[:, Statistic.PEAK] = top
    found[:, Statistic.AT_PEAK] = at_top.sum(axis=0) / count
    some = np.maximum((np.abs(y) > 0.02 * largest).sum(axis=0), 1)
    found[:, Statistic.NEGATIVE] = (y < -0.02 * largest).sum(axis=0) / some
    found[:, Statistic.EXCESS] = np.where(at_top, expected - top, 0).sum(axis=0) / np.maximum(
        at_top.sum(axis=0), 1
    )
    for place, hours in enumerate(SHIFTS):
        later = np.roll(baseline, hours * len(y) // 24, axis=0)
        found[:, Statistic.SHIFTED + place] = mean(centred * later)
    found[count < LEAST_SHARE * len(y)] = np.nan
    return found


def correlation(days: Float64Array, covariance: int = Statistic.COVARIANCE) -> Float64Array:
    """Correlation of power and expectation, pooled over days (k x ... x `WIDTH`, k first).

    Days without statistics are left out; NaN without any.
    """
    known = np.isfinite(days[..., Statistic.COVARIANCE])
    total = np.where(known[..., None], days, 0).sum(axis=0)
    scale = np.sqrt(total[..., Statistic.VARIANCE] * total[..., Statistic.EXPECTED_VARIANCE])
    found = total[..., covariance] / np.where(scale > 0, scale, 1)
    return np.asarray(np.where(known.any(axis=0), found, np.nan), np.float64)
