"""Checks of an incoming weather forecast."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.data.inputs import is_neighbour
from clearwatt.errors import DataError
from clearwatt.service.api.schemas.weather import NewWeather
from clearwatt.service.records import WeatherIssue, Zone
from clearwatt.service.times import text

MINUTE = 60
HORIZON = 60 * SECONDS_PER_DAY
"""Maximum seconds from now that a weather forecast may reach."""


def check_weather(new: NewWeather, zone: Zone, *, now: float) -> WeatherIssue:
    """The weather issue of a request.

    Raises:
        DataError: If variables or times are not valid for the zone.
    """
    _check_times(new, now)
    _check_variables(new, zone)
    blank = [None] * len(new.times)  # weather of neighbours may be left out
    columns = [np.array(new.values.get(name, blank), np.float32) for name in zone.variables]
    values = np.stack(columns, axis=1)  # None is NaN by now
    return WeatherIssue(zone.id, new.issued_at, np.array(new.times, np.int64), values)


def _check_times(new: NewWeather, now: float) -> None:
    times = np.array(new.times, np.int64)
    if new.issued_at > now + SECONDS_PER_DAY:
        raise DataError(f"issued_at: {text(new.issued_at)} is more than a day in the future")
    if (late := np.flatnonzero(times > now + HORIZON)).size:
        raise DataError(f"{_place(new.times, late[0])} is more than 60 days in the future")
    if (odd := np.flatnonzero(times % MINUTE)).size:
        raise DataError(f"{_place(new.times, odd[0])} is not a whole minute")
    if (back := np.flatnonzero(np.diff(times) <= 0)).size:
        raise DataError(
            f"{_place(new.times, back[0] + 1)} is not after the time before it; sort the times "
            "and send each once"
        )


def _check_variables(new: NewWeather, zone: Zone) -> None:
    required = [name for name in zone.variables if not is_neighbour(name)]
    missing = [name for name in required if name not in new.values]
    unknown = [name for name in new.values if name not in zone.variables]
    if missing or unknown:
        what = f"{missing[0]!r} is missing" if missing else f"{unknown[0]!r} is unknown"
        raise DataError(
            f"values: {what}; zone {zone.id} has the variables {', '.join(zone.variables)}"
        )
    for name, column in new.values.items():
        if len(column) != len(new.times):
            raise DataError(
                f"values.{name}: {len(column)} values for {len(new.times)} times; send as many"
            )


def _place(times: Sequence[int], at: int) -> str:
    return f"times.{at}: {text(times[at])}"
