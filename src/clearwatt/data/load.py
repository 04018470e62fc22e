"""Loading a data set: from a folder, from the catalogue, or simulated."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import pandas as pd

from clearwatt.data import folder
from clearwatt.data.catalogue import CATALOGUE, fetch
from clearwatt.data.dataset import Dataset
from clearwatt.data.schema import Drift, Entity, Kind
from clearwatt.data.time_table import check_unique, read_table, read_text
from clearwatt.data.validation import PartNames, check_dataset, check_filled, data_error
from clearwatt.errors import DataError

SIMULATED = "simulated"
T = TypeVar("T")


def load_dataset(path_or_name: str | Path) -> Dataset:
    """The data set of a folder or of a name: one of the catalogue, or "simulated".

    A data set of the catalogue is downloaded once, then cached. A name takes precedence over a
    folder; write ``./name`` or pass a ``Path`` for a folder of the same name.
    """
    if path_or_name == SIMULATED:
        from clearwatt.data.simulate import simulate_grid  # pvlib takes a second to import

        return simulate_grid()
    if isinstance(path_or_name, str) and path_or_name in CATALOGUE:
        return _read_cached(path_or_name)
    path = Path(path_or_name)
    if not path.exists():
        raise DataError(
            f"{str(path_or_name)!r} is neither a folder nor a known data set "
            f"({', '.join([*CATALOGUE, SIMULATED])}); check the spelling"
        )
    return read_folder(path)


def _read_cached(name: str) -> Dataset:
    """A data set of the catalogue; the error for damaged files says how to restore them."""
    path = fetch(name)
    try:
        return read_folder(path)
    except DataError as error:
        raise DataError(
            f"the cached copy is damaged ({error}); run 'clearwatt data get {name} --refresh'"
        ) from error


def read_folder(path: Path) -> Dataset:
    """The data set in a folder, checked; the folder is only read."""
    if not path.is_dir():
        raise DataError(f"{path} is not a folder; give the folder that holds power and weather")
    files = {name: _table_file(path, name) for name in (folder.POWER, folder.WEATHER)}
    places = PartNames(
        power=str(files[folder.POWER]),
        weather=str(files[folder.WEATHER]),
        entities=str(path / folder.ENTITIES),
        drifts=str(path / folder.DRIFT),
    )
    entities = _read_entities(path / folder.ENTITIES)
    power = read_table(files[folder.POWER])
    power = _reorder(power, entities)
    weather = _split_zones(read_table(files[folder.WEATHER]), files[folder.WEATHER])
    drifts = _read_drifts(path / folder.DRIFT)
    check_dataset(power, weather=weather, entities=entities, drifts=drifts, places=places)
    check_filled(power, weather, places=places)
    about = path / folder.ABOUT
    return Dataset(
        name=path.resolve().name,
        power=power,
        weather=weather,
        entities=entities,
        drifts=drifts,
        about=read_text(about) if about.exists() else "",
    )


def _table_file(path: Path, name: str) -> Path:
    found = [path / f"{name}{suffix}" for suffix in (".parquet", ".csv")]
    found = [file for file in found if file.is_file()]
    if not found:
        raise DataError(f"{path}: no {name}.parquet or {name}.csv; add one of them")
    if len(found) > 1:
        raise DataError(f"{path}: both {name}.parquet and {name}.csv; keep one of them")
    return found[0]


def _reorder(power: pd.DataFrame, entities: Sequence[Entity]) -> pd.DataFrame:
    """The columns in the order of the entities; a mismatch is reported by the check."""
    names = [entity.name for entity in entities]
    return power[names] if set(names) == set(power.columns) else power


def _split_zones(table: pd.DataFrame, path: Path) -> Mapping[str, pd.DataFrame]:
    zones: dict[str, dict[str, pd.Series[float]]] = {}
    for column in table.columns:
        zone, mark, variable = str(column).partition("__")
        if not (zone and mark and variable):
            raise DataError(
                f"{path}, column '{column}': the zone is missing; name it <zone>__<variable>, for "
                f"example region__{column}"
            )
        zones.setdefault(zone, {})[variable] = table[column]
    return {zone: pd.DataFrame(variables) for zone, variables in zones.items()}


def _rows(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a small CSV file of text cells, by column."""
    if not path.is_file():
        raise DataError(f"{path.parent}: no {path.name}; add it with columns {', '.join(columns)}")
    lines = csv.reader(io.StringIO(read_text(path), newline=""))
    header = [name.strip() for name in next(lines, [])]
    check_unique(header, path)
    for column in columns:
        if column not in header:
            found = ", ".join(header) or "none"
            raise DataError(f"{path}, column '{column}': missing (found: {found}); add it")
    rows = []
    for number, cells in enumerate((line for line in lines if line), start=1):
        if len(cells) != len(header):
            wrong = f"{len(cells)} cells under {len(header)} columns; quote cells with commas"
            raise data_error(str(path), header[0], row=number, value=cells[0], wrong=wrong)
        rows.append(dict(zip(header, cells, strict=True)))
    return rows


def _read_entities(path: Path) -> tuple[Entity, ...]:
    rows = _rows(path, folder.ENTITY_COLUMNS)
    return tuple(_entity(row, path, number=number) for number, row in enumerate(rows, start=1))


def _entity(row: Mapping[str, str], path: Path, *, number: int) -> Entity:
    name = row["entity"].strip()
    kind = row["kind"].strip()
    if kind not in list(Kind):
        wrong = f"unknown kind {kind!r}; use one of {', '.join(Kind)}"
        raise data_error(str(path), "kind", row=number, value=name, wrong=wrong)
    extra = {key: text for key, text in row.items() if key not in folder.ENTITY_COLUMNS and text}
    return Entity(
        name=name,
        kind=Kind(kind),
        capacity=_capacity(row["capacity"].strip(), path, number=number, name=name),
        zone=row["zone"].strip(),
        extra=MappingProxyType(extra),
    )


def _capacity(text: str, path: Path, *, number: int, name: str) -> float | None:
    if not text:
        return None
    try:
        capacity = float(text)
    except ValueError:
        capacity = math.nan
    if math.isnan(capacity):
        wrong = f"capacity {text!r} is not a number; give the rated power, or leave it empty"
        raise data_error(str(path), "capacity", row=number, value=name, wrong=wrong)
    return capacity


def _read_drifts(path: Path) -> tuple[Drift, ...]:
    if not path.exists():
        return ()
    rows = _rows(path, folder.DRIFT_COLUMNS)
    return tuple(_drift(row, path, number=number) for number, row in enumerate(rows, start=1))


def _drift(row: Mapping[str, str], path: Path, *, number: int) -> Drift:
    def parse_cell(column: str, parse: Callable[[str], T], wanted: str) -> T:
        try:
            return parse(row[column])
        except (TypeError, ValueError) as error:
            wrong = f"{row[column]!r} is not {wanted}; correct the cell"
            raise data_error(
                str(path), column, row=number, value=row["what"], wrong=wrong
            ) from error

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
