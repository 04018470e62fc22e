"""The parts of a data set from data frames in memory."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pandas as pd

from clearwatt.data.folder import ENTITY_COLUMNS
from clearwatt.data.schema import Entity, Kind
from clearwatt.data.validation import name_list, unknown_kind
from clearwatt.errors import DataError

ZONE = "zone"
"""Name of the only weather zone."""
UNKNOWN = ("", "None", "nan", "<NA>", "NaT")
"""How pandas writes a cell without a value."""
EntityTable = pd.DataFrame | Mapping[str, str] | str
"""A table with a row per entity; kinds by name; or the kind of all."""


def power_frame(power: pd.DataFrame | pd.Series[float]) -> pd.DataFrame:
    """Power with one column per entity; a series is one entity, and its name is needed."""
    if not isinstance(power, pd.Series):
        return power.rename(columns=str)
    if power.name is None:
        raise DataError("the series of power has no name; name it, as in power.rename('farm')")
    return power.to_frame(str(power.name))


def weather_frames(
    weather: pd.DataFrame | Mapping[str, pd.DataFrame],
) -> dict[str, pd.DataFrame]:
    """Weather by zone; a single frame is that of the only zone."""
    frames = {ZONE: weather} if isinstance(weather, pd.DataFrame) else dict(weather)
    return {str(zone): frame.rename(columns=str) for zone, frame in frames.items()}


def entities_from(entities: EntityTable, names: list[str], zones: list[str]) -> tuple[Entity, ...]:
    """The entities, in the order of the power columns.

    Args:
        entities: as `Dataset.from_frames` takes them.
        names: power columns.
        zones: weather zones.
    """
    table = _entity_table(entities, names)
    if "kind" not in table:
        raise DataError(
            f"entities has no column 'kind'; give one with {', '.join(Kind)} for each entity"
        )
    if "zone" not in table:
        if len(zones) > 1:
            raise DataError(
                f"there are {len(zones)} weather zones, and entities has no column 'zone'; give "
                f"one of {name_list(zones)} for each entity"
            )
        table = table.assign(zone=zones[0] if zones else "")
    if missing := [name for name in names if name not in table.index]:
        raise DataError(f"entities has no row for {missing[0]!r}; give one for each power column")
    if spare := [name for name in table.index if name not in names]:
        raise DataError(f"power has no column for {spare[0]!r}; add it, or leave the entity out")
    cells = table.reindex(names).rename(columns=str)
    return tuple(
        _entity(name, dict(zip(cells.columns, row, strict=True)))
        for name, row in zip(names, cells.itertuples(index=False), strict=True)
    )


def _entity_table(entities: EntityTable, names: list[str]) -> pd.DataFrame:
    """One row per entity, indexed by its name."""
    if isinstance(entities, str):
        return pd.DataFrame({"kind": entities}, index=pd.Index(names))
    if isinstance(entities, Mapping):
        return pd.DataFrame({"kind": dict(entities)})
    table = entities.set_index("entity") if "entity" in entities else entities
    table = table.set_axis(table.index.map(str))
    if table.index.has_duplicates:
        repeated = table.index[table.index.duplicated()][0]
        raise DataError(f"entities has two rows for {repeated!r}; give one")
    return table


def _entity(name: str, row: Mapping[str, object]) -> Entity:
    """An entity of a table; None, NaN and empty text are unknown."""
    known = {key: value for key, value in row.items() if str(value).strip() not in UNKNOWN}
    if known.get("kind") not in list(Kind):
        raise DataError(f"{name}: {unknown_kind(str(row['kind']))}")
    return Entity(
        name=name,
        kind=Kind(str(known["kind"])),
        capacity=_capacity(name, known["capacity"]) if "capacity" in known else None,
        zone=str(known.get("zone", "")),
        extra=MappingProxyType(
            {key: str(value) for key, value in known.items() if key not in ENTITY_COLUMNS}
        ),
    )


def _capacity(name: str, value: object) -> float:
    try:
        return float(str(value))
    except ValueError as error:
        raise DataError(
            f"{name}: capacity {value!r} is not a number; give the rated power, or leave it empty"
        ) from error
