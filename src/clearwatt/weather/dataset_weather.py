"""The weather of a data set: the table for its zones, beside the readings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pandas as pd

from clearwatt.data import folder
from clearwatt.data.folder_check import read_entities, table_file
from clearwatt.data.schema import Entity
from clearwatt.data.time_table import read_table
from clearwatt.errors import ConfigurationError, DataError
from clearwatt.weather.coordinates import Coordinates
from clearwatt.weather.history import DAYS_AHEAD, DayIssue, day_ahead_issues
from clearwatt.weather.open_meteo import OpenMeteo
from clearwatt.weather.variables import require_known, variables_of

CREDIT = "Weather: [Open-Meteo](https://open-meteo.com), CC BY 4.0"


@dataclass(frozen=True)
class ZonePlace:
    """A zone, where it is, and which weather it needs."""

    zone: str
    place: Coordinates
    variables: tuple[str, ...]

    def __post_init__(self) -> None:
        require_known(self.variables)


@dataclass(frozen=True, eq=False)
class ZoneWeather:
    """The weather of a zone, hourly, and how many of its days are from the archive."""

    zone: ZonePlace
    frame: pd.DataFrame
    days: int
    archived: int


@dataclass(frozen=True, eq=False)
class ReadingsFolder:
    """Entities and times of a data-set folder, which may have no weather yet."""

    path: Path
    entities: tuple[Entity, ...]
    times: pd.DatetimeIndex

    @classmethod
    def read(cls, path: Path) -> ReadingsFolder:
        """Read the folder."""
        if not path.is_dir():
            raise DataError(f"{path} is not a folder; give one that 'clearwatt data import' wrote")
        entities = read_entities(path / folder.ENTITIES)
        power = read_table(table_file(path, folder.POWER))
        return cls(path, entities, pd.DatetimeIndex(power.index))

    @property
    def step(self) -> int:
        """Seconds between two readings."""
        if len(self.times) < 2:
            raise DataError(f"{self.path} has one reading only, so its step is unknown")
        return int((self.times[1] - self.times[0]).total_seconds())

    def zones(
        self, places: Mapping[str, Coordinates], variables: Sequence[str] = ()
    ) -> list[ZonePlace]:
        """The zones of the entities; a place that is not given is that of the entities.

        Args:
            places: by zone; the key "" stands for the only zone.
            variables: of every zone; default: those of the kinds of its entities.
        """
        by_zone: dict[str, list[Entity]] = {}
        for entity in self.entities:
            by_zone.setdefault(entity.zone, []).append(entity)
        if "" in places and len(by_zone) > 1:
            raise ConfigurationError(
                f"{self.path} has the zones {', '.join(by_zone)}; give --coordinates ZONE=LAT,LON "
                "for each"
            )
        unknown = [zone for zone in places if zone and zone not in by_zone]
        if unknown:
            raise ConfigurationError(
                f"{self.path} has no zone {unknown[0]!r}; its zones are {', '.join(by_zone)}"
            )
        return [
            ZonePlace(
                zone,
                places.get(zone) or places.get("") or _place_of(zone, entities),
                tuple(variables) or variables_of(entities, step=self.step),
            )
            for zone, entities in by_zone.items()
        ]


def _place_of(zone: str, entities: Sequence[Entity]) -> Coordinates:
    """The mean of the columns latitude and longitude of entities.csv."""
    try:
        found = [(float(e.extra["latitude"]), float(e.extra["longitude"])) for e in entities]
    except (KeyError, ValueError):
        raise ConfigurationError(
            f"where is zone {zone!r}? Give --coordinates {zone}=LAT,LON, or columns latitude and "
            "longitude in entities.csv"
        ) from None
    return Coordinates(
        sum(latitude for latitude, _ in found) / len(found),
        sum(longitude for _, longitude in found) / len(found),
    )


def fetch_weather(
    source: OpenMeteo,
    zones: Sequence[ZonePlace],
    *,
    first: date,
    last: date,
    days_ahead: int = DAYS_AHEAD,
    archive: bool = True,
) -> Iterator[list[ZoneWeather]]:
    """Per group of zones with the same variables their weather, from ``first`` to ``last``."""
    groups: dict[tuple[str, ...], list[ZonePlace]] = {}
    for zone in zones:
        groups.setdefault(zone.variables, []).append(zone)
    hours = pd.date_range(first, last + pd.Timedelta(days=1), freq="h", tz="UTC", name="time")
    for variables, members in groups.items():
        issues: list[list[DayIssue]] = [[] for _ in members]
        places = [member.place for member in members]
        for part in day_ahead_issues(
            source,
            places,
            variables,
            first=first,
            last=last,
            days_ahead=days_ahead,
            archive=archive,
        ):
            for found, more in zip(issues, part, strict=True):
                found.extend(more)
        yield [
            _zone_weather(member, found, hours)
            for member, found in zip(members, issues, strict=True)
        ]


def _zone_weather(
    zone: ZonePlace, issues: Sequence[DayIssue], hours: pd.DatetimeIndex
) -> ZoneWeather:
    if not issues:
        raise DataError(
            f"Open-Meteo has no weather of zone {zone.zone!r} ({zone.place}) for these days; "
            "previous runs begin in 2024: give a later --start, or leave --no-archive out"
        )
    parts = [issue.weather for issue in issues]
    frame = pd.concat(parts)
    # A day's own first hour replaces the midnight at the end of the day before.
    frame = frame[~frame.index.duplicated(keep="last")].reindex(hours)
    empty = frame.columns[frame.isna().all()]
    if len(empty):
        raise DataError(
            f"Open-Meteo has no {empty[0]} of zone {zone.zone!r} ({zone.place}) for these days; "
            "leave it out of --variables"
        )
    archived = sum(issue.archived for issue in issues)
    return ZoneWeather(zone, frame, len(issues), archived)


def weather_table(found: Sequence[ZoneWeather]) -> pd.DataFrame:
    """One table, with columns ``<zone>__<variable>``."""
    return folder.joined_weather({each.zone.zone: each.frame for each in found})


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a weather table as Parquet or CSV, by the ending of the file."""
    from clearwatt.files import write_atomically

    if path.suffix == ".parquet":
        write_atomically(path, folder.parquet_bytes(table))
    elif path.suffix == ".csv":
        text = table.to_csv(date_format="%Y-%m-%dT%H:%M:%SZ", lineterminator="\n")
        write_atomically(path, text.encode())
    else:
        raise ConfigurationError(f"{path} is neither .parquet nor .csv; give such a file")


def write_to_folder(table: pd.DataFrame, readings: ReadingsFolder, note: str) -> None:
    """Put a weather table into a data-set folder; its other files stay, ABOUT.md gets the note."""
    path = readings.path
    folder.check_target(path, overwrite=True)
    contents = {
        item.name: item.read_bytes()
        for item in path.iterdir()
        if not item.name.startswith(f"{folder.WEATHER}.")
    }
    contents[f"{folder.WEATHER}.parquet"] = folder.parquet_bytes(table)
    about = contents.get(folder.ABOUT, b"").decode("utf-8-sig")
    kept = "\n".join(line for line in about.splitlines() if not line.startswith(CREDIT))
    contents[folder.ABOUT] = f"{kept.rstrip()}\n\n{CREDIT}, {note}\n".lstrip().encode()
    folder.write_folder(contents, path, overwrite=True)


def has_weather(path: Path) -> bool:
    """Whether a data-set folder has weather."""
    return any((path / f"{folder.WEATHER}{suffix}").is_file() for suffix in (".parquet", ".csv"))
