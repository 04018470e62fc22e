"""Checks of a data set; each fault names the file, column, first wrong row and remedy."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.data.data_faults import DataFault, first_true, raise_first
from clearwatt.data.schema import Drift, Entity, Kind


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
    raise_first(
        dataset_faults(power, weather=weather, entities=entities, drifts=drifts, places=places)
    )


def dataset_faults(
    power: pd.DataFrame,
    *,
    weather: Mapping[str, pd.DataFrame] | None,
    entities: Sequence[Entity],
    drifts: Sequence[Drift] = (),
    places: PartNames = IN_MEMORY,
) -> Iterator[DataFault]:
    """All faults, each kind once for its column or row; without weather, only of the rest."""
    yield from _entity_faults(entities, places.entities)
    clocks = [list(_clock_faults(power.index, places.power))]
    yield from clocks[0]
    yield from _column_faults(power, entities, places)
    yield from _finite_faults(power, place=places.power)
    for zone, frame in (weather or {}).items():
        yield from _zone_name_faults(zone, places.weather)
        clocks.append(list(_clock_faults(frame.index, places.weather)))
        if clocks[-1] not in clocks[:-1]:  # zones of one file share its clock
            yield from clocks[-1]
        yield from _finite_faults(frame, place=places.weather, prefix=f"{zone}__")
    if weather is not None:
        yield from _zone_faults(weather, entities, places)
        if not any(clocks):
            yield from _cover_faults(power, weather=weather, entities=entities, places=places)
    yield from _drift_faults(drifts, entities, places.drifts)


def check_filled(power: pd.DataFrame, weather: Mapping[str, pd.DataFrame]) -> None:
    """Raise ``DataError`` for the first column without a value."""
    raise_first(empty_faults(power, weather))


def empty_faults(
    power: pd.DataFrame, weather: Mapping[str, pd.DataFrame], *, places: PartNames = IN_MEMORY
) -> Iterator[DataFault]:
    """Columns without a value, because nothing can be learned from them."""
    spare = "leave the entity out of power and entities"
    yield from _empty_faults(power, place=places.power, spare=spare)
    for zone, frame in weather.items():
        named = frame.add_prefix(f"{zone}__")
        yield from _empty_faults(named, place=places.weather, spare="leave the column out")


def _empty_faults(frame: pd.DataFrame, *, place: str, spare: str) -> Iterator[DataFault]:
    for column in frame.columns[frame.isna().all().to_numpy()] if len(frame) else ():
        wrong = (
            f"an empty series, without a single value to {frame.index[-1].isoformat()}; fill it, "
            f"or {spare}"
        )
        yield DataFault(place, wrong, str(column), 1, frame.index[0].isoformat(), len(frame))


def name_list(names: Iterable[str], *, most: int = 5) -> str:
    """The first few names, and how many more there are."""
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more


def _clock_faults(index: pd.Index[pd.Timestamp], place: str) -> Iterator[DataFault]:
    """Anything but two times or more with time zone, strictly increasing in a uniform step."""
    if not isinstance(index, pd.DatetimeIndex):
        yield DataFault(place, f"{index.dtype} are not times; index the frame by UTC times", "time")
    elif len(index) < 2:
        wrong = (
            f"with {len(index)} rows it is an empty series; give at least two times so that the "
            "step is known"
        )
        yield DataFault(place, wrong, "time", len(index))
    elif index.hasnans:
        missing = np.asarray(index.isna(), dtype=np.bool_)
        row, count = first_true(missing) + 1, int(missing.sum())
        yield DataFault(place, "no time; fill or drop it", "time", row, "empty", count)
    elif index.tz is None:
        wrong = "a naive time, without time zone; store UTC times"
        yield DataFault(place, wrong, "time", 1, str(index[0]), len(index))
    else:
        yield from _order_faults(index, place)
        yield from _step_faults(index, place)


def _order_faults(index: pd.DatetimeIndex, place: str) -> Iterator[DataFault]:
    repeated = index.duplicated(keep="first")
    earlier = np.concatenate([[False], np.diff(index.asi8) < 0]) & ~repeated
    wrongs = {
        "a duplicate of an earlier time; keep one row per time": repeated,
        "unordered, as it is earlier than the row before; sort the rows by time": earlier,
    }
    found = [(first_true(rows), int(rows.sum()), wrong) for wrong, rows in wrongs.items()]
    for row, count, wrong in sorted(each for each in found if each[1]):
        yield DataFault(place, wrong, "time", row + 1, index[row].isoformat(), count)


def _step_faults(index: pd.DatetimeIndex, place: str) -> Iterator[DataFault]:
    """Uneven steps of the times in their order, each time once."""
    ticks, rows = np.unique(index.as_unit("ns").asi8, return_index=True)
    steps = np.diff(ticks)
    if not len(steps):
        return
    usual = _most_common(steps)
    uneven = np.flatnonzero(steps != usual)
    if uneven.size:
        first = int(uneven[0])
        wrong = (
            f"not uniform, as it comes {pd.Timedelta(int(steps[first]))} after the row before "
            f"where the step is {pd.Timedelta(usual)}; insert missing times with empty cells, or "
            "resample"
        )
        row = int(rows[first + 1])
        yield DataFault(place, wrong, "time", row + 1, index[row].isoformat(), len(uneven))


def _most_common(steps: npt.NDArray[np.int64]) -> int:
    """The most frequent step; of equally frequent ones, the first to occur."""
    values, first, counts = np.unique(steps, return_index=True, return_counts=True)
    return int(values[np.lexsort((first, -counts))[0]])


def _finite_faults(frame: pd.DataFrame, *, place: str, prefix: str = "") -> Iterator[DataFault]:
    """Columns with anything but numbers that are finite in float32, or NaN."""
    for position, (column, dtype) in enumerate(frame.dtypes.items()):
        name = f"{prefix}{column}"
        if not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
            wrong = f"holds {dtype}, not numbers; convert the column to float32"
            yield DataFault(place, wrong, name, 1, frame.index[0].isoformat(), len(frame))
            continue
        with np.errstate(over="ignore"):  # an overflow is reported as infinite below
            values = frame.iloc[:, position].to_numpy(dtype=np.float32, na_value=np.nan)
        infinite = np.isinf(values)
        if infinite.any():
            row = first_true(infinite)
            wrong = "the value is infinite; leave the cell empty where there is no reading"
            value, count = frame.index[row].isoformat(), int(infinite.sum())
            yield DataFault(place, wrong, name, row + 1, value, count)


def _entity_faults(entities: Sequence[Entity], place: str) -> Iterator[DataFault]:
    if not entities:
        yield DataFault(place, "no entity at all; describe at least one", "entity", 1)
    seen: set[str] = set()
    for row, entity in enumerate(entities, start=1):
        if fault := _entity_fault(entity, repeated=entity.name in seen):
            column, wrong = fault
            yield DataFault(place, wrong, column, row, entity.name or "unnamed")
        seen.add(entity.name)


def _entity_fault(entity: Entity, *, repeated: bool) -> tuple[str, str] | None:
    """The column and the message of a fault, or ``None``."""
    if repeated:
        return "entity", "a duplicate of an earlier entity; keep one row per entity"
    if not entity.name or entity.name == "time":
        return "entity", f"{entity.name!r} cannot name an entity; choose another name"
    if entity.kind not in list(Kind):
        return "kind", unknown_kind(str(entity.kind))
    capacity = entity.capacity
    if capacity is not None and not (math.isfinite(capacity) and capacity > 0):
        wrong = f"capacity {capacity} is not a finite number above zero"
        return "capacity", f"{wrong}; give the rated power, or leave it empty if unknown"
    return None


def unknown_kind(kind: str) -> str:
    """The message about a kind that does not exist."""
    return f"unknown kind {kind!r}; use one of {', '.join(Kind)}"


def _zone_name_faults(zone: str, place: str) -> Iterator[DataFault]:
    """A zone name that cannot be separated from the variable in ``<zone>__<variable>``."""
    if not zone or "__" in zone or zone.endswith("_"):
        wrong = (
            f"{zone!r} cannot name a zone, as columns are called <zone>__<variable>; use a name "
            "without '__' that does not end in '_'"
        )
        yield DataFault(place, wrong, f"{zone}__…")


def _column_faults(
    power: pd.DataFrame, entities: Sequence[Entity], places: PartNames
) -> Iterator[DataFault]:
    columns = [str(column) for column in power.columns]
    names = [entity.name for entity in entities]
    for column, count in Counter(columns).items():
        if count > 1:
            yield DataFault(places.power, "a duplicate; keep one of them", column, count=count)
    for row, name in enumerate(names, start=1):
        if name not in columns:
            wrong = f"{places.power} has no such column; add the readings, or remove this row"
            yield DataFault(places.entities, wrong, "entity", row, name)
    for column in columns:
        if column not in names:
            wrong = (
                f"no such entity in {places.entities}; add a row for it there, or remove the column"
            )
            yield DataFault(places.power, wrong, column)
    if columns != names and sorted(columns) == sorted(names):
        wrong = "the columns are not in the order of the entities; reorder them"
        yield DataFault(places.power, wrong, columns[0])


def _zone_faults(
    weather: Mapping[str, pd.DataFrame], entities: Sequence[Entity], places: PartNames
) -> Iterator[DataFault]:
    known = name_list(weather) or "none"
    for row, entity in enumerate(entities, start=1):
        if entity.zone not in weather:
            wrong = (
                f"unknown zone {entity.zone!r}, as {places.weather} has no column "
                f"'{entity.zone}__…'; use a zone it has ({known}), or add the weather"
            )
            yield DataFault(places.entities, wrong, "zone", row, entity.name)
    for zone, frame in weather.items():
        if not len(frame.columns):
            wrong = "no variable at all; add at least one"
            yield DataFault(places.weather, wrong, f"{zone}__…")


def _cover_faults(
    power: pd.DataFrame,
    *,
    weather: Mapping[str, pd.DataFrame],
    entities: Sequence[Entity],
    places: PartNames,
) -> Iterator[DataFault]:
    """Measured power at times without weather; single weather values may be missing.

    A value covers its whole step: hourly weather from 00:00 to 23:00 covers the day.
    """
    for entity in entities:
        if entity.zone not in weather or list(power.columns).count(entity.name) != 1:
            continue
        clock = weather[entity.zone].index
        first, last, step = clock[0], clock[-1], clock[1] - clock[0]
        outside = (power.index <= first - step) | (power.index >= last + step)
        uncovered = outside & power[entity.name].notna().to_numpy()
        if uncovered.any():
            row = first_true(uncovered)
            wrong = (
                f"power without weather cover, as {places.weather} spans {first.isoformat()} to "
                f"{last.isoformat()} in zone '{entity.zone}'; add weather, or empty the cell"
            )
            value, count = power.index[row].isoformat(), int(uncovered.sum())
            yield DataFault(places.power, wrong, entity.name, row + 1, value, count)


def _drift_faults(
    drifts: Sequence[Drift], entities: Sequence[Entity], place: str
) -> Iterator[DataFault]:
    names = {entity.name for entity in entities}
    for row, drift in enumerate(drifts, start=1):
        if fault := _drift_fault(drift, names):
            column, wrong = fault
            yield DataFault(place, wrong, column, row, drift.what)


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
