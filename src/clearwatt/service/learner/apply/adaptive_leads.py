"""Forecasts of an adaptive forecaster for the reported leads, with their intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clearwatt.adaptive.lead_forecasts import LeadForecasts
from clearwatt.arrays import Float64Array
from clearwatt.intervals import interpolate_leads
from clearwatt.service.leads import reported_leads
from clearwatt.service.learner.apply.errors_by_lead import LeadRows
from clearwatt.service.learner.apply.intervals import ZoneIntervals


@dataclass(frozen=True)
class ForecastDistances:
    """Steps from the newest known reading to the step that is forecast.

    Attributes:
        step: Seconds per step of the zone.
        delay: Steps after which a reading is always known.
    """

    step: int
    delay: int

    @property
    def _leads(self) -> list[int]:
        """The reported leads in steps."""
        return [lead // self.step for lead in reported_leads(self.step)]

    @property
    def near(self) -> list[int]:
        """Distances for which intervals are calibrated, beside that of a day ahead."""
        return [lead for lead in self._leads if lead < self.delay]

    def reported(self, known_after: int) -> list[int]:
        """Distance of each reported lead; readings are known after some seconds.

        Forecasts never know less than those of a delay before.
        """
        late = known_after // self.step
        return [max(lead, min(lead + late, self.delay)) for lead in self._leads]

    def computed(self, known_after: int) -> list[int]:
        """Distances for which forecasts of ended days are computed, ascending."""
        return sorted({*self.reported(known_after), *self.near})

    def compare(
        self, forecasts: LeadForecasts, intervals: ZoneIntervals, known_after: int
    ) -> LeadRows:
        """Forecasts of the reported leads with their intervals, which learn from these days.

        Args:
            forecasts: Of ended days, for the distances that are `computed`.
            intervals: Of the zone.
            known_after: Seconds after which readings are known.
        """
        computed, distances = self.computed(known_after), self.reported(known_after)
        places = [computed.index(each) for each in distances]
        power, times = forecasts.power[places], forecasts.at * self.step
        return LeadRows(
            times,
            power,
            forecasts.day_ahead,
            forecasts.spread[places],
            known_after,
            self._interval_ends(forecasts, intervals, known_after),
        )

    def _interval_ends(
        self, forecasts: LeadForecasts, intervals: ZoneIntervals, known_after: int
    ) -> Float64Array | None:
        """Ends of the interval of each lead, `b x n x entities x 2`; None: not calibrated yet."""
        computed, near = self.computed(known_after), self.near
        times = forecasts.at * self.step
        around = forecasts.power[[computed.index(each) for each in near]]
        given = intervals.observe_leads(
            around, forecasts.measured, times, leads=near, horizon=self.delay
        )
        if given is None:
            return None
        offsets = given - around[..., None]
        day_ahead = intervals.ends_at(times) - forecasts.day_ahead[..., None]
        found = []
        for distance in self.reported(known_after):
            own = forecasts.power[computed.index(distance)]
            ahead = np.full(own.shape, distance)
            moved = interpolate_leads(offsets, day_ahead, ahead, leads=near, horizon=self.delay)
            found.append(own[..., None] + moved)
        ends: Float64Array = np.clip(np.stack(found), *intervals.limits[..., None])
        return ends
