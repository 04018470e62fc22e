"""Breaks: steps from which on the readings of an entity contradict those before.

A break belongs to the networks that take it into account, so that activating an earlier version
undoes it. Held samples are never rewritten for good: they are held relative to the level of their
time, and samples that are not to be trained on are left out, not deleted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clearwatt.arrays import BoolArray, Float64Array
from clearwatt.clock import DAYS_PER_WEEK, Steps

MOST_BREAKS = 8
"""Breaks that a version remembers; the oldest are merged."""
EVERY_DAY = tuple(range(DAYS_PER_WEEK))
"""All weekdays."""


@dataclass(frozen=True)
class Break:
    """A change after which samples before it contradict those after it.

    Args:
        step: First step after the change.
        found: End of the period in which it was found.
        factor: Readings since `step` as a multiple of what the same inputs gave before.
        weekdays: Days of the week whose samples before `step` are not trained on, counted from
            the clock's step 0.
        scaled: Days of the week whose readings the factor is of, counted in the same way.
    """

    step: int
    found: int
    factor: float = 1.0
    weekdays: tuple[int, ...] = ()
    scaled: tuple[int, ...] = EVERY_DAY

    @property
    def is_habit(self) -> bool:
        """Whether the factor is of some days of the week only."""
        return self.scaled != EVERY_DAY


Breaks = tuple[Break, ...]


def with_break(breaks: Breaks, new: Break) -> Breaks:
    """Breaks with a later one; two old ones of the same days become one if there are too many."""
    both = (*breaks, new)
    if len(both) <= MOST_BREAKS:
        return both
    pairs = ((a, b) for b in range(1, len(both)) for a in range(b) if _alike(both[a], both[b]))
    first, second = next(pairs, (0, 1))
    one, other = both[first], both[second]
    weekdays = tuple(sorted({*one.weekdays, *other.weekdays}))
    merged = Break(other.step, other.found, one.factor * other.factor, weekdays, other.scaled)
    return (*both[:first], *both[first + 1 : second], merged, *both[second + 1 :])


def _alike(one: Break, other: Break) -> bool:
    """Whether two breaks are of the same days of the week."""
    return one.scaled == other.scaled


def levels_of(breaks: Breaks, at: Steps, day: int) -> Float64Array:
    """Level of an entity at each step, `n`, as a multiple of that of its warm-up."""
    levels = np.ones(len(at))
    for each in breaks:
        levels[(at >= each.step) & _is_scaled(each, at, day)] *= each.factor
    return levels


def levels_at(breaks: Sequence[Breaks], at: Steps, day: int) -> Float64Array:
    """Levels of `e` entities at each step, `n x e`."""
    return np.stack([levels_of(own, at, day) for own in breaks], axis=1)


def current_levels(breaks: Sequence[Breaks]) -> Float64Array:
    """Levels of `e` entities after all their breaks, without those of some weekdays, `e`."""
    return np.array([current_level(own) for own in breaks])


def current_level(breaks: Breaks) -> float:
    """Level of an entity after all its breaks, without those of some weekdays."""
    return float(math.prod(each.factor for each in breaks if not each.is_habit))


def habits_at(breaks: Sequence[Breaks], at: Steps, day: int) -> Float64Array | None:
    """Levels of weekdays after all breaks, relative to the current ones, `n x e`; None: all 1."""
    if not any(each.is_habit for own in breaks for each in own):
        return None
    levels = np.ones((len(at), len(breaks)))
    for place, own in enumerate(breaks):
        for each in own:
            if each.is_habit:
                levels[_is_scaled(each, at, day), place] *= each.factor
    return levels


def _is_scaled(each: Break, at: Steps, day: int) -> BoolArray:
    """Which steps belong to the days of the week that the factor is of, `n`."""
    if not each.is_habit:
        return np.ones(len(at), np.bool_)
    return np.isin(at // day % DAYS_PER_WEEK, each.scaled)


def issued_before(breaks: Sequence[Breaks], at: Steps, delay: int) -> BoolArray:
    """Which forecasts, `n x e`, were issued when a break had begun but was not found yet."""
    found = np.zeros((len(at), len(breaks)), np.bool_)
    for place, own in enumerate(breaks):
        for each in own:
            found[:, place] |= (at >= each.found) & (at < each.found + delay)
    return found


def left_out(breaks: Breaks, at: Steps, day: int) -> BoolArray:
    """Which samples are not to be trained on, `n`."""
    out = np.zeros(len(at), np.bool_)
    for each in breaks:
        out |= (at < each.step) & np.isin(at // day % DAYS_PER_WEEK, each.weekdays)
    return out


def usable_since(breaks: Breaks) -> int:
    """First step of the samples of which every weekday is trained on."""
    return max((each.step for each in breaks if each.weekdays == EVERY_DAY), default=0)
