"""The rules: which lie a day's readings look like, beside trusted days and the day before.

A change of the world keeps the relation to weather and hour, whatever its size, or builds up over
weeks. A lie loses that relation from one day to the next, or differs by what no plant does: a
power of ten, the opposite sign, an exact copy.
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
    has_signal,
    relative_level,
)
from clearwatt.data.suspicion.familiar import at_rest
from clearwatt.data.suspicion.lies import Lie
from clearwatt.data.suspicion.relation import noise, opposite, shifted, unrelated
from clearwatt.data.suspicion.statistics import Statistic, correlation
from clearwatt.data.suspicion.values import at_night, clipped, frozen, replay, sign, unit

FEWEST_DAYS = 14
"""Trusted days before a meter is judged."""
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
        comparable = judged & has_signal(case.day, case.usual)
        well = comparable & (lie == Lie.NONE) & _as_expected(case)
        sure = well & _as_closely_as_usual(case)
        odd = comparable & (correlation(case.day[None]) < _ODD)
        odd &= ~(at_rest(evidence) & (case.usual.least < REGULAR))
        loose = np.asarray(case.usual.least < REGULAR, np.bool_)
    return Judgement(lie, size, before, well, sure, odd, loose)


def _as_expected(case: Case) -> BoolArray:
    """Whether the day's readings follow the expectation, at about its level."""
    found, level = correlation(case.day[None]), relative_level(case.day)
    near = (level > 0.05) & (level < 20)
    follows = found >= np.minimum(0.6, case.usual.relation - 0.2)
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
    Lie.CLIPPED: clipped,
    Lie.SHIFT: shifted,
    Lie.NOISE: noise,
    Lie.NIGHT: at_night,
    Lie.OPPOSITE: opposite,
    Lie.SIGN: sign,
    Lie.UNIT: unit,
    Lie.REPLAY: replay,
}
"""The rules; of those that apply, the last counts."""
