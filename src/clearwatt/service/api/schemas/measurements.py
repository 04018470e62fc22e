"""Readings: incoming batches and outgoing series."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field, model_validator

from clearwatt.service.api.schemas.base import (
    ID_PATTERN,
    LARGEST,
    Id,
    Incoming,
    Outgoing,
    Stamp,
    TimeRange,
)

MOST_READINGS = 50_000
"""Maximum readings of one request."""

_TEXT_TIME = {"type": "string", "format": "date-time"}
_VALUE = {"anyOf": [{"type": "number", "minimum": -LARGEST, "maximum": LARGEST}, {"type": "null"}]}
_ID = {"type": "string", "pattern": ID_PATTERN}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(properties),
        "additionalProperties": False,
    }


# Items are checked by `clearwatt.service.api.measurement_intake`: by column, or one by one.
_ITEM = _object({"entity": _ID, "time": _TEXT_TIME, "value": _VALUE})
_SERIES = _object(
    {
        "entity": _ID,
        "times": {"type": "array", "items": _TEXT_TIME},
        "values": {"type": "array", "items": _VALUE},
    }
)


def _batch(name: str, item: dict[str, Any], on_error: str) -> dict[str, Any]:
    strict = on_error == "reject"
    items = {"type": "array", "maxItems": MOST_READINGS, "items": item if strict else {}}
    mode = {"const": on_error, **({"default": on_error} if strict else {})}
    return {
        "title": f"{name}, {'all or none' if strict else 'each on its own'}",
        "type": "object",
        "properties": {name: items, "on_error": mode},
        "required": [name] if strict else [name, "on_error"],
        "additionalProperties": False,
    }


SCHEMA = {
    "description": 'With "skip", invalid items are allowed and reported back.',
    "anyOf": [
        _batch(name, item, on_error)
        for name, item in (("measurements", _ITEM), ("series", _SERIES))
        for on_error in ("reject", "skip")
    ],
    "examples": [
        {
            "measurements": [
                {"entity": "park-7", "time": "2024-05-01T12:15:00Z", "value": 812.5},
                {"entity": "park-8", "time": "2024-05-01T12:15:00Z", "value": None},
            ],
            "on_error": "skip",
        },
        {
            "series": [
                {
                    "entity": "park-7",
                    "times": ["2024-05-01T12:15:00Z", "2024-05-01T12:30:00Z"],
                    "values": [812.5, 790.0],
                }
            ]
        },
    ],
}


def _replace_schema(schema: dict[str, Any]) -> None:
    schema.clear()
    schema.update(SCHEMA)


class ReadingBatch(Incoming):
    """Readings, either item by item or in columns."""

    model_config = ConfigDict(json_schema_extra=_replace_schema)

    measurements: list[Any] | None = Field(default=None, max_length=MOST_READINGS)
    series: list[Any] | None = Field(default=None, max_length=MOST_READINGS)
    on_error: Literal["reject", "skip"] = "reject"

    @model_validator(mode="after")
    def _one_of_two(self) -> ReadingBatch:
        if (self.measurements is None) == (self.series is None):
            raise ValueError("send either measurements or series")
        return self


class Rejected(Outgoing):
    """A rejected item: its place in the request, and why."""

    where: str = Field(examples=["measurements.3"])
    reason: str


class BatchReceipt(Outgoing):
    """Counts of a stored batch."""

    new: int
    duplicates: int
    corrections: int
    rejected: list[Rejected]


class MeasurementQuery(TimeRange):
    """Entity and range of readings; default: its newest day."""

    entity: Id


Flagged = Literal["accepted", "quarantined", "released", "dropped", "excluded", "late"]


class MeasurementSeries(Outgoing):
    """Stored readings of one entity."""

    entity: str
    unit: str
    times: list[Stamp]
    values: list[float | None]
    flags: list[Flagged]
