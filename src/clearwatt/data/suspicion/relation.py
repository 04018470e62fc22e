"""Rules about the relation to weather and hour: lost, opposite, or that of other hours."""

from __future__ import annotations

import numpy as np

from clearwatt.arrays import BoolArray, Float64Array
from clearwatt.data.suspicion.evidence import (
    CLOSE,
    REGULAR,
    UNSETTLED_DAYS,
    Case,
    Finding,
    daily_correlations,
    finding,
    first_age,
    is_long,
    quantile,
    relative_level,
)
from clearwatt.data.suspicion.familiar import at_rest, is_familiar
from clearwatt.data.suspicion.statistics import SHIFTS, Statistic, correlation

_FEWEST_LATE = 8
"""Days that show a wrong hour of a meter whose relation is loose anyway."""
_FAR_BETTER = 0.25
"""By what correlation these fit other hours better, all in all; half as much the older of them."""


def opposite(case: Case) -> Finding:
    """Readings fall where the expectation rises, on two days.

    Where weather forecasts are often wrong by hours (wind), on most of five days.
    """
    usual, week = case.usual, case.week
    soon = (daily_correlations(case) <= -0.4).all(axis=0) & case.varies
    close = usual.least >= CLOSE
    lasts = is_long(week) & (correlation(week) <= -0.4)
    return finding(
        soon & (usual.relation >= 0.5) & (close | lasts),
        before=np.where(close, case.before, first_age(case)),
    )


def noise(case: Case) -> Finding:
    """Readings jump far more than on any trusted day, without relation to the expectation.

    Where weather forecasts are often wrong by hours (wind), on two days. At a higher level than on
    any trusted day, jumps are larger, too.
    """
    higher = np.maximum(1, case.both[..., Statistic.LEVEL] / case.usual.highest)
    rough = case.both[..., Statistic.ROUGHNESS] >= 2 * higher * case.usual.roughest
    wild = rough & (daily_correlations(case) < 0.5)
    close = case.usual.least >= CLOSE
    return finding(wild[1] & (close | wild[0]), before=np.where(close, 0, case.before))


def shifted(case: Case) -> Finding:
    """The readings of two days fit the expectation of other hours far better.

    Where weather forecasts are often wrong by hours (wind), most of five days must.
    """
    usual, both, week = case.usual, case.both, case.week
    lost = (daily_correlations(case) < usual.least - 0.15).all(axis=0) & case.varies
    best, hours = _best_shift(both)
    soon = lost & (best - correlation(both) >= 0.3) & (best >= 0.75 * usual.relation)
    best, later = _best_shift(week)
    here = correlation(week)
    slowly = is_long(week) & (best - here >= 0.3) & (best >= 0.75 * usual.relation)
    slowly &= daily_correlations(case)[1] < 0.4
    close = (soon | slowly) & (usual.least >= CLOSE) & ~is_familiar(case.evidence)
    late = _late(case)
    return finding(
        close | (late.shows & (usual.least < REGULAR)),
        size=np.where(close, np.where(soon, hours, later), late.size),
        before=np.where(close, np.where(soon, case.before, first_age(case)), late.before),
    )


def _late(case: Case) -> Finding:
    """The readings of many days, old and new ones, fit the expectation of other hours far better.

    Weather forecasts are often wrong by hours, but not always by the same.
    """
    days = case.fortnight
    best, hours = _best_shift(days)
    place = np.searchsorted(np.array(SHIFTS), hours)
    columns = Statistic.SHIFTED + place
    shifted = np.take_along_axis(days, columns[None, :, None], axis=2)[..., 0]
    gains = np.nan_to_num(shifted - days[..., Statistic.COVARIANCE])
    back = np.cumsum(gains[::-1], axis=0).argmax(axis=0)
    older, newer = days[:UNSETTLED_DAYS], days[UNSETTLED_DAYS:]
    parts = [
        np.take_along_axis(
            np.stack([correlation(part, Statistic.SHIFTED + at) for at in range(len(SHIFTS))]),
            place[None],
            axis=0,
        )[0]
        - correlation(part)
        for part in (older, newer)
    ]
    count = np.isfinite(days[..., Statistic.COVARIANCE]).sum(axis=0)
    shows = (count >= _FEWEST_LATE) & (best - correlation(days) >= _FAR_BETTER)
    shows &= (parts[0] >= _FAR_BETTER / 2) & (parts[1] >= _FAR_BETTER)
    shows &= best >= np.maximum(0.5, 0.75 * case.usual.relation)
    return finding(shows, size=hours, before=back.astype(np.int64))


def _best_shift(days: Float64Array) -> tuple[Float64Array, Float64Array]:
    """The largest correlation with the expectation of other hours (e), and these hours (e)."""
    others = np.stack([correlation(days, Statistic.SHIFTED + at) for at in range(len(SHIFTS))])
    others = np.nan_to_num(others, nan=-1)
    return others.max(axis=0), np.array(SHIFTS, np.float64)[others.argmax(axis=0)]


def unrelated(case: Case) -> Finding:
    """For two days, or most of five, the readings have lost the relation they had.

    A plant at a standstill, or a closed factory or school, is at rest: that is a change of the
    world.
    """
    usual, daily, week = case.usual, daily_correlations(case), case.week
    lost = ((daily < usual.least - 0.3) & (daily < 0.45)).all(axis=0)
    soon = lost & (correlation(case.both) < 0.35) & case.varies
    slowly = is_long(week) & (correlation(week) < 0.25) & (daily[1] < 0.4)
    return finding(
        (soon | slowly)
        & (usual.least >= CLOSE)
        & ~(at_rest(case.evidence) & ~_runs_otherwise(case))
        & ~is_familiar(case.evidence),
        before=np.where(soon, case.before, first_age(case)),
    )


def _runs_otherwise(case: Case) -> BoolArray:
    """Whether the day varies at other hours than expected, after one with about the usual power.

    A rest does not vary; the days on which an outage begins and ends do.
    """
    variance = quantile(case.evidence.past[..., Statistic.VARIANCE], 0.5)
    varies = case.day[:, Statistic.VARIANCE] >= 0.25 * variance
    ran = relative_level(case.eve) > 0.7
    return np.asarray(varies & ran & (daily_correlations(case)[1] <= -0.4), np.bool_)
