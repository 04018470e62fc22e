"""Checks of an incoming batch of readings: the valid ones, and why others are rejected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import BeforeValidator, ConfigDict, TypeAdapter, ValidationError

from clearwatt.service.api.problems import MOST_DETAILS, RefusedItemsError, reason
from clearwatt.service.api.schemas.base import Amount
from clearwatt.service.api.schemas.measurements import MOST_READINGS, ReadingBatch
from clearwatt.service.records import READING, Readings
from clearwatt.service.registry import RegistrySnapshot
from clearwatt.service.times import EARLIEST, FUTURE, exact_seconds, text

_STRICT = ConfigDict(strict=True, allow_inf_nan=False)
_TIMES = TypeAdapter(list[Annotated[int, BeforeValidator(exact_seconds)]])
_VALUES = TypeAdapter(list[Amount | None], config=_STRICT)

Reasons = dict[int, str]


@dataclass(frozen=True)
class Columns:
    """Readings (n) as sent, each with its place in the request."""

    places: list[str] = field(default_factory=list)
    entities: list[Any] = field(default_factory=list)
    times: list[Any] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class CheckedBatch:
    """Valid readings, and the reason for each rejected place in the request."""

    readings: Readings
    rejected: Mapping[str, str]


def check_batch(batch: ReadingBatch, snapshot: RegistrySnapshot, *, now: float) -> CheckedBatch:
    """Separate the valid readings of a batch from the others.

    Raises:
        RefusedItemsError: If an item is invalid and the batch asks for all or nothing.
    """
    items = batch.measurements is not None
    columns, refused = (
        _from_items(batch.measurements or [])
        if items
        else _from_series(batch.series or [], snapshot)
    )
    readings, reasons = _readings(columns, snapshot, now)
    rejected = {**refused, **{columns.places[at]: why for at, why in reasons.items()}}
    if rejected and batch.on_error == "reject":
        _refuse(rejected, len(columns.places) + len(refused))
    return CheckedBatch(readings, rejected)


def batch_entities(batch: ReadingBatch) -> set[str]:
    """The entity ids in a batch; values that are not text are ignored."""
    items = batch.measurements if batch.measurements is not None else batch.series
    names = (item.get("entity") for item in items or [] if isinstance(item, dict))
    return {name for name in names if isinstance(name, str)}


def _refuse(rejected: Mapping[str, str], count: int) -> None:
    details = [{"where": where, "reason": why} for where, why in rejected.items()]
    first = details[0]
    raise RefusedItemsError(
        f"{len(rejected)} of {count} items cannot be taken, so none was; {first['where']}: "
        f"{first['reason']}. Correct them, or send on_error 'skip' to have the others taken",
        details[:MOST_DETAILS],
    )


def _from_items(items: Sequence[Any]) -> tuple[Columns, dict[str, str]]:
    wanted = {"entity", "time", "value"}
    columns, refused = Columns(), {}
    for at, item in enumerate(items):
        if isinstance(item, dict) and item.keys() == wanted:
            columns.places.append(f"measurements.{at}")
            columns.entities.append(item["entity"])
            columns.times.append(item["time"])
            columns.values.append(item["value"])
        else:
            refused[f"measurements.{at}"] = _field_error(item, wanted)
    return columns, refused


def _from_series(
    series: Sequence[Any], snapshot: RegistrySnapshot
) -> tuple[Columns, dict[str, str]]:
    columns, refused = Columns(), {}
    for at, item in enumerate(series):
        error = _series_error(item, snapshot, room=MOST_READINGS - len(columns.places))
        if error is not None:
            refused[f"series.{at}"] = error
            continue
        count = len(item["times"])
        columns.places.extend(f"series.{at}.{place}" for place in range(count))
        columns.entities.extend([item["entity"]] * count)
        columns.times.extend(item["times"])
        columns.values.extend(item["values"])
    return columns, refused


def _series_error(item: object, snapshot: RegistrySnapshot, *, room: int) -> str | None:
    wanted = {"entity", "times", "values"}
    if not isinstance(item, dict) or item.keys() != wanted:
        return _field_error(item, wanted)
    name, times, values = item["entity"], item["times"], item["values"]
    if not isinstance(name, str) or name not in snapshot.entities:
        return _unknown_entity(name)
    if not isinstance(times, list) or not isinstance(values, list):
        return "times and values must be lists"
    if len(times) != len(values):
        return f"{len(times)} times and {len(values)} values; send as many of both"
    if len(times) > room:
        return f"the request has more than {MOST_READINGS} readings; send several requests"
    return None


def _field_error(item: object, wanted: set[str]) -> str:
    if not isinstance(item, dict):
        return f"this must be an object with {', '.join(sorted(wanted))}"
    missing, unknown = sorted(wanted - item.keys()), sorted(item.keys() - wanted)
    parts = [f"{name} is missing" for name in missing]
    parts += [f"{name[:40]!a} is unknown; leave it out" for name in unknown[:3]]
    return "; ".join(parts)


def _readings(columns: Columns, snapshot: RegistrySnapshot, now: float) -> tuple[Readings, Reasons]:
    reasons: Reasons = {}
    readings = np.zeros(len(columns.places), dtype=READING)
    values = _column(_VALUES, columns.values, reasons, "value")
    readings["value"] = np.array(values, dtype=np.float64)  # None becomes NaN
    readings["time"] = [time or 0 for time in _column(_TIMES, columns.times, reasons, "time")]
    steps = _look_up(columns.entities, snapshot, readings["entity"], reasons)
    _check_times(readings["time"], steps, now, reasons)
    taken = np.ones(len(readings), np.bool_)
    taken[list(reasons)] = False
    return readings[taken], dict(sorted(reasons.items()))


def _column(adapter: TypeAdapter[Any], given: list[Any], reasons: Reasons, name: str) -> list[Any]:
    """The parsed column; None for invalid values."""
    try:
        parsed: list[Any] = adapter.validate_python(given)
    except ValidationError as error:
        for found in error.errors(include_url=False):
            reasons.setdefault(int(found["loc"][0]), f"{name}: {reason(found)}")
        valid = [None if at in reasons else value for at, value in enumerate(given)]
        return [None if value is None else adapter.validate_python([value])[0] for value in valid]
    return parsed


def _look_up(
    given: Sequence[Any],
    snapshot: RegistrySnapshot,
    numbers: npt.NDArray[np.int32],
    reasons: Reasons,
) -> npt.NDArray[np.int64]:
    """Fill in the entities' numbers; returns the step of each reading's zone."""
    steps = np.ones(len(given), np.int64)
    known: dict[str, tuple[int, int]] = {}
    for at, name in enumerate(given):
        if not isinstance(name, str) or (entity := snapshot.entities.get(name)) is None:
            reasons.setdefault(at, _unknown_entity(name))
            continue
        if name not in known:
            known[name] = entity.number, snapshot.zones[entity.zone].step
        numbers[at], steps[at] = known[name]
    return steps


def _unknown_entity(name: object) -> str:
    if not isinstance(name, str):
        return "entity: this must be text"
    return f"entity {name[:100]!a} is unknown; register it at POST /v1/entities"


def _check_times(
    times: npt.NDArray[np.int64], steps: npt.NDArray[np.int64], now: float, reasons: Reasons
) -> None:
    outside = (times < EARLIEST) | (times > now + FUTURE)
    for at in np.flatnonzero(outside):
        where = "before 1990" if times[at] < EARLIEST else "more than a day in the future"
        reasons.setdefault(
            int(at), f"time: {text(int(times[at]))} is {where}; check the sender's clock"
        )
    for at in np.flatnonzero((times % steps != 0) & ~outside):
        step = int(steps[at])
        nearest = (int(times[at]) + step // 2) // step * step
        reasons.setdefault(
            int(at),
            f"time: {text(int(times[at]))} is not on the zone's clock of {step} s; the nearest "
            f"step is {text(nearest)}",
        )
