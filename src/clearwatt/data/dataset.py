"""The validated data set: power per entity, weather per zone, one uniform UTC clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd

from clearwatt.data.folder import folder_contents, write_folder
from clearwatt.data.frames import EntityTable, entities_from, power_frame, weather_frames
from clearwatt.data.inputs import time_zone
from clearwatt.data.schema import Drift, Entity, Kind
from clearwatt.data.validation import check_dataset, check_filled, name_list
from clearwatt.errors import DataError

# Weather kept on either side of a slice. Interpolation may bridge gaps, so the enclosing rows
# alone would not give the same inputs as the whole series.
_WEATHER_MARGIN = pd.Timedelta(days=1)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Power and weather of one grid.

    ``power``: float32, index ``time`` (UTC, uniform step), one column per entity, NaN = no reading.
    ``weather``: zone -> float32 frame, index ``time`` (UTC, uniform, possibly coarser), one column
    per variable.

    ``timezone`` is that of daily life at the entities, ``unit`` that of power and capacity, empty
    where it is unknown.

    The constructor checks all of it (``DataError`` says what to correct) and stores read-only
    copies: times in another zone become UTC, numbers become float32; the caller's frames are not
    changed.
    """

    name: str
    power: pd.DataFrame
    weather: Mapping[str, pd.DataFrame]
    entities: tuple[Entity, ...]
    drifts: tuple[Drift, ...] = ()
    about: str = ""
    timezone: str = "UTC"
    unit: str = ""

    def __post_init__(self) -> None:
        time_zone(self.timezone)
        check_dataset(self.power, weather=self.weather, entities=self.entities, drifts=self.drifts)
        weather = {zone: _read_only(frame) for zone, frame in self.weather.items()}
        object.__setattr__(self, "power", _read_only(self.power))
        object.__setattr__(self, "weather", MappingProxyType(weather))
        entities = tuple(replace(entity, kind=Kind(entity.kind)) for entity in self.entities)
        object.__setattr__(self, "entities", entities)
        object.__setattr__(self, "drifts", tuple(self.drifts))

    @classmethod
    def from_frames(
        cls,
        power: pd.DataFrame | pd.Series[float],
        weather: pd.DataFrame | Mapping[str, pd.DataFrame],
        entities: EntityTable,
        *,
        name: str = "frames",
        drifts: Iterable[Drift] = (),
        timezone: str = "UTC",
        unit: str = "",
    ) -> Dataset:
        """A data set from data frames, whose index is the time, with a time zone.

        Args:
            power: one column per entity, or a named series of one entity; NaN = no reading.
            weather: one column per variable; a mapping if there are several zones.
            entities: the kind of all ("generator", "consumer" or "residual"), kinds by name, or a
                table as in entities.csv: indexed by name (or with a column ``entity``), ``kind``,
                and if you have them ``capacity``, ``zone`` and columns of your own.
            name: of the data set.
            drifts: changes that are known.
            timezone: of daily life at the entities.
            unit: of power and capacity.
        """
        frame, zones = power_frame(power), weather_frames(weather)
        made = entities_from(entities, list(frame.columns), list(zones))
        return cls(name, frame, zones, made, tuple(drifts), timezone=timezone, unit=unit)

    @property
    def step(self) -> pd.Timedelta:
        """Time from one power reading to the next."""
        return pd.Timedelta(self.power.index[1] - self.power.index[0])

    @property
    def times(self) -> pd.DatetimeIndex:
        """The power clock (UTC)."""
        return pd.DatetimeIndex(self.power.index)

    @property
    def names(self) -> tuple[str, ...]:
        """The entities' names, in the order of the power columns."""
        return tuple(entity.name for entity in self.entities)

    @property
    def zones(self) -> tuple[str, ...]:
        """The weather zones."""
        return tuple(self.weather)

    def entity(self, name: str) -> Entity:
        """The entity called ``name``."""
        for entity in self.entities:
            if entity.name == name:
                return entity
        raise DataError(f"{self.name} has no entity {name!r}; choose from {name_list(self.names)}")

    def slice(
        self, start: str | pd.Timestamp | None = None, end: str | pd.Timestamp | None = None
    ) -> Dataset:
        """The part with ``start <= time < end``.

        Weather is kept for a day on either side, so that inputs interpolated from the slice equal
        those interpolated from the whole.
        """
        times = self.times
        first = 0 if start is None else int(times.searchsorted(_instant(start, "start")))
        stop = len(times) if end is None else int(times.searchsorted(_instant(end, "end")))
        if stop - first < 2:
            raise DataError(
                f"the slice from {start} to {end} holds {max(stop - first, 0)} readings of "
                f"{self.name}; choose at least two steps between {times[0]} and {times[-1]}"
            )
        power = self.power.iloc[first:stop]
        weather = {
            zone: _weather_around(frame, power.index[0], power.index[-1])
            for zone, frame in self.weather.items()
        }
        drifts = tuple(drift for drift in self.drifts if _overlaps(drift, power.index))
        return replace(self, power=power, weather=weather, drifts=drifts)

    def select(self, names: Iterable[str]) -> Dataset:
        """The named entities, in that order, with only their zones and drifts."""
        chosen = [names] if isinstance(names, str) else list(names)
        entities = tuple(self.entity(name) for name in chosen)
        zones = {entity.zone for entity in entities}
        return replace(
            self,
            power=self.power[chosen],
            weather={zone: self.weather[zone] for zone in self.zones if zone in zones},
            entities=entities,
            drifts=tuple(d for d in self.drifts if d.entity is None or d.entity in chosen),
        )

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write a data-set folder; it appears complete or not at all.

        Args:
            path: the folder to create; its name becomes the name of the data set when it is loaded.
            overwrite: replace a data set that exists there.
        """
        check_filled(self.power, self.weather)
        contents = folder_contents(
            self.power,
            weather=self.weather,
            entities=self.entities,
            drifts=self.drifts,
            about=self.about,
            timezone=self.timezone,
            unit=self.unit,
        )
        return write_folder(contents, Path(path), overwrite=overwrite)

    def equals(self, other: Dataset) -> bool:
        """Whether both have the same values, bit for bit; the name is not compared."""
        return (
            self.power.equals(other.power)
            and self.zones == other.zones
            and all(self.weather[zone].equals(other.weather[zone]) for zone in self.zones)
            and self.entities == other.entities
            and self.drifts == other.drifts
            and self.about == other.about
            and (self.timezone, self.unit) == (other.timezone, other.unit)
        )


def _read_only(frame: pd.DataFrame) -> pd.DataFrame:
    """A read-only float32 copy with UTC times; values that are read-only already are shared."""
    values = frame.to_numpy(dtype=np.float32)
    if values.flags.writeable:
        values = np.array(values, order="F")  # readers take one column at a time
        values.flags.writeable = False
    index = pd.DatetimeIndex(frame.index).tz_convert("UTC").as_unit("ns")
    return pd.DataFrame(
        values, index=index.set_names("time"), columns=pd.Index(frame.columns, dtype=object)
    )


def _instant(value: str | pd.Timestamp, what: str) -> pd.Timestamp:
    try:
        instant = pd.Timestamp(value)
    except ValueError as error:
        raise DataError(f"{what}={value!r} is not a time; write it as 2024-03-31T00:00Z") from error
    if instant.tzinfo is None:
        raise DataError(
            f"{what}={value!r} has no time zone; add one, for example {instant.isoformat()}Z"
        )
    return instant.tz_convert("UTC")


def _weather_around(frame: pd.DataFrame, first: pd.Timestamp, last: pd.Timestamp) -> pd.DataFrame:
    times = pd.DatetimeIndex(frame.index)
    low = int(times.searchsorted(first - _WEATHER_MARGIN, side="right")) - 1
    high = int(times.searchsorted(last + _WEATHER_MARGIN, side="left")) + 1
    return frame.iloc[max(low, 0) : high]


def _overlaps(drift: Drift, times: pd.Index[pd.Timestamp]) -> bool:
    return drift.start <= times[-1] and (drift.end is None or drift.end >= times[0])
