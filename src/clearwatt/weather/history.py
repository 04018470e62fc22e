"""Past weather as day-ahead forecasts, with issue times at which they really were available."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pandas as pd

from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.errors import ConfigurationError
from clearwatt.weather.coordinates import Coordinates
from clearwatt.weather.open_meteo import OpenMeteo
from clearwatt.weather.variables import HOUR

DAYS_AHEAD = 2
"""Default age of the model run that a value is taken from, in days.

A run is published up to six hours after its start. So a run started one day before a time was not
there a day before it; one started two days before was.
"""
PUBLICATION = 6 * HOUR
"""Seconds after the start of a run until it is published."""
DAYS_PER_REQUEST = 92


@dataclass(frozen=True, eq=False)
class DayIssue:
    """The weather of one UTC day, as available from ``issued_at`` on (seconds since 1970).

    ``weather`` has 25 hours: also the midnight after the day, to interpolate to. ``archived`` if it
    is no day-ahead forecast, but the first hours of each run, known only after the day.
    """

    issued_at: int
    weather: pd.DataFrame
    archived: bool

    @property
    def day(self) -> date:
        """The day."""
        return pd.Timestamp(self.weather.index[0]).date()


def issue_time(day: date, days_ahead: int) -> int:
    """When the last value of a day had been published, in seconds since 1970.

    The last run that is used is that of the midnight after the day, minus ``days_ahead`` days.
    """
    midnight = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())
    return midnight + (1 - days_ahead) * SECONDS_PER_DAY + PUBLICATION


def day_ahead_issues(
    source: OpenMeteo,
    places: Sequence[Coordinates],
    variables: Sequence[str],
    *,
    first: date,
    last: date,
    days_ahead: int = DAYS_AHEAD,
    archive: bool = True,
) -> Iterator[list[list[DayIssue]]]:
    """Per request the issues of each place, from ``first`` to ``last``.

    Previous runs are kept since 2024. A day on which a variable has no value there is taken from
    the archive of first hours, if ``archive``. A day without any value is left out.
    """
    if last < first:
        raise ConfigurationError(f"the last day, {last}, is before the first, {first}")
    start = first
    while start <= last:
        end = min(last, start + timedelta(days=DAYS_PER_REQUEST - 1))
        frames = source.history(places, variables, first=start, last=end, days_ahead=days_ahead)
        substitutes: list[pd.DataFrame | None] = [None] * len(places)
        if days_ahead and archive:
            short = [at for at, frame in enumerate(frames) if _incomplete_days(frame)]
            wanted = [places[at] for at in short]
            if wanted:
                found = source.history(wanted, variables, first=start, last=end, days_ahead=0)
                for at, frame in zip(short, found, strict=True):
                    substitutes[at] = frame
        yield [
            list(_issues(frame, substitute, days_ahead))
            for frame, substitute in zip(frames, substitutes, strict=True)
        ]
        start = end + timedelta(days=1)


def _issues(
    frame: pd.DataFrame, substitute: pd.DataFrame | None, days_ahead: int
) -> Iterator[DayIssue]:
    for at in range(0, len(frame) - 1, 24):
        part, ahead = frame.iloc[at : at + 25], days_ahead
        if substitute is not None and _lacks_variable(part):
            part, ahead = substitute.iloc[at : at + 25], 0
        if part.iloc[:24].notna().to_numpy().any():
            day = pd.Timestamp(part.index[0]).date()
            yield DayIssue(issue_time(day, ahead), part, archived=ahead == 0)


def _incomplete_days(frame: pd.DataFrame) -> bool:
    return any(_lacks_variable(frame.iloc[at : at + 25]) for at in range(0, len(frame) - 1, 24))


def _lacks_variable(part: pd.DataFrame) -> bool:
    """Whether a variable has no value on the day."""
    return bool((~np.isfinite(part.iloc[:24].to_numpy(np.float64))).all(axis=0).any())
