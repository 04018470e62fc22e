"""The rules: which lie a day's readings look like, beside trusted days and the day before.

A change of the world keeps the relation to weather and hour, whatever its size, or builds up over
weeks. A lie loses that relation from one day to the next, or differs by what no plant does: a
power of ten, the opposite sign, an exact copy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from clearwatt.arrays import BoolArray, Float32Array, Float64Array, Int64Array
from clearwatt.data.suspicion.lies import Lie
from clearwatt.data.suspicion.statistics import SHIFTS, Statistic, correlation

FEWEST_DAYS = 14
"""Trusted days before a meter is judged."""
_SIGNAL = 0.3
"""Least variance of the expectation in a day to compare with it, in shares of the usual one."""
_CLOSE = 0.5
"""Daily correlation with the expectation that nine of ten trusted days have; else the loss of it
tells nothing. Weather forecasts of single wind farms are often wrong by hours."""
_REGULAR = 0.8
"""The same of meters that follow hour and weather closely, as most consumers do."""
_ODD = 0.2
"""Correlation below which a day does not follow the expectation."""
_LONGEST = 5
"""Days within which two days are judged together."""
_POWERS = ((-3, 0.45), (-2, 0.15), (2, 0.2), (3, 0.35))
"""Powers of ten of wrong units, and their tolerance in powers of ten."""
UNSETTLED_DAYS = 7
"""Newest trusted days that do not say yet how loose the relation to the expectation may be."""
_FEWEST_LATE = 8
"""Days that show a wrong hour of a meter whose relation is loose anyway."""
_FAR_BETTER = 0.25
"""By what correlation these fit other hours better, all in all; half as much the older of them."""
_TRACE = (-3.45, -1.85)
"""The same of a level that still follows weather and hour on two days: too low for any change, and
no standstill. On calm days, wind forecasts are too high by a multiple."""


class Evidence(NamedTuple):
    """Readings of a day with what they are compared with.

    Args:
        day: Statistics of the day, `e x w`.
        last: Those of the last days, the newest last, `k x e x w`; NaN: none.
        ages: How many days ago these were, `k`.
        past: Those of trusted days, `h x e x w`; NaN: none.
        ranks: How many of these days are newer than each, `h x e`.
        power: Readings of the day, `n x e`.
        trusted: Readings of trusted days, `h x n x e`.
        earlier: Readings of the last days, `k x n x e`.
    """

    day: Float64Array
    last: Float64Array
    ages: Int64Array
    past: Float64Array
    ranks: Int64Array
    power: Float32Array
    trusted: Float32Array
    earlier: Float32Array

    @property
    def settled(self) -> BoolArray:
        """Whether trusted days are long ago, `h x e`: none of a lie that was not told at once."""
        return np.asarray(self.ranks >= UNSETTLED_DAYS, np.bool_)


class Health(NamedTuple):
    """How the readings of one entity look on one day; see `Judgement`."""

    lie: Lie
    well: bool
    sure: bool
    odd: bool


class Judgement(NamedTuple):
    """Of one day, per entity (e): the lie, its size, days it began before this one, and health.

    ``well`` marks entities whose readings are as expected; others are undecided or lie.
    ``sure`` marks those of them that follow as closely as on most days, which no chance does.
    ``odd`` marks those that do not follow the expectation at all, whatever the reason, but for
    calms of a wind farm.
    ``loose`` marks those that do not follow it on most days anyway.
    """

    lie: Int64Array
    size: Float64Array
    before: Int64Array
    well: BoolArray
    sure: BoolArray
    odd: BoolArray
    loose: BoolArray

    def of_entity(self, column: int) -> Health:
        """How one entity looks on the day."""
        return Health(
            Lie(int(self.lie[column])),
            well=bool(self.well[column]),
            sure=bool(self.sure[column]),
            odd=bool(self.odd[column]),
        )


class _Usual(NamedTuple):
    """What is usual for each entity (e), by trusted days; NaN: unknown."""

    relation: Float64Array
    """Median of the daily correlations with the expectation."""
    least: Float64Array
    """Low quantile of these, of settled days on which the expectation varies."""
    signal: Float64Array
    """Median of the variance of the expectation within a day."""
    level: Float64Array
    roughest: Float64Array
    peak: Float64Array
    negative: Float64Array


class _Case(NamedTuple):
    """A day beside what is usual, and the last day before it on which the expectation varied.

    ``before`` is how many days ago that was (e); without one, ``eve`` (e x w) is NaN.
    """

    evidence: Evidence
    usual: _Usual
    eve: Float64Array
    before: Int64Array

    @classmethod
    def of(cls, evidence: Evidence) -> _Case:
        usual = _usual(evidence.past, evidence.settled)
        eve = np.full_like(evidence.day, np.nan)
        before = np.zeros(len(eve), np.int64)
        for statistics, age in zip(evidence.last, evidence.ages, strict=True):
            chosen = _has_signal(statistics, usual) & (age <= _LONGEST)
            eve[chosen], before[chosen] = statistics[chosen], age
        return cls(evidence, usual, eve, before)

    @property
    def day(self) -> Float64Array:
        return self.evidence.day

    @property
    def both(self) -> Float64Array:
        """Statistics of both days, `2 x e x w`."""
        return np.stack([self.eve, self.day])

    @property
    def week(self) -> Float64Array:
        """Statistics of the last days and this one, `k x e x w`; NaN where little varies."""
        days = [*self.evidence.last, self.day]
        ages = [*self.evidence.ages.tolist(), 0]
        return np.stack(
            [
                np.where((_has_signal(day, self.usual) & (age <= _LONGEST))[:, None], day, np.nan)
                for day, age in zip(days, ages, strict=True)
            ]
        )

    @property
    def fortnight(self) -> Float64Array:
        """Statistics of the newest trusted days, oldest first, and of `week`, `k x e x w`."""
        order = np.argsort(-self.evidence.ranks, axis=0)[-UNSETTLED_DAYS:]
        newest = np.take_along_axis(self.evidence.past, order[..., None], axis=0)
        varies = np.stack([_has_signal(day, self.usual) for day in newest])
        varies &= ~np.take_along_axis(self.evidence.settled, order, axis=0)
        return np.concatenate([np.where(varies[..., None], newest, np.nan), self.week])

    @property
    def varies(self) -> BoolArray:
        """Whether the expectation varies on both days."""
        return _has_signal(self.day, self.usual) & np.isfinite(self.eve[:, 0])


def judge(evidence: Evidence) -> Judgement:
    """The verdict of a day on each entity."""
    entities = len(evidence.day)
    lie, size = np.zeros(entities, np.int64), np.zeros(entities)
    before = np.zeros(entities, np.int64)
    with np.errstate(all="ignore"):
        case = _Case.of(evidence)
        days = np.isfinite(evidence.past[..., Statistic.COVARIANCE]).sum(axis=0)
        judged = (days >= FEWEST_DAYS) & np.isfinite(evidence.day[:, Statistic.COVARIANCE])
        for kind, rule in _RULES.items():
            shows, amount, since = rule(case)
            mine = shows & judged
            lie[mine], size[mine], before[mine] = kind, amount[mine], since[mine]
        comparable = judged & _has_signal(case.day, case.usual)
        well = comparable & (lie == Lie.NONE) & _as_expected(case)
        sure = well & _as_closely_as_usual(case)
        odd = comparable & (correlation(case.day[None]) < _ODD)
        odd &= ~(_at_rest(evidence) & (case.usual.least < _REGULAR))
        loose = np.asarray(case.usual.least < _REGULAR, np.bool_)
    return Judgement(lie, size, before, well, sure, odd, loose)


class _Finding(NamedTuple):
    """Which entities lie (e), the size of the lie (e), and days it began before this one (e)."""

    shows: BoolArray
    size: Float64Array
    before: Int64Array


def _found(
    shows: BoolArray, *, size: Float64Array | None = None, before: Int64Array | None = None
) -> _Finding:
    return _Finding(
        np.asarray(shows, np.bool_),
        np.zeros(len(shows)) if size is None else size,
        np.zeros(len(shows), np.int64) if before is None else before,
    )


def _usual(past: Float64Array, settled: BoolArray) -> _Usual:
    signal = _quantile(past[..., Statistic.EXPECTED_VARIANCE], 0.5)
    daily = correlation(past[None])
    varies = settled & (past[..., Statistic.EXPECTED_VARIANCE] >= _SIGNAL * signal)
    return _Usual(
        relation=_quantile(daily, 0.5),
        least=_quantile(np.where(varies, daily, np.nan), 0.1),
        signal=signal,
        level=_quantile(past[..., Statistic.LEVEL], 0.5),
        roughest=_quantile(past[..., Statistic.ROUGHNESS], 1.0),
        peak=_quantile(past[..., Statistic.PEAK], 1.0),
        negative=_quantile(past[..., Statistic.NEGATIVE], 1.0),
    )


def _quantile(values: Float64Array, share: float) -> Float64Array:
    """A quantile over the first axis, of finite values; NaN without any."""
    ranked = np.sort(values, axis=0)
    count = np.isfinite(values).sum(axis=0)
    rank = np.rint(share * np.maximum(count - 1, 0)).astype(np.int64)
    return np.asarray(np.take_along_axis(ranked, rank[None], axis=0)[0], np.float64)


def _has_signal(statistics: Float64Array, usual: _Usual) -> BoolArray:
    """Whether the expectation varies enough on a day (e x w) to compare with it."""
    varies = statistics[:, Statistic.EXPECTED_VARIANCE]
    return np.asarray(varies >= _SIGNAL * usual.signal, np.bool_)


def _level(statistics: Float64Array) -> Float64Array:
    """Level of the readings in shares of the expected one."""
    return statistics[..., Statistic.LEVEL] / statistics[..., Statistic.EXPECTED_LEVEL]


def _replay(case: _Case) -> _Finding:
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
    return _found((copies >= 0.9 * count) & (distinct >= 0.6 * count) & (count >= 0.2 * len(power)))


def _unit(case: _Case) -> _Finding:
    """The level differs from the expected one by a power of ten; readings still vary.

    A wind farm may stand still for a day of forecast wind: too little must last for two days.
    """
    exponents = np.log10(_level(case.both))
    size, last = np.zeros(len(case.day)), np.zeros(len(case.day))
    for power, tolerance in _POWERS:
        fits = np.abs(exponents - power) <= tolerance
        size[fits[1]], last[fits[0]] = power, power
    trace = ((exponents > _TRACE[0]) & (exponents < _TRACE[1])).all(axis=0)
    trace &= (_daily(case) >= _CLOSE).all(axis=0)
    pooled = case.both[..., [Statistic.LEVEL, Statistic.EXPECTED_LEVEL]].sum(axis=0)
    nearest = np.clip(np.rint(np.log10(pooled[:, 0] / pooled[:, 1])), -3, -2)
    size = np.where(trace, nearest, size)
    varies = case.day[:, Statistic.VARIANCE] > 0
    enough = case.day[:, Statistic.EXPECTED_LEVEL] >= 0.3 * case.usual.level
    few = size < 0
    lasts = ((last == size) | trace) & case.varies
    shows = (size != 0) & varies & enough & (~few | lasts)
    return _found(shows, size=size, before=np.where(few, case.before, 0))


def _sign(case: _Case) -> _Finding:
    """Many readings are negative, and were not before."""
    return _found((case.day[:, Statistic.NEGATIVE] >= 0.5) & (case.usual.negative < 0.05))


def _opposite(case: _Case) -> _Finding:
    """Readings fall where the expectation rises, on two days.

    Where weather forecasts are often wrong by hours (wind), on most of five days.
    """
    usual, week = case.usual, case.week
    soon = (_daily(case) <= -0.4).all(axis=0) & case.varies
    close = usual.least >= _CLOSE
    lasts = _is_long(week) & (correlation(week) <= -0.4)
    return _found(
        soon & (usual.relation >= 0.5) & (close | lasts),
        before=np.where(close, case.before, _first_age(case)),
    )


def _at_night(case: _Case) -> _Finding:
    """Power at most of the steps of the day at which trusted days had none."""
    evidence, peak = case.evidence, case.usual.peak
    busiest = np.fmax.reduce(np.abs(evidence.trusted), axis=0)
    quiet = busiest <= 0.02 * peak
    loud = quiet & (np.abs(evidence.power) >= 0.08 * peak)
    # Of a wind farm that hardly ran for weeks, any hours may have been without power.
    together = (quiet != np.roll(quiet, 1, axis=0)).sum(axis=0) <= 4
    shows = (loud.sum(axis=0) >= 0.4 * quiet.sum(axis=0)) & (quiet.mean(axis=0) >= 1 / 6)
    return _found(shows & together & (case.usual.least >= _CLOSE))


def _noise(case: _Case) -> _Finding:
    """Readings jump far more than on any trusted day, without relation to the expectation.

    Where weather forecasts are often wrong by hours (wind), on two days.
    """
    rough = case.both[..., Statistic.ROUGHNESS] >= 2 * case.usual.roughest
    wild = rough & (_daily(case) < 0.5)
    close = case.usual.least >= _CLOSE
    return _found(wild[1] & (close | wild[0]), before=np.where(close, 0, case.before))


def _shifted(case: _Case) -> _Finding:
    """The readings of two days fit the expectation of other hours far better.

    Where weather forecasts are often wrong by hours (wind), most of five days must.
    """
    usual, both, week = case.usual, case.both, case.week
    lost = (_daily(case) < usual.least - 0.15).all(axis=0) & case.varies
    best, hours = _best_shift(both)
    soon = lost & (best - correlation(both) >= 0.3) & (best >= 0.75 * usual.relation)
    best, later = _best_shift(week)
    here = correlation(week)
    slowly = _is_long(week) & (best - here >= 0.3) & (best >= 0.75 * usual.relation)
    slowly &= _daily(case)[1] < 0.4
    close = (soon | slowly) & (usual.least >= _CLOSE) & ~_is_familiar(case.evidence)
    late = _late(case)
    return _found(
        close | (late.shows & (usual.least < _REGULAR)),
        size=np.where(close, np.where(soon, hours, later), late.size),
        before=np.where(close, np.where(soon, case.before, _first_age(case)), late.before),
    )


def _late(case: _Case) -> _Finding:
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
    return _found(shows, size=hours, before=back.astype(np.int64))


def _best_shift(days: Float64Array) -> tuple[Float64Array, Float64Array]:
    """The largest correlation with the expectation of other hours (e), and these hours (e)."""
    others = np.stack([correlation(days, Statistic.SHIFTED + at) for at in range(len(SHIFTS))])
    others = np.nan_to_num(others, nan=-1)
    return others.max(axis=0), np.array(SHIFTS, np.float64)[others.argmax(axis=0)]


def _is_long(week: Float64Array) -> BoolArray:
    """Whether enough of the last days can be compared with their expectation."""
    return np.asarray(np.isfinite(week[..., Statistic.COVARIANCE]).sum(axis=0) >= 4, np.bool_)


def _first_age(case: _Case) -> Int64Array:
    """How many days ago the relation was lost, of the last days."""
    lost, before = np.ones(len(case.day), np.bool_), np.zeros(len(case.day), np.int64)
    ages = case.evidence.ages.tolist()
    for day, age in zip(case.week[-2::-1], ages[::-1], strict=True):
        related = correlation(day[None])
        lost &= ~(related >= 0.4)
        before[lost & np.isfinite(related)] = age
    return before


def _clipped(case: _Case) -> _Finding:
    """On two days, many readings equal the same highest one, below what is expected then."""
    peaks, share = case.both[..., Statistic.PEAK], case.both[..., Statistic.AT_PEAK]
    same = np.abs(peaks[0] - peaks[1]) <= 1e-5 * np.abs(peaks[1])
    before = _quantile(case.evidence.past[..., Statistic.AT_PEAK], 0.9)
    flat = (share >= 0.06).all(axis=0) & (share.min(axis=0) >= 3 * before)
    below = (peaks[1] < 0.9 * case.usual.peak) & (peaks[1] > 0.05 * case.usual.peak)
    shows = same & flat & below & (case.both[..., Statistic.EXCESS] > 0).all(axis=0)
    return _found(shows, size=peaks[1], before=case.before)


def _frozen(case: _Case) -> _Finding:
    """For two days, the readings vary far less than on any trusted day, and not around zero.

    Where some days are calm anyway (wind), hardly at all, at one level between rest and full power.
    """
    both = case.both
    variance = _quantile(case.evidence.past[..., Statistic.VARIANCE], 0.5)
    share = both[..., Statistic.LEVEL] / case.usual.peak
    stuck = (both[..., Statistic.VARIANCE] < 0.01 * variance) & (share > 0.1) & (share < 0.85)
    calmest = _quantile(case.evidence.past[..., Statistic.VARIANCE], 0.0)
    still = (both[..., Statistic.VARIANCE] < 0.25 * calmest).all(axis=0)
    lost = (_daily(case) < 0.5).all(axis=0) & (case.usual.relation >= 0.5)
    shows = still & lost & (_level(both) > 0.2).all(axis=0) & case.varies
    same = np.abs(share[1] - share[0]) < 0.05 * share[1]
    past = case.evidence.past
    flat = past[..., Statistic.VARIANCE] < 0.04 * variance
    flat &= np.abs(past[..., Statistic.LEVEL] / case.usual.peak - share[1]) < 0.1
    unusual = ~_is_familiar(case.evidence, 0.4) | (same & ~flat.any(axis=0))
    shows |= stuck.all(axis=0) & case.varies & unusual
    return _found(shows, before=case.before)


def _unrelated(case: _Case) -> _Finding:
    """For two days, or most of five, the readings have lost the relation they had.

    A plant at a standstill, or a closed factory or school, is at rest: that is a change of the
    world.
    """
    usual, daily, week = case.usual, _daily(case), case.week
    lost = ((daily < usual.least - 0.3) & (daily < 0.45)).all(axis=0)
    soon = lost & (correlation(case.both) < 0.35) & case.varies
    slowly = _is_long(week) & (correlation(week) < 0.25) & (daily[1] < 0.4)
    return _found(
        (soon | slowly)
        & (usual.least >= _CLOSE)
        & ~(_at_rest(case.evidence) & ~_runs_otherwise(case))
        & ~_is_familiar(case.evidence),
        before=np.where(soon, case.before, _first_age(case)),
    )


def _at_rest(evidence: Evidence) -> BoolArray:
    """Whether nearly all readings of the day are like those of nights and weekends."""
    entities = evidence.power.shape[1]
    ranked = np.sort(evidence.trusted.reshape(-1, entities), axis=0)
    last = np.maximum(np.isfinite(ranked).sum(axis=0) - 1, 0)
    low, high = (
        np.take_along_axis(ranked, np.rint(share * last).astype(np.int64)[None], axis=0)[0]
        for share in (0.1, 0.95)
    )
    busy = evidence.power > low + 0.2 * (high - low)
    return np.asarray(busy.sum(axis=0) < 0.2 * np.isfinite(evidence.power).sum(axis=0), np.bool_)


def _runs_otherwise(case: _Case) -> BoolArray:
    """Whether the day varies at other hours than expected, after one with about the usual power.

    A rest does not vary; the days on which an outage begins and ends do.
    """
    variance = _quantile(case.evidence.past[..., Statistic.VARIANCE], 0.5)
    varies = case.day[:, Statistic.VARIANCE] >= 0.25 * variance
    ran = _level(case.eve) > 0.7
    return np.asarray(varies & ran & (_daily(case)[1] <= -0.4), np.bool_)


def _is_familiar(evidence: Evidence, share: float = 0.6) -> BoolArray:
    """Whether the day is like one of the trusted days, as a holiday is like a Sunday.

    Its distance to that day is a share of the usual distance of days to the mean day.
    """
    typical = _mean(evidence.trusted, axis=0)
    usual = _mean(np.abs(evidence.trusted - typical), axis=1)
    away = _mean(np.abs(evidence.power - evidence.trusted), axis=1)
    return np.asarray(_quantile(away, 0.0) <= share * _quantile(usual, 0.5), np.bool_)


def _mean(values: Float32Array, *, axis: int) -> Float64Array:
    """Mean of finite values over an axis; NaN without any."""
    total = np.nansum(values, axis=axis, dtype=np.float64)
    return np.asarray(total / np.isfinite(values).sum(axis=axis), np.float64)


def _daily(case: _Case) -> Float64Array:
    """Correlations of the two days, `2 x e`."""
    return np.stack([correlation(case.eve[None]), correlation(case.day[None])])


def _as_expected(case: _Case) -> BoolArray:
    """Whether the day's readings follow the expectation, at about its level."""
    found, level = correlation(case.day[None]), _level(case.day)
    near = (level > 0.05) & (level < 20)
    follows = found >= np.minimum(0.6, case.usual.relation - 0.2)
    return np.asarray(near & follows, np.bool_)


def _as_closely_as_usual(case: _Case) -> BoolArray:
    """Whether the day follows the expectation like most days, of a meter that always does."""
    found, level = correlation(case.day[None]), _level(case.day)
    near = (level > 0.5) & (level < 2)
    return np.asarray(
        near & (found >= case.usual.relation - 0.03) & (case.usual.least >= _REGULAR), np.bool_
    )


_RULES: dict[Lie, Callable[[_Case], _Finding]] = {
    Lie.UNRELATED: _unrelated,
    Lie.FROZEN: _frozen,
    Lie.CLIPPED: _clipped,
    Lie.SHIFT: _shifted,
    Lie.NOISE: _noise,
    Lie.NIGHT: _at_night,
    Lie.OPPOSITE: _opposite,
    Lie.SIGN: _sign,
    Lie.UNIT: _unit,
    Lie.REPLAY: _replay,
}
"""The rules; of those that apply, the last counts."""
