"""Breaks: steps from which on the readings of an entity contradict those before.

A break belongs to the networks that take it into account, so that activating an earlier version
undoes it. Held samples are never rewritten for good: they are held relative to the level of their
time, and samples that are not to be trained on are left out, not deleted.
"""

from __future__ import annotations

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
    """

    step: int
    found: int
    factor: float = 1.0
    weekdays: tuple[int, ...] = ()


Breaks = tuple[Break, ...]


def with_break(breaks: Breaks, new: Break) -> Breaks:
    """Breaks with a later one; the two oldest become one if there are too many."""
    both = (*breaks, new)
    if len(both) <= MOST_BREAKS:
        return both
    first, second, *others = both
    weekdays = tuple(sorted({*first.weekdays, *second.weekdays}))
    merged = Break(second.step, second.found, first.factor * second.factor, weekdays)
    return (merged, *others)


def levels_of(breaks: Breaks, at: Steps) -> Float64Array:
    """Level of an entity at each step, `n`, as a multiple of that of its warm-up."""
    levels = np.ones(len(at))
    for each in breaks:
        levels[at >= each.step] *= each.factor
    return levels


def levels_at(breaks: Sequence[Breaks], at: Steps) -> Float64Array:
    """Levels of `e` entities at each step, `n x e`."""
    return np.stack([levels_of(own, at) for own in breaks], axis=1)


def current_levels(breaks: Sequence[Breaks]) -> Float64Array:
    """Levels of `e` entities after all their breaks, `e`."""
    return np.array([float(np.prod([each.factor for each in own])) for own in breaks])


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
