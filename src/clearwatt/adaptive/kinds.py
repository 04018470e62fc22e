"""Kinds of experts, in which a user is told what is trusted most."""

from __future__ import annotations

import numpy as np

from clearwatt.adaptive.settings import AdaptiveSettings
from clearwatt.arrays import Float64Array

KINDS = (
    "the networks",
    "the networks corrected by level and hour",
    "the networks corrected by the errors and readings of the days before",
    "the same hour of the day before",
    "the same hour of the week before",
)


def kinds_of(settings: AdaptiveSettings) -> list[int]:
    """Kind of each expert, `k`."""
    slow = [0] * len(settings.networks.groups)
    fast = [1 if each.terms in ("level", "calendar") else 2 for each in settings.fast.corrections]
    return [*slow, *fast, 3, 4]


def membership(settings: AdaptiveSettings) -> Float64Array:
    """1 where an expert is of a kind, `k x kinds`."""
    kinds = np.array(kinds_of(settings))
    members: Float64Array = np.equal(kinds[:, None], np.arange(len(KINDS))).astype(np.float64)
    return members
