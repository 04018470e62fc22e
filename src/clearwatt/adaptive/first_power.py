"""The first power of an entity that has never had any, or has never varied."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearwatt.adaptive.settings import ChangeSettings
from clearwatt.adaptive.state import LearnerState

CONSTANT = 1e-6
"""Width of the range of power, in deviations, of an entity that has never varied."""
SMALL_LEVEL = 0.05
"""Constant power before, as a share of the power since, up to which a new scale is chosen."""


class FirstPower(NamedTuple):
    """An entity varies for the first time."""

    step: int
    """First step with another reading than all before."""
    factor: float
    """By which readings are divided, so that they vary by one deviation."""


def find_first_power(
    state: LearnerState, place: int, settings: ChangeSettings
) -> FirstPower | None:
    """The beginning of an entity that did not vary before the last days; None: it varied."""
    earlier, name = state.earlier, state.names[place]
    if earlier is None or name not in earlier.names or state.ensemble.versions[place].breaks:
        return None
    there = earlier.names.index(name)
    low, high = float(earlier.limits.low[there]), float(earlier.limits.high[there])
    if high - low > CONSTANT:
        return None
    recent, day = state.recent, state.frame.schedule.clock.day
    own = np.flatnonzero(np.isfinite(recent.measured[:, place]))
    values = recent.measured[own, place]
    varied = np.flatnonzero(np.abs(values - high) > CONSTANT)
    if not len(varied) or state.boundary - recent.at[own[varied[0]]] < settings.days * day:
        return None
    scale, mean = float(state.power.scale[place]), float(state.power.mean[place])
    power = values[varied[0] :] * scale + mean
    spread, largest = float(power.std()), float(np.abs(power).max())
    small = abs(mean) <= SMALL_LEVEL * largest
    factor = spread / scale if small and spread > 0 else 1.0
    return FirstPower(int(recent.at[own[varied[0]]]), factor)
