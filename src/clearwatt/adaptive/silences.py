"""Silences: when each meter was last read, and when it returned after a long time without readings.

Networks that are weeks old learn from a meter that returns as soon as there is a day of readings,
and again whenever there is half as much more, until two weeks have passed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clearwatt.adaptive.state import LearnerState
from clearwatt.arrays import BoolArray

SILENT_DAYS = 7
"""Days without a reading that are a long silence."""
RETURN_DAYS = 15
"""Days after a silence in which updates are due by the number of readings since then."""
GROWTH = 1.5
"""Growth of that number that makes the next update due."""


def note_readings(state: LearnerState) -> LearnerState:
    """The state that knows the newest reading of each entity, and which have returned."""
    recent, progress = state.recent, state.progress
    fresh = np.isfinite(recent.measured) & ~recent.learned
    if not fresh.any():
        return state
    newest = np.where(fresh, recent.at[:, None], -1).max(axis=0)
    first = recent.at[fresh.argmax(axis=0)]
    silence = first - progress.measured
    back = fresh.any(axis=0) & (silence >= SILENT_DAYS * state.frame.schedule.clock.day)
    return state._replace(
        progress=replace(
            progress,
            measured=np.maximum(progress.measured, newest),
            returned=np.where(back, first, progress.returned),
        )
    )


def due_after_return(state: LearnerState) -> BoolArray:
    """Entities back from a silence, with enough readings more than at the last update, `e`."""
    day, progress = state.frame.schedule.clock.day, state.progress
    age, rest = state.boundary - progress.returned, progress.updated - progress.returned
    lately = (progress.returned > 0) & (age < RETURN_DAYS * day)
    grown = age >= np.maximum(GROWTH * rest, day)
    return np.asarray(lately & grown & (progress.samples > 0), np.bool_)
