"""Reading and checking a data-set folder: the data set, or all faults of its files."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import pandas as pd

from clearwatt.data import folder
from clearwatt.data.data_faults import DataFault, FaultError, raise_first
from clearwatt.data.dataset import Dataset
from clearwatt.data.inputs import time_zone
from clearwatt.data.schema import Drift, Entity, Kind
from clearwatt.data.time_table import check_unique, parse_table, read_text
from clearwatt.data.validation import PartNames, dataset_faults, empty_faults, unknown_kind
from clearwatt.errors import DataError

T = TypeVar("T")
Faults = list[DataFault]


def check_folder(path: Path) -> tuple[Dataset | None, Faults]:
    """The data set in a folder, or None and all its faults; the folder is only read."""
    if not path.is_dir():
        raise DataError(f"{path} is not a folder; give the folder that holds power and weather")
    parts = _Parts()
    files = [parts.read(_find, path, name) for name in (folder.POWER, folder.WEATHER)]
    entities = parts.read(parse_entities, path / folder.ENTITIES)
    power = None if files[0] is None else parts.read(parse_table, files[0])
    weather = None if files[1] is None else parts.read(_parse_weather, files[1])
    drifts = parts.read(_parse_drifts, path / folder.DRIFT)
    conventions = parts.read(_parse_conventions, path / folder.CONVENTIONS)
    if power is not None and entities is not None:
        power = _reorder(power, entities)
        places = PartNames(
            str(files[0]), str(files[1]), str(path / folder.ENTITIES), str(path / folder.DRIFT)
        )
        found = dataset_faults(
            power, weather=weather, entities=entities, drifts=drifts or (), places=places
        )
        parts.faults.extend(found)
        if not parts.faults:  # a column without a number is empty, too
            parts.faults.extend(empty_faults(power, weather or {}, places=places))
    if parts.faults or power is None or entities is None or weather is None:
        return None, parts.faults
    about = path / folder.ABOUT
    dataset = Dataset(
        name=path.resolve().name,
        power=power,
        weather=weather,
        entities=entities,
        drifts=drifts or (),
        about=read_text(about) if about.exists() else "",
        **(conventions or {}),
    )
    return dataset, []


@dataclass(frozen=True)
class _Parts:
    """Collects the faults of all files of a folder."""

    faults: Faults = field(default_factory=list)

    def read(self, parse: Callable[..., tuple[T, Faults]], *place: object) -> T | None:
        """What a file holds; None if there is no use in it."""
        try:
            found, faults = parse(*place)
        except FaultError as error:
            self.faults.append(error.fault)
            return None
        self.faults.extend(faults)
        return found


def _find(path: Path, name: str) -> tuple[Path, Faults]:
    return table_file(path, name), []


def table_file(path: Path, name: str) -> Path:
    """The file of power or weather in a folder, Parquet or CSV."""
    found = [path / f"{name}{suffix}" for suffix in (".parquet", ".csv")]
    found = [file for file in found if file.is_file()]
    if not found:
        wrong = f"no {name}.parquet or {name}.csv; add one of them"
        if name == folder.WEATHER:
            wrong += ", with columns <zone>__<variable>, as forecasts are made from weather; "
            wrong += "'clearwatt weather fetch' gets one"
        raise DataFault(str(path), wrong).error()
    if len(found) > 1:
        wrong = f"both {name}.parquet and {name}.csv; keep one of them"
        raise DataFault(str(path), wrong).error()
    return found[0]


def _reorder(power: pd.DataFrame, entities: Sequence[Entity]) -> pd.DataFrame:
    """The columns in the order of the entities; a mismatch is reported by the check."""
    names = [entity.name for entity in entities]
    return power[names] if sorted(names) == sorted(power.columns) else power


def _parse_weather(path: Path) -> tuple[Mapping[str, pd.DataFrame] | None, Faults]:
    table, faults = parse_table(path)
    if table is None:
        return None, faults
    return split_zones(table, path), faults


def split_zones(table: pd.DataFrame, path: Path) -> Mapping[str, pd.DataFrame]:
    """The weather of each zone, from a table with columns ``<zone>__<variable>``."""
    zones: dict[str, dict[str, pd.Series[float]]] = {}
    for column in table.columns:
        zone, mark, variable = str(column).partition("__")
        if not (zone and mark and variable):
            wrong = f"the zone is missing; name it <zone>__<variable>, for example region__{column}"
            raise DataFault(str(path), wrong, str(column)).error()
        zones.setdefault(zone, {})[variable] = table[column]
    return {zone: pd.DataFrame(variables) for zone, variables in zones.items()}


def _parse_rows(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a small CSV file of text cells, by column."""
    if not path.is_file():
        wrong = f"no {path.name}; add it with columns {', '.join(columns)}"
        raise DataFault(str(path.parent), wrong).error()
    lines = csv.reader(io.StringIO(read_text(path), newline=""))
    header = [name.strip() for name in next(lines, [])]
    check_unique(header, path)
    for column in columns:
        if column not in header:
            found = ", ".join(header) or "none"
            raise DataFault(str(path), f"missing (found: {found}); add it", column).error()
    rows = []
    for number, cells in enumerate((line for line in lines if line), start=1):
        if len(cells) != len(header):
            wrong = f"{len(cells)} cells under {len(header)} columns; quote cells with commas"
            raise DataFault(str(path), wrong, header[0], number, cells[0]).error()
        rows.append(dict(zip(header, cells, strict=True)))
    return rows


