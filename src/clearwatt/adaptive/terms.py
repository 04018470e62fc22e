"""What the corrections explain a residual with."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

import numpy as np
import numpy.typing as npt

from clearwatt.adaptive.clock import DAYS_OF_WEEK, Clock
from clearwatt.adaptive.journal import Journal
from clearwatt.adaptive.span import Span
from clearwatt.arrays import Float64Array

Steps = npt.NDArray[np.int64]

HARMONICS = 2
"""Waves of the day; one more for the week."""

TermSet = Literal["level", "calendar", "errors", "lags", "all"]
_WAVES = tuple(range(2, 4 + 2 * HARMONICS))
_MISSED = tuple(range(_WAVES[-1] + 1, _WAVES[-1] + 3))
_AWAY = tuple(range(_MISSED[-1] + 1, _MISSED[-1] + 3))
TERM_SETS: Mapping[TermSet, tuple[int, ...]] = MappingProxyType(
    {
        "level": (0,),
        "calendar": (0, 1, *_WAVES),
        "errors": (0, 1, *_MISSED),
        "lags": (0, 1, *_MISSED, *_AWAY),
        "all": (0, 1, *_WAVES, *_MISSED, *_AWAY),
    }
)
"""Columns of `Terms.of`: a few terms follow within days, many find out more in weeks."""


class Terms:
    """What a residual of the slow forecast may depend on.

    A level, the forecast itself, the hour and the weekday; the errors of the same hour a day and
    a week before; and how far the measurements then were from the forecast now. Of what is missing
    nothing is made.

    Args:
        clock: Lengths of time.
    """

    persistences = 2
    """Measurements of the past that are forecasts themselves."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    @property
    def width(self) -> int:
        """Number of terms `p`."""
        return len(TERM_SETS["all"])

    def of(self, slow: Float64Array, at: Steps, journal: Journal, span: Span) -> Float64Array:
        """Terms, `n x e x p`, for slow forecasts `n x e` of these steps."""
        waves = np.broadcast_to(self._waves(at)[:, None], (*slow.shape, 2 * (HARMONICS + 1)))
        entries = journal.entries
        errors = span.believed(entries.measured) - entries.slow
        lags = [at - self.clock.same_hour, at - self.clock.same_weekday]
        missed = [journal.past(errors, lag) for lag in lags]
        away = [before - slow for before in self.persisted(at, journal, span)]
        lagged = np.nan_to_num(np.stack([*missed, *away], axis=2))
        return np.concatenate(
            [np.ones_like(slow)[:, :, None], slow[:, :, None], waves, lagged], axis=2
        )

    def persisted(
        self, at: Steps, journal: Journal, span: Span
    ) -> tuple[Float64Array, Float64Array]:
        """The last known measurements of the same hour, and of the same weekday, `n x e` each."""
        measured = span.believed(journal.entries.measured)
        return (
            journal.past(measured, at - self.clock.same_hour),
            journal.past(measured, at - self.clock.same_weekday),
        )

    def _waves(self, at: Steps) -> Float64Array:
        """Day and week as points on circles, whatever hour or weekday step 0 was, `n x 6`."""
        day = 2 * np.pi * (at % self.clock.day) / self.clock.day
        week = DAYS_OF_WEEK * self.clock.day
        angles = [day * wave for wave in range(1, HARMONICS + 1)] + [2 * np.pi * (at % week) / week]
        return np.stack([turn(angle) for angle in angles for turn in (np.sin, np.cos)], axis=1)
