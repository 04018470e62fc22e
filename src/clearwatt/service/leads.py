"""How far ahead forecasts are compared with readings, and how good they were."""

from __future__ import annotations

from typing import NamedTuple

LEAD_HOURS = (1, 3, 6, 12, 24)
"""Leads that are reported, beside one step of the zone."""
HOUR = 3600


class LeadQuality(NamedTuple):
    """Forecasts of one lead over the two weeks before the last midnight (UTC).

    ``lead`` is in seconds. ``n`` counts the steps compared, those with a reading, a forecast and
    persistence; ``rmse`` is the error of the forecasts on them, in the entity's unit.
    ``rmse_persistence`` is the smaller one of the errors of repeating the last known reading and
    the same hour of the last known day. ``coverage`` is the share of the readings inside the 90 %
    interval.
    """

    lead: int
    n: int = 0
    rmse: float | None = None
    rmse_persistence: float | None = None
    coverage: float | None = None

    @property
    def skill(self) -> float | None:
        """1 - rmse / rmse_persistence: 1 is perfect, below 0 is worse than persistence."""
        if self.rmse is None or not self.rmse_persistence:
            return None
        return 1 - self.rmse / self.rmse_persistence

    @property
    def label(self) -> str:
        """The lead in words."""
        return lead_label(self.lead)


def reported_leads(step: int) -> tuple[int, ...]:
    """One step and the hours of `LEAD_HOURS` that are whole steps, in seconds, ascending."""
    hours = (HOUR * each for each in LEAD_HOURS)
    return tuple(sorted({step, *(lead for lead in hours if lead % step == 0)}))


def lead_label(lead: int) -> str:
    """Seconds as minutes or hours, such as "15 min" or "3 h"."""
    return f"{lead // HOUR} h" if lead % HOUR == 0 else f"{lead / 60:g} min"
