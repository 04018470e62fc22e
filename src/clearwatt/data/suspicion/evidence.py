"""What a day's readings are compared with: trusted days, and the last days before it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearwatt.arrays import BoolArray, Float32Array, Float64Array, Int64Array
from clearwatt.data.suspicion.statistics import Statistic, correlation

CLOSE = 0.5
"""Daily correlation with the expectation that nine of ten trusted days have; else the loss of it
tells nothing. Weather forecasts of single wind farms are often wrong by hours."""
REGULAR = 0.8
"""The same of meters that follow hour and weather closely, as most consumers do."""
UNSETTLED_DAYS = 7
"""Newest trusted days that do not say yet how loose the relation to the expectation may be."""
_SIGNAL = 0.3
"""Least variance of the expectation in a day to compare with it, in shares of the usual one."""
_LONGEST = 5
"""Days within which two days are judged together."""


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

    def of(self, columns: Int64Array) -> Evidence:
        """The evidence on some of the entities."""
        return Evidence(
            day=self.day[columns],
            last=self.last[:, columns],
            ages=self.ages,
            past=self.past[:, columns],
            ranks=self.ranks[:, columns],
            power=self.power[:, columns],
            trusted=self.trusted[:, :, columns],
            earlier=self.earlier[:, :, columns],
        )

    @property
    def settled(self) -> BoolArray:
        """Whether trusted days are long ago, `h x e`: none of a lie that was not told at once."""
        return np.asarray(self.ranks >= UNSETTLED_DAYS, np.bool_)


class Usual(NamedTuple):
    """What is usual for each entity (e), by trusted days; NaN: unknown."""

    relation: Float64Array
    """Median of the daily correlations with the expectation."""
    least: Float64Array
    """Low quantile of these, of settled days on which the expectation varies."""
    signal: Float64Array
    """Median of the variance of the expectation within a day."""
    level: Float64Array
    highest: Float64Array
    """Level of the day with the highest one."""
    roughest: Float64Array
    peak: Float64Array
    negative: Float64Array


class Case(NamedTuple):
    """A day beside what is usual, and the last day before it on which the expectation varied.

    ``before`` is how many days ago that was (e); without one, ``eve`` (e x w) is NaN. ``largest``
    is the largest trusted reading of either sign (e); NaN: none.
    """

    evidence: Evidence
    usual: Usual
    eve: Float64Array
    before: Int64Array
    largest: Float64Array

    @classmethod
    def of(cls, evidence: Evidence) -> Case:
        """The case of a day."""
        usual = usual_of(evidence.past, evidence.settled)
        eve = np.full_like(evidence.day, np.nan)
        before = np.zeros(len(eve), np.int64)
        for statistics, age in zip(evidence.last, evidence.ages, strict=True):
            chosen = has_signal(statistics, usual) & (age <= _LONGEST)
            eve[chosen], before[chosen] = statistics[chosen], age
        largest = np.asarray(np.fmax.reduce(np.abs(evidence.trusted), axis=(0, 1)), np.float64)
        return cls(evidence, usual, eve, before, largest)

    def beside(self, age: int) -> Case:
        """The day beside that of this age instead, wherever the expectation varied then."""
        eve = np.full_like(self.eve, np.nan)
        for statistics in self.evidence.last[self.evidence.ages == age]:
            chosen = has_signal(statistics, self.usual)
            eve[chosen] = statistics[chosen]
        return self._replace(eve=eve, before=np.full_like(self.before, age))

    @property
    def day(self) -> Float64Array:
        """Statistics of the day, `e x w`."""
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
                np.where((has_signal(day, self.usual) & (age <= _LONGEST))[:, None], day, np.nan)
                for day, age in zip(days, ages, strict=True)
            ]
        )

    @property
    def fortnight(self) -> Float64Array:
        """Statistics of the newest trusted days, oldest first, and of `week`, `k x e x w`."""
        order = np.argsort(-self.evidence.ranks, axis=0)[-UNSETTLED_DAYS:]
        newest = np.take_along_axis(self.evidence.past, order[..., None], axis=0)
        varies = np.stack([has_signal(day, self.usual) for day in newest])
        varies &= ~np.take_along_axis(self.evidence.settled, order, axis=0)
        return np.concatenate([np.where(varies[..., None], newest, np.nan), self.week])

    @property
    def varies(self) -> BoolArray:
        """Whether the expectation varies on both days."""
        return has_signal(self.day, self.usual) & np.isfinite(self.eve[:, 0])


class Finding(NamedTuple):
    """Which entities lie (e), the size of the lie (e), and days it began before this one (e)."""

    shows: BoolArray
    size: Float64Array
    before: Int64Array


def finding(
    shows: BoolArray, *, size: Float64Array | None = None, before: Int64Array | None = None
) -> Finding:
    """A finding; by default without a size, and of this day only."""
    return Finding(
        np.asarray(shows, np.bool_),
        np.zeros(len(shows)) if size is None else size,
        np.zeros(len(shows), np.int64) if before is None else before,
    )


def usual_of(past: Float64Array, settled: BoolArray) -> Usual:
    """What is usual by statistics of trusted days (h x e x w); `settled`: see `Evidence`."""
    signal = quantile(past[..., Statistic.EXPECTED_VARIANCE], 0.5)
    daily = correlation(past[None])
    varies = settled & (past[..., Statistic.EXPECTED_VARIANCE] >= _SIGNAL * signal)
    return Usual(
        relation=quantile(daily, 0.5),
        least=quantile(np.where(varies, daily, np.nan), 0.1),
        signal=signal,
        level=quantile(past[..., Statistic.LEVEL], 0.5),
        highest=quantile(past[..., Statistic.LEVEL], 1.0),
        roughest=quantile(past[..., Statistic.ROUGHNESS], 1.0),
        peak=quantile(past[..., Statistic.PEAK], 1.0),
        negative=quantile(past[..., Statistic.NEGATIVE], 1.0),
    )


def quantile(values: Float64Array, share: float) -> Float64Array:
    """A quantile over the first axis, of finite values; NaN without any."""
    ranked = np.sort(values, axis=0)
    count = np.isfinite(values).sum(axis=0)
    rank = np.rint(share * np.maximum(count - 1, 0)).astype(np.int64)
    return np.asarray(np.take_along_axis(ranked, rank[None], axis=0)[0], np.float64)


def has_signal(statistics: Float64Array, usual: Usual) -> BoolArray:
    """Whether the expectation varies enough on a day (e x w) to compare with it."""
    varies = statistics[:, Statistic.EXPECTED_VARIANCE]
    return np.asarray(varies >= _SIGNAL * usual.signal, np.bool_)


def relative_level(statistics: Float64Array) -> Float64Array:
    """Level of the readings in shares of the expected one."""
    return statistics[..., Statistic.LEVEL] / statistics[..., Statistic.EXPECTED_LEVEL]


def daily_correlations(case: Case) -> Float64Array:
    """Correlations of the two days, `2 x e`."""
    return np.stack([correlation(case.eve[None]), correlation(case.day[None])])


def is_long(week: Float64Array) -> BoolArray:
    """Whether enough of the last days can be compared with their expectation."""
    return np.asarray(np.isfinite(week[..., Statistic.COVARIANCE]).sum(axis=0) >= 4, np.bool_)


def first_age(case: Case) -> Int64Array:
    """How many days ago the relation was lost, of the last days."""
    lost, before = np.ones(len(case.day), np.bool_), np.zeros(len(case.day), np.int64)
    ages = case.evidence.ages.tolist()
    for day, age in zip(case.week[-2::-1], ages[::-1], strict=True):
        related = correlation(day[None])
        lost &= ~(related >= 0.4)
        before[lost & np.isfinite(related)] = age
    return before
