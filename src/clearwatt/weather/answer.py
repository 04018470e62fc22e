"""Answers of Open-Meteo, as documented: JSON with one list of values per variable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from clearwatt.errors import ClearwattError
from clearwatt.weather.coordinates import Coordinates
from clearwatt.weather.variables import HOUR, UNITS

FARTHEST = 1.0
"""Degrees that the answer's grid cell may be away from the place; the coarsest grid has 0.5°."""

LARGEST = 1e9
"""Upper limit of a value in any unit; larger ones, and NaN, are no weather."""


class WeatherError(ClearwattError):
    """Weather that cannot be had; ``temporary`` if another try makes sense after ``pause`` s."""

    def __init__(self, message: str, *, temporary: bool = False, pause: float = 0.0) -> None:
        super().__init__(message)
        self.temporary, self.pause = temporary, pause


@dataclass(frozen=True)
class Question:
    """Places and columns of a request; an answer names a column with the suffix."""

    places: tuple[Coordinates, ...]
    columns: tuple[str, ...]
    suffix: str = ""


def read_answer(body: object, question: Question) -> list[pd.DataFrame]:
    """One table per place: hourly from its first to its last time, NaN where there is no value.

    Raises:
        WeatherError: If the answer is not what was asked for.
    """
    # The answer for one place is an object, for several a list in their order.
    parts = body if isinstance(body, list) else [body]
    if len(parts) != len(question.places):
        raise WeatherError(f"{len(parts)} answers came for {len(question.places)} places")
    return [
        _read_place(part, place, question)
        for part, place in zip(parts, question.places, strict=True)
    ]


def _read_place(part: object, place: Coordinates, question: Question) -> pd.DataFrame:
    if not isinstance(part, Mapping) or not isinstance(part.get("hourly"), Mapping):
        raise WeatherError(f"the answer for {place} has no hourly values; is it Open-Meteo's?")
    _check_place(part, place)
    if part.get("utc_offset_seconds", 0) != 0:
        raise WeatherError(f"the answer for {place} is not in UTC")
    hourly, units = part["hourly"], part.get("hourly_units") or {}
    times = _times(hourly.get("time"), place)
    columns = {}
    for name in question.columns:
        key = f"{name}{question.suffix}"
        if units.get(key) != UNITS[name]:
            raise WeatherError(f"{key} for {place} is in {units.get(key)!r}, not in {UNITS[name]}")
        columns[name] = _numbers(hourly.get(key), key, len(times))
    frame = pd.DataFrame(columns, index=pd.to_datetime(times, unit="s", utc=True))
    hours = pd.date_range(frame.index[0], frame.index[-1], freq="h", name="time")
    return frame.reindex(hours)


def _check_place(part: Mapping[str, Any], place: Coordinates) -> None:
    try:
        found = Coordinates(float(part["latitude"]), float(part["longitude"]))
    except (KeyError, TypeError, ValueError):
        raise WeatherError(f"the answer for {place} does not say for which place it is") from None
    if found.degrees_to(place) > FARTHEST:
        raise WeatherError(f"the answer for {place} is for another place, {found}")


def _times(given: object, place: Coordinates) -> np.ndarray:
    if not isinstance(given, Sequence) or not given or not all(type(t) is int for t in given):
        raise WeatherError(f"the answer for {place} has no times in seconds since 1970")
    times = np.array(given, np.int64)
    if (np.diff(times) <= 0).any() or (times % HOUR).any():
        raise WeatherError(f"the times for {place} are not full hours in ascending order")
    return times


def _numbers(given: object, key: str, count: int) -> np.ndarray:
    if not isinstance(given, Sequence) or len(given) != count:
        found = len(given) if isinstance(given, Sequence) else "no"
        raise WeatherError(f"{key} has {found} values for {count} times")
    if not all(value is None or _is_number(value) for value in given):
        raise WeatherError(f"{key} has values that are not numbers")
    return np.array(given, np.float32)  # None becomes NaN


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and type(value) is not bool and abs(value) < LARGEST
