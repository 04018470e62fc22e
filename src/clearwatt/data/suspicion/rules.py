"""The rules: which lie a day's readings look like, beside trusted days and the day before.

A change of the world keeps the relation to weather and hour, whatever its size, or builds up over
weeks. A lie loses that relation from one day to the next, or differs by what no plant does: a
power of ten, the opposite sign, an exact copy, readings that only rise or have few values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from clearwatt.arrays import BoolArray, Float64Array, Int64Array
from clearwatt.data.suspicion.evidence import (
    REGULAR,
    Case,
    Evidence,
    Finding,
    Usual,
    has_signal,
    relative_level,
)
from clearwatt.data.suspicion.familiar import at_rest
from clearwatt.data.suspicion.lies import Lie
from clearwatt.data.suspicion.patterns import counter, few_values, spikes
from clearwatt.data.suspicion.relation import noise, opposite, shifted, unrelated
from clearwatt.data.suspicion.statistics import Statistic, correlation
from clearwatt.data.suspicion.values import at_night, clipped, frozen, replay, sign, unit

FEWEST_DAYS = 14
"""Trusted days before a meter is judged."""
_ALTERNATE = (2, 4)
"""Ages of days that show with this one, every other day, what two days in a row would."""
_OVER_DAYS = (Lie.UNRELATED, Lie.NOISE, Lie.OPPOSITE, Lie.UNIT)
"""Kinds that may take two days to show, and not be as expected on either."""
_ODD = 0.2
"""Correlation below which a day does not follow the expectation."""


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


def judge(evidence: Evidence) -> Judgement:
    """The verdict of a day on each entity."""
    entities = len(evidence.day)
    lie, size = np.zeros(entities, np.int64), np.zeros(entities)
    before = np.zeros(entities, np.int64)
    with np.errstate(all="ignore"):
        case = Case.of(evidence)
        days = np.isfinite(evidence.past[..., Statistic.COVARIANCE]).sum(axis=0)
        judged = (days >= FEWEST_DAYS) & np.isfinite(evidence.day[:, Statistic.COVARIANCE])
        for kind, rule in _RULES.items():
            shows, amount, since = rule(case)
            mine = shows & judged
            lie[mine], size[mine], before[mine] = kind, amount[mine], since[mine]
        columns = np.flatnonzero(judged & (lie == Lie.NONE) & _comes_and_goes(case))
        if len(columns):
            lie[columns], size[columns], before[columns] = _on_alternate_days(evidence.of(columns))
        comparable = judged & has_signal(case.day, case.usual)
        well = comparable & (lie == Lie.NONE) & _as_expected(case.day, case.usual)
        sure = well & _as_closely_as_usual(case)
        odd = comparable & (correlation(case.day[None]) < _ODD)
        odd &= ~(at_rest(evidence) & (case.usual.least < REGULAR))
        loose = np.asarray(case.usual.least < REGULAR, np.bool_)
    return Judgement(lie, size, before, well, sure, odd, loose)


def _comes_and_goes(case: Case) -> BoolArray:
    """Whether this day and the alternate ones before it are all unlike the expectation, `e`."""
    days = [case.beside(age).eve for age in _ALTERNATE]
    known = np.all([has_signal(day, case.usual) for day in days], axis=0)
    wrong = np.all([~_as_expected(day, case.usual) for day in (*days, case.day)], axis=0)
    return np.asarray(known & wrong, np.bool_)


def _on_alternate_days(evidence: Evidence) -> tuple[Int64Array, Float64Array, Int64Array]:
    """Lie, size and days it began before this one (e each), as beside each alternate day."""
    case = Case.of(evidence)
    lie, size = np.zeros(len(case.day), np.int64), np.zeros(len(case.day))
    for kind in _OVER_DAYS:
        found = [_RULES[kind](case.beside(age)) for age in _ALTERNATE]
        shows = np.all([each.shows & (each.size == found[0].size) for each in found], axis=0)
        lie[shows], size[shows] = kind, found[0].size[shows]
    return lie, size, np.full(len(lie), _ALTERNATE[-1])


def _as_expected(day: Float64Array, usual: Usual) -> BoolArray:
    """Whether the readings of a day (e x w) follow the expectation, at about its level."""
    found, level = correlation(day[None]), relative_level(day)
    near = (level > 0.05) & (level < 20)
    follows = found >= np.minimum(0.6, usual.relation - 0.2)
    return np.asarray(near & follows, np.bool_)


def _as_closely_as_usual(case: Case) -> BoolArray:
    """Whether the day follows the expectation like most days, of a meter that always does."""
    found, level = correlation(case.day[None]), relative_level(case.day)
    near = (level > 0.5) & (level < 2)
    return np.asarray(
        near & (found >= case.usual.relation - 0.03) & (case.usual.least >= REGULAR), np.bool_
    )


_RULES: dict[Lie, Callable[[Case], Finding]] = {
    Lie.UNRELATED: unrelated,
    Lie.FROZEN: frozen,
    Lie.SPIKES: spikes,
    Lie.FEW_VALUES: few_values,
    Lie.CLIPPED: clipped,
    Lie.SHIFT: shifted,
    Lie.NOISE: noise,
    Lie.NIGHT: at_night,
    Lie.OPPOSITE: opposite,
    Lie.SIGN: sign,
    Lie.UNIT: unit,
    Lie.COUNTER: counter,
    Lie.REPLAY: replay,
}
"""The rules; of those that apply, the last counts."""
