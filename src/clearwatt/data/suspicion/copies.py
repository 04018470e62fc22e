"""Readings that equal those of another day at the same time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clearwatt.arrays import BoolArray, Float64Array
from clearwatt.data.suspicion.statistics import SAME

NOTHING = 1e-3
"""Readings up to this share of the largest are like any other zero, whatever they repeat."""


def is_copy(power: Float64Array, other: Float64Array) -> BoolArray:
    """Which readings equal those of another day."""
    return np.asarray(np.abs(power - other) <= SAME * np.abs(power), np.bool_)


def count_copied(own: Float64Array, others: Sequence[Float64Array] | Float64Array) -> int:
    """Number of readings, from the first, that equal those of one other day and are not zero."""
    tells = np.abs(own) > NOTHING * np.nanmax(np.abs([own, *others]))
    most = 0
    for other in others:
        differs = np.flatnonzero(tells & ~is_copy(own, other))
        copies = np.flatnonzero(tells[: differs[0]] if len(differs) else tells)
        most = max(most, int(copies[-1]) + 1 if len(copies) else 0)
    return most
