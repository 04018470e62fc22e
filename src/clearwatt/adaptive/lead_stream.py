"""Forecasts of a whole stream, each made the same lead ahead."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from clearwatt.adaptive.lead_corrections import LeadCorrections
from clearwatt.adaptive.lead_errors import ErrorHistory
from clearwatt.adaptive.settings import AdaptiveSettings
from clearwatt.arrays import Float64Array, Int64Array
from clearwatt.clock import Clock, Steps


def correct_stream(
    power: Float64Array,
    measured: Float64Array,
    at: Steps,
    *,
    clock: Clock,
    settings: AdaptiveSettings | None = None,
) -> Float64Array:
    """Forecasts corrected with what is known a delay before each step, `n x e`.

    The corrections are those of `AdaptiveForecaster`, learned for one lead: the delay.

    Args:
        power: Forecasts to be corrected, `n x e`, in units of the entity's deviation.
        measured: `n x e`, in the same units; NaN where there is none.
        at: Step of each row, `n`, ascending.
        clock: Length of a day; the measurement of a step is known a delay later.
        settings: How to learn; the defaults by default.
    """
    settings = settings or AdaptiveSettings()
    lead = clock.delay
    leads = LeadCorrections.empty(
        settings.leads,
        clock=Clock(clock.day, max(clock.day, lead + 1)),
        entities=power.shape[1],
        leads=[lead],
    )
    history = ErrorHistory.of(at, power, measured, since=int(at[0]), day=clock.day)
    corrected, learned, before = np.empty_like(power), 0, int(at[0])
    for start, stop in pairwise(_first_rows_of_days(at, clock.day)):
        now = int(at[start])
        new = slice(learned, min(clock.count_known(at, now), start))
        if new.stop > new.start:
            leads = leads.learn(
                power[new], measured[new], at[new], history, now=now, passed=now - before
            )
            learned, before = new.stop, now
        rows = slice(start, stop)
        issued = at[rows] - lead
        ahead = np.full(stop - start, lead)
        found = leads.coefficients.correct(
            power[rows], ahead, history.known_at(issued), history.day_before(at[rows], issued)
        )
        corrected[rows] = found.power
    return corrected


def _first_rows_of_days(at: Steps, day: int) -> list[int]:
    """First rows of the days, and the number of rows."""
    changes: Int64Array = np.flatnonzero(np.diff(at // day)) + 1
    return [0, *changes.tolist(), len(at)]
