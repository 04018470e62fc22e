"""Checks of a data set; each error names the file, column, first wrong row and remedy."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.data.schema import Drift, Entity, Kind
from clearwatt.errors import DataError


@dataclass(frozen=True, slots=True)
class PartNames:
    """The names of the parts of a data set in messages; file names if it comes from a folder."""

    power: str = "power"
    weather: str = "weather"
    entities: str = "entities"
    drifts: str = "drift"


IN_MEMORY = PartNames()


def check_dataset(
    power: pd.DataFrame,
    *,
    weather: Mapping[str, pd.DataFrame],
    entities: Sequence[Entity],
    drifts: Sequence[Drift] = (),
    places: PartNames = IN_MEMORY,
) -> None:
    """Raise ``DataError`` for the first fault."""
    _check_entities(entities, places.entities)
    _check_clock(power.index, places.power)
    _check_columns(power, entities, places)
    _check_finite(power, place=places.power)
    for zone, frame in weather.items():
        _check_zone_name(zone, places.weather)
        _check_clock(frame.index, places.weather)
        _check_finite(frame, place=places.weather, prefix=f"{zone}__")
    _check_zones(weather, entities, places)
    _check_cover(power, weather=weather, entities=entities, places=places)
    _check_drifts(drifts, entities, places.drifts)


def check_filled(
    power: pd.DataFrame, weather: Mapping[str, pd.DataFrame], *, places: PartNames = IN_MEMORY
) -> None:
    """Require at least one value per column, because nothing can be learned from an empty one."""
    _check_filled(power, place=places.power, spare="leave the entity out of power and entities")
    for zone, frame in weather.items():
        named = frame.add_prefix(f"{zone}__")
        _check_filled(named, place=places.weather, spare="leave the column out")


def _check_filled(frame: pd.DataFrame, *, place: str, spare: str) -> None:
    empty = frame.columns[frame.isna().all().to_numpy()]
    if len(empty):
        wrong = (
            f"an empty series, without a single value to {frame.index[-1].isoformat()}; fill it, "
            f"or {spare}"
        )
        value = frame.index[0].isoformat()
        raise data_error(place, empty[0], row=1, value=value, wrong=wrong)


def data_error(place: str, column: object, *, row: int, value: object, wrong: str) -> DataError:
    """An error that names the place (row counted from 1, with its time or name) and the fault."""
    return DataError(f"{place}, column '{column}', row {row} ({value}): {wrong}")


def name_list(names: Iterable[str], *, most: int = 5) -> str:
    """The first few names, and how many more there are."""
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more


def _check_clock(index: pd.Index[pd.Timestamp], place: str) -> None:
    """Require at least two times with time zone, strictly increasing in a uniform step."""
    if not isinstance(index, pd.DatetimeIndex):
        raise DataError(
            f"{place}, column 'time': {index.dtype} are not times; index the frame by UTC times"
        )
    if len(index) < 2:
        raise DataError(
            f"{place}, column 'time', row {len(index)}: with {len(index)} rows it is an empty "
            "series; give at least two times so that the step is known"
        )
    if index.hasnans:
        row = int(np.argmax(index.isna()))
        raise data_error(
            place, "time", row=row + 1, value="empty", wrong="no time; fill or drop it"
        )
    if index.tz is None:
        wrong = "a naive time, without time zone; store UTC times"
        raise data_error(place, "time", row=1, value=index[0], wrong=wrong)
    _check_order(index, place)
    _check_step(index, place)


def _check_order(index: pd.DatetimeIndex, place: str) -> None:
    ticks = index.asi8
    backward = np.flatnonzero(np.diff(ticks) <= 0)
    if not backward.size:
        return
    row = int(backward[0]) + 1
    repeated = bool((ticks[:row] == ticks[row]).any())
    wrong = (
        "a duplicate of an earlier time; keep one row per time"
        if repeated
        else "unordered, as it is earlier than the row before; sort the rows by time"
    )
    raise data_error(place, "time", row=row + 1, value=index[row].isoformat(), wrong=wrong)


def _check_step(index: pd.DatetimeIndex, place: str) -> None:
    steps = np.diff(index.as_unit("ns").asi8)
    usual = _most_common(steps)
    uneven = np.flatnonzero(steps != usual)
    if uneven.size:
        row = int(uneven[0]) + 1
        wrong = (
            f"not uniform, as it comes {pd.Timedelta(int(steps[row - 1]))} after the row before "
            f"where the step is {pd.Timedelta(usual)}; insert missing times with empty cells, or "
            "resample"
        )
        raise data_error(place, "time", row=row + 1, value=index[row].isoformat(), wrong=wrong)


def _most_common(steps: npt.NDArray[np.int64]) -> int:
    """The most frequent step; of equally frequent ones, the first to occur."""
    values, first, counts = np.unique(steps, return_index=True, return_counts=True)
    return int(values[np.lexsort((first, -counts))[0]])


def _check_finite(frame: pd.DataFrame, *, place: str, prefix: str = "") -> None:
    """Require numbers that are finite in float32, or NaN."""
    for position, (column, dtype) in enumerate(frame.dtypes.items()):
        name = f"{prefix}{column}"
        if not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
            wrong = f"holds {dtype}, not numbers; convert the column to float32"
            value = frame.index[0].isoformat()
            raise data_error(place, name, row=1, value=value, wrong=wrong)
        with np.errstate(over="ignore"):  # an overflow is reported as infinite below
            values = frame.iloc[:, position].to_numpy(dtype=np.float32, na_value=np.nan)
        if np.isinf(values).any():
            row = int(np.argmax(np.isinf(values)))
            wrong = "the value is infinite; leave the cell empty where there is no reading"
            value = frame.index[row].isoformat()
            raise data_error(place, name, row=row + 1, value=value, wrong=wrong)


def _check_entities(entities: Sequence[Entity], place: str) -> None:
    if not entities:
        raise DataError(f"{place}, column 'entity', row 1: no entity at all; describe at least one")
    seen: set[str] = set()
    for row, entity in enumerate(entities, start=1):
        if fault := _entity_fault(entity, repeated=entity.name in seen):
            column, wrong = fault
            raise data_error(place, column, row=row, value=entity.name or "unnamed", wrong=wrong)
        seen.add(entity.name)


def _entity_fault(entity: Entity, *, repeated: bool) -> tuple[str, str] | None:
    """The column and the message of a fault, or ``None``."""
    if repeated:
        return "entity", "a duplicate of an earlier entity; keep one row per entity"
    if not entity.name or entity.name == "time":
        return "entity", f"{entity.name!r} cannot name an entity; choose another name"
    if entity.kind not in list(Kind):
        return "kind", f"unknown kind {str(entity.kind)!r}; use one of {', '.join(Kind)}"
    capacity = entity.capacity
    if capacity is not None and not (math.isfinite(capacity) and capacity > 0):
        wrong = f"capacity {capacity} is not a finite number above zero"
        return "capacity", f"{wrong}; give the rated power, or leave it empty if unknown"
    return None


def _check_zone_name(zone: str, place: str) -> None:
    """Require a zone name that can be separated from the variable in ``<zone>__<variable>``."""
    if not zone or "__" in zone or zone.endswith("_"):
        raise DataError(
            f"{place}, column '{zone}__…': {zone!r} cannot name a zone, as columns are called "
            "<zone>__<variable>; use a name without '__' that does not end in '_'"
        )


def _check_columns(power: pd.DataFrame, entities: Sequence[Entity], places: PartNames) -> None:
    columns = [str(column) for column in power.columns]
    names = [entity.name for entity in entities]
    repeated = [column for column, count in Counter(columns).items() if count > 1]
    if repeated:
        raise DataError(f"{places.power}, column '{repeated[0]}': a duplicate; keep one of them")
    for row, name in enumerate(names, start=1):
        if name not in columns:
            wrong = f"{places.power} has no such column; add the readings, or remove this row"
            raise data_error(places.entities, "entity", row=row, value=name, wrong=wrong)
    for column in columns:
        if column not in names:
            raise DataError(
                f"{places.power}, column '{column}': no such entity in {places.entities}; add a "
                f"row for it there, or remove the column"
            )
    if columns != names:
        raise DataError(
            f"{places.power}, column '{columns[0]}': the columns are not in the order of the "
            "entities; reorder them"
        )


def _check_zones(
    weather: Mapping[str, pd.DataFrame], entities: Sequence[Entity], places: PartNames
) -> None:
    known = name_list(weather) or "none"
    for row, entity in enumerate(entities, start=1):
        if entity.zone not in weather:
            wrong = (
                f"unknown zone {entity.zone!r}, as {places.weather} has no column "
                f"'{entity.zone}__…'; use a zone it has ({known}), or add the weather"
            )
            raise data_error(places.entities, "zone", row=row, value=entity.name, wrong=wrong)
    for zone, frame in weather.items():
        if not len(frame.columns):
            raise DataError(
                f"{places.weather}, column '{zone}__…': no variable at all; add at least one"
            )


def _check_cover(
    power: pd.DataFrame,
    *,
    weather: Mapping[str, pd.DataFrame],
    entities: Sequence[Entity],
    places: PartNames,
) -> None:
    """Require weather at every time of measured power; single weather values may be missing.

    A value covers its whole step: hourly weather from 00:00 to 23:00 covers the day.
    """
    for entity in entities:
        clock = weather[entity.zone].index
        first, last, step = clock[0], clock[-1], clock[1] - clock[0]
        outside = (power.index <= first - step) | (power.index >= last + step)
        uncovered = outside & power[entity.name].notna().to_numpy()
        if uncovered.any():
            row = int(np.argmax(uncovered))
            wrong = (
                f"power without weather cover, as {places.weather} spans {first.isoformat()} to "
                f"{last.isoformat()} in zone '{entity.zone}'; add weather, or empty the cell"
            )
            value = power.index[row].isoformat()
            raise data_error(places.power, entity.name, row=row + 1, value=value, wrong=wrong)


def _check_drifts(drifts: Sequence[Drift], entities: Sequence[Entity], place: str) -> None:
    names = {entity.name for entity in entities}
    for row, drift in enumerate(drifts, start=1):
        if fault := _drift_fault(drift, names):
            column, wrong = fault
            raise data_error(place, column, row=row, value=drift.what, wrong=wrong)


def _drift_fault(drift: Drift, names: set[str]) -> tuple[str, str] | None:
    if drift.entity is not None and drift.entity not in names:
        return "entity", f"no entity {drift.entity!r}; leave it empty for the whole grid"
    if not math.isfinite(drift.strength):
        return "strength", f"{drift.strength} is not a finite number; say how strong it is"
    for column, time in (("start", drift.start), ("end", drift.end)):
        if time is not None and time.tzinfo is None:
            return column, f"{time} is a naive time; store UTC times"
    if drift.end is not None and drift.end < drift.start:
        return "end", f"{drift.end} is before the start {drift.start}; swap them"
    return None