def read_entities(path: Path) -> tuple[Entity, ...]:
    """The entities of an entities.csv."""
    entities, faults = parse_entities(path)
    raise_first(faults)
    return entities


def parse_entities(path: Path) -> tuple[tuple[Entity, ...], Faults]:
    """The entities of an entities.csv, and faults of kinds and capacities."""
    faults: Faults = []
    entities = []
    for number, row in enumerate(_parse_rows(path, folder.ENTITY_COLUMNS), start=1):
        name, kind = row["entity"].strip(), row["kind"].strip()
        text = row["capacity"].strip()
        capacity = _number(text) if text else None
        if kind not in list(Kind):
            faults.append(DataFault(str(path), unknown_kind(kind), "kind", number, name))
        if capacity is not None and math.isnan(capacity):
            capacity = None
            wrong = f"capacity {text!r} is not a number; give the rated power, or leave it empty"
            faults.append(DataFault(str(path), wrong, "capacity", number, name))
        extra = {
            key: cell for key, cell in row.items() if key not in folder.ENTITY_COLUMNS and cell
        }
        entities.append(
            Entity(
                name=name,
                # With a fault, the kind does not matter any more.
                kind=Kind(kind) if kind in list(Kind) else Kind.RESIDUAL,
                capacity=capacity,
                zone=row["zone"].strip(),
                extra=MappingProxyType(extra),
            )
        )
    return tuple(entities), faults


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _parse_drifts(path: Path) -> tuple[tuple[Drift, ...], Faults]:
    if not path.exists():
        return (), []
    faults: Faults = []
    drifts = []
    for number, row in enumerate(_parse_rows(path, folder.DRIFT_COLUMNS), start=1):
        try:
            drifts.append(_drift(row, path, number=number))
        except FaultError as error:
            faults.append(error.fault)
    return tuple(drifts), faults


def _drift(row: Mapping[str, str], path: Path, *, number: int) -> Drift:
    def parse_cell(column: str, parse: Callable[[str], T], wanted: str) -> T:
        try:
            return parse(row[column])
        except (TypeError, ValueError) as error:
            wrong = f"{row[column]!r} is not {wanted}; correct the cell"
            raise DataFault(str(path), wrong, column, number, row["what"]).error() from error

    time = "a time with an offset, such as 2024-03-31T00:00:00+00:00"
    return Drift(
        what=row["what"],
        entity=row["entity"] or None,
        start=parse_cell("start", _instant, time),
        end=parse_cell("end", _instant, time) if row["end"] else None,
        strength=parse_cell("strength", float, "a number"),
        description=row["description"],
    )


def _instant(text: str) -> pd.Timestamp:
    return pd.Timestamp(text).tz_convert("UTC")


def _parse_conventions(path: Path) -> tuple[dict[str, str], Faults]:
    """Time zone and unit of a data set; nothing if the file is absent."""
    if not path.exists():
        return {}, []
    known = {"timezone", "unit"}
    try:
        values = json.loads(read_text(path))
        if not isinstance(values, dict) or not known.issuperset(values):
            raise ValueError(f"its keys are not {' and '.join(sorted(known))}")
        time_zone(values.get("timezone", "UTC"))
        return {key: str(value) for key, value in values.items()}, []
    except (ValueError, TypeError) as error:
        wrong = f'{error}; write {{"timezone": "Europe/Berlin", "unit": "kW"}}'
        raise DataFault(str(path), wrong).error() from error
