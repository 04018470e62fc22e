"""Rules about the values that are read: their size, their sign, their hours, and repetitions."""

from __future__ import annotations

import numpy as np

from clearwatt.arrays import Float64Array
from clearwatt.data.suspicion.evidence import (
    CLOSE,
    Case,
    Finding,
    daily_correlations,
    finding,
    quantile,
    relative_level,
)
from clearwatt.data.suspicion.familiar import is_familiar
from clearwatt.data.suspicion.statistics import Statistic

_POWERS = ((-3, 0.45), (-2, 0.15), (1, 0.12), (2, 0.2), (3, 0.35))
"""Powers of ten of wrong units, and their tolerance in powers of ten."""
_TENFOLD = 6.0
"""Largest reading of ten times the power, as a multiple of the largest trusted one: more than that
of a plant that runs in full again after weeks at a quarter."""
_TRACE = (-3.45, -1.85)
"""The same of a level that still follows weather and hour on two days: too low for any change, and
no standstill. On calm days, wind forecasts are too high by a multiple."""


def replay(case: Case) -> Finding:
    """Nearly all readings other than zero equal those of one earlier day, and they vary."""
    evidence, usual = case.evidence, case.usual
    power = evidence.power
    nonzero = np.isfinite(power) & (np.abs(power) > 1e-3 * usual.peak)
    copies = np.zeros(power.shape[1])
    for other in (*evidence.trusted, *evidence.earlier):
        same = (np.abs(power - other) <= 1e-5 * np.abs(power)) & nonzero
        copies = np.maximum(copies, same.sum(axis=0))
    ranked = np.sort(np.where(nonzero, power, np.nan), axis=0)
    distinct = (np.diff(ranked, axis=0) > 1e-5 * usual.peak).sum(axis=0)
    count = nonzero.sum(axis=0)
    return finding(
        (copies >= 0.9 * count) & (distinct >= 0.6 * count) & (count >= 0.2 * len(power))
    )


def unit(case: Case) -> Finding:
    """The level differs from the expected one by a power of ten; readings still vary.

    A wind farm may stand still for a day of forecast wind: too little must last for two days. So
    must ten times, with weather and hour still followed; a tenth of a plant may run for real.
    """
    exponents = np.log10(relative_level(case.both))
    size, last = np.zeros(len(case.day)), np.zeros(len(case.day))
    for power, tolerance in _POWERS:
        fits = np.abs(exponents - power) <= tolerance
        size[fits[1]], last[fits[0]] = power, power
    follows = (daily_correlations(case) >= CLOSE).all(axis=0)
    trace = ((exponents > _TRACE[0]) & (exponents < _TRACE[1])).all(axis=0) & follows
    pooled = case.both[..., [Statistic.LEVEL, Statistic.EXPECTED_LEVEL]].sum(axis=0)
    nearest = np.clip(np.rint(np.log10(pooled[:, 0] / pooled[:, 1])), -3, -2)
    size = np.where(trace, nearest, size)
    varies = case.day[:, Statistic.VARIANCE] > 0
    enough = case.day[:, Statistic.EXPECTED_LEVEL] >= 0.3 * case.usual.level
    lasts = ((last == size) | trace) & case.varies
    tenfold = lasts & follows & (_largest(case) > _TENFOLD * case.largest)
    shows = (size != 0) & varies & enough & ((size > 1) | (lasts & (size < 0)) | tenfold)
    return finding(shows, size=size, before=np.where(size > 1, 0, case.before))


def _largest(case: Case) -> Float64Array:
    """Largest reading of either sign since the earlier of the two days, `e`."""
    evidence = case.evidence
    recent = evidence.ages[:, None, None] <= case.before
    days = [*np.where(recent, evidence.earlier, np.nan), evidence.power]
    return np.asarray(np.fmax.reduce(np.abs(days), axis=(0, 1)), np.float64)


def sign(case: Case) -> Finding:
    """Many readings are negative, and were not before."""
    return finding((case.day[:, Statistic.NEGATIVE] >= 0.5) & (case.usual.negative < 0.05))


def at_night(case: Case) -> Finding:
    """Power at most of the steps of the day at which trusted days had none."""
    evidence, peak = case.evidence, case.largest
    busiest = np.fmax.reduce(np.abs(evidence.trusted), axis=0)
    quiet = busiest <= 0.02 * peak
    loud = quiet & (np.abs(evidence.power) >= 0.08 * peak)
    # Of a wind farm that hardly ran for weeks, any hours may have been without power.
    together = (quiet != np.roll(quiet, 1, axis=0)).sum(axis=0) <= 4
    shows = (loud.sum(axis=0) >= 0.4 * quiet.sum(axis=0)) & (quiet.mean(axis=0) >= 1 / 6)
    return finding(shows & together & (case.usual.least >= CLOSE))


def clipped(case: Case) -> Finding:
    """On two days, many readings equal the same highest one, below what is expected then."""
    peaks, share = case.both[..., Statistic.PEAK], case.both[..., Statistic.AT_PEAK]
    same = np.abs(peaks[0] - peaks[1]) <= 1e-5 * np.abs(peaks[1])
    before = quantile(case.evidence.past[..., Statistic.AT_PEAK], 0.9)
    flat = (share >= 0.06).all(axis=0) & (share.min(axis=0) >= 3 * before)
    below = (peaks[1] < 0.9 * case.usual.peak) & (peaks[1] > 0.05 * case.usual.peak)
    shows = same & flat & below & (case.both[..., Statistic.EXCESS] > 0).all(axis=0)
    return finding(shows, size=peaks[1], before=case.before)


def frozen(case: Case) -> Finding:
    """For two days, the readings vary far less than on any trusted day, and not around zero.

    Where some days are calm anyway (wind), hardly at all, at one level between rest and full power.
    """
    both = case.both
    variance = quantile(case.evidence.past[..., Statistic.VARIANCE], 0.5)
    share = both[..., Statistic.LEVEL] / case.usual.peak
    stuck = (both[..., Statistic.VARIANCE] < 0.01 * variance) & (share > 0.1) & (share < 0.85)
    calmest = quantile(case.evidence.past[..., Statistic.VARIANCE], 0.0)
    still = (both[..., Statistic.VARIANCE] < 0.25 * calmest).all(axis=0)
    lost = (daily_correlations(case) < 0.5).all(axis=0) & (case.usual.relation >= 0.5)
    shows = still & lost & (relative_level(both) > 0.2).all(axis=0) & case.varies
    same = np.abs(share[1] - share[0]) < 0.05 * share[1]
    past = case.evidence.past
    flat = past[..., Statistic.VARIANCE] < 0.04 * variance
    flat &= np.abs(past[..., Statistic.LEVEL] / case.usual.peak - share[1]) < 0.1
    unusual = ~is_familiar(case.evidence, 0.4) | (same & ~flat.any(axis=0))
    shows |= stuck.all(axis=0) & case.varies & unusual
    return finding(shows, before=case.before)
