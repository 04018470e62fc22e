"""Where the grid lies, and what time and season it is there."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

import holidays
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clearwatt.arrays import Float64Array

DAYS_PER_YEAR = 365.2425
# Coldest day of the year by the sun alone: the winter solstice.
SOLSTICE = 355.0


@dataclass(frozen=True, slots=True)
class Site:
    """The location of the grid; ``state`` determines the public holidays."""

    latitude: float = 51.31
    longitude: float = 9.48
    altitude: float = 170.0
    timezone: str = "Europe/Berlin"
    state: str = "HE"


@dataclass(frozen=True, slots=True, eq=False)
class SiteClock:
    """Instants (n) with the local time, calendar and season at a site.

    ``seasons`` scales the annual cycle: 1 is the real one, 0 a permanent equinox.
    """

    site: Site
    times: pd.DatetimeIndex
    seasons: float = 1.0

    @property
    def local(self) -> pd.DatetimeIndex:
        """Local time at the site, without time zone."""
        return self.times.tz_convert(self.site.timezone).tz_localize(None)

    @property
    def hour(self) -> Float64Array:
        """Hour of the local day, 0 <= hour < 24, with fraction."""
        local = self.local
        return np.asarray(local.hour + local.minute / 60.0, dtype=np.float64)

    @property
    def weekday(self) -> NDArray[np.int64]:
        """Day of the week, Monday 0 to Sunday 6; a public holiday counts as Sunday."""
        local = self.local
        weekday = np.asarray(local.weekday, dtype=np.int64)
        days = local.normalize()
        public = pd.DatetimeIndex(public_holidays(self.site, years=calendar_years(local)))
        return np.where(days.isin(public), 6, weekday)

    def winter(self, *, lag_days: float = 0.0) -> Float64Array:
        """+1 at the winter solstice and -1 in summer, ``lag_days`` later, times ``seasons``."""
        day = np.asarray(self.times.dayofyear + self.times.hour / 24.0, dtype=np.float64)
        phase = 2.0 * np.pi * (day - SOLSTICE - lag_days) / DAYS_PER_YEAR
        return self.seasons * np.cos(phase)


def calendar_years(local: pd.DatetimeIndex) -> list[int]:
    """The calendar years from the first to the last of ``local``."""
    return list(range(int(local[0].year), int(local[-1].year) + 1))


def public_holidays(site: Site, *, years: list[int]) -> list[date]:
    """The public holidays at ``site``, sorted."""
    return sorted(holidays.country_holidays("DE", subdiv=site.state, years=years))


def easter_sunday(site: Site, year: int) -> date:
    """Easter Sunday of ``year``."""
    calendar = holidays.country_holidays("DE", subdiv=site.state, years=year, language="en_US")
    return calendar.get_named("Good Friday")[0] + timedelta(days=2)
