"""Weather issues and readings of a data set, in the order in which they would have arrived."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.data import Dataset
from clearwatt.errors import ConfigurationError
from clearwatt.service.records import READING, Readings, RegisteredEntity, WeatherIssue, Zone

ISSUE_HOUR = 6
"""Hour of issue (UTC) of a weather forecast, which reaches to the end of the next day."""
DAY = 86_400

Seconds = npt.NDArray[np.int64]


def unix_seconds(times: pd.Index[pd.Timestamp]) -> Seconds:
    """Times in whole seconds since 1970."""
    return pd.DatetimeIndex(times).as_unit("s").asi8.astype(np.int64)


def zones_of(dataset: Dataset, settings: dict[str, object] | None = None) -> list[Zone]:
    """The zones of a data set as records to register."""
    step = int(dataset.step.total_seconds())
    return [
        Zone(
            id=zone,
            step=step,
            variables=tuple(str(name) for name in frame.columns),
            timezone=dataset.timezone,
            name=zone,
            settings=settings or {},
        )
        for zone, frame in dataset.weather.items()
    ]


def entities_of(dataset: Dataset) -> list[RegisteredEntity]:
    """The entities of a data set as records to register, in the order of its columns."""
    return [
        RegisteredEntity(
            id=entity.name,
            zone=entity.zone,
            kind=entity.kind.value,
            capacity=entity.capacity,
            unit=entity.extra.get("unit") or dataset.unit or "kW",
            name=entity.name,
            extra={key: text for key, text in entity.extra.items() if key != "unit"},
        )
        for entity in dataset.entities
    ]


def weather_issues(dataset: Dataset) -> list[WeatherIssue]:
    """One weather forecast per zone and day, in order of issue.

    A forecast reaches from its issue to the end of the next day. It includes the midnight after
    that, so that the last hour of the day can be interpolated as in the experiment. The first issue
    also contains everything before it.
    """
    issues = [issue for zone in dataset.zones for issue in _issues(zone, dataset.weather[zone])]
    return sorted(issues, key=lambda issue: (issue.issued_at, issue.zone))


def _issues(zone: str, frame: pd.DataFrame) -> Iterator[WeatherIssue]:
    present = frame.notna().any(axis=1).to_numpy()
    times, values = unix_seconds(frame.index)[present], frame.to_numpy(dtype=np.float32)[present]
    if not len(times):
        return
    first = int(times[0]) // DAY * DAY - DAY
    for midnight in range(first, int(times[-1]) // DAY * DAY, DAY):
        issued_at = midnight + ISSUE_HOUR * 3600
        since = int(times[0]) if midnight == first else issued_at
        low = int(np.searchsorted(times, since))
        high = int(np.searchsorted(times, midnight + 2 * DAY, side="right"))
        if low < high:
            yield WeatherIssue(zone, issued_at, times[low:high], values[low:high])


@dataclass(frozen=True)
class DeliveryFaults:
    """Simulated faults of delivery: readings shuffled ``within`` seconds, a share sent twice."""

    within: int = 0
    duplicate_share: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.within < 0:
            raise ConfigurationError(
                f"readings are to be shuffled within {self.within} s; give 0 or more"
            )
        if not 0 <= self.duplicate_share <= 1:
            raise ConfigurationError(
                f"the share of duplicates is {self.duplicate_share}; give a number from 0 to 1"
            )

    def apply(self, readings: Readings, window: int) -> Readings:
        """The readings of a window in order of arrival; depends only on seed and window."""
        rng = np.random.default_rng([self.seed, window])
        twice = rng.random(len(readings)) < self.duplicate_share
        arriving = np.concatenate([readings, readings[twice]])
        return arriving[rng.permutation(len(arriving))] if self.within else arriving


def readings_between(dataset: Dataset, first: int, stop: int) -> Readings:
    """The readings of steps first <= step < stop, in order of steps; entities by column number.

    A missing reading is delivered as NaN, so that the service does not wait for it.
    """
    power = dataset.power.iloc[first:stop].to_numpy(dtype=np.float64)
    steps, entities = power.shape
    readings = np.empty(steps * entities, dtype=READING)
    readings["entity"] = np.tile(np.arange(entities), steps)
    readings["time"] = np.repeat(unix_seconds(dataset.times[first:stop]), entities)
    readings["value"] = power.reshape(-1)
    return readings
