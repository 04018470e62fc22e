"""Types that all schemas share: ids, names, times, numbers, pages, problems."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from clearwatt.service.times import EARLIEST, LATEST, seconds, text

ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9 _.-]{0,99}$"
VERSION_PATTERN = r"^(autoencoder|predictor)(:[A-Za-z0-9][A-Za-z0-9 _.-]{0,99}){1,2}:[0-9]{1,9}$"
ID_RULE = (
    "an id has 1 to 100 characters: letters from a to z, digits, spaces, dots, hyphens and "
    "underscores, the first a letter or a digit; other characters belong into the name"
)
"""What `ID_PATTERN` permits, in words."""
VERSION_RULE = (
    "a version is written as predictor:ENTITY:NUMBER or autoencoder:ZONE:NUMBER, as in "
    "predictor:park-7:3; /v1/models lists all"
)
LARGEST = 1e12
"""Upper limit of power and weather values; squares of larger ones lose precision."""

LATER = "2024-05-02T12:15:00Z"
"""End time in examples."""


class Incoming(BaseModel):
    """A request body: no unknown fields, no text for numbers, no NaN."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class Query(BaseModel):
    """Query parameters: numbers are parsed from text, otherwise as strict as a body."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True)


class Outgoing(BaseModel):
    """An answer."""

    model_config = ConfigDict(frozen=True)


class _DateTime:
    """Declares a field as "date-time" in the description, whatever its Python type."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"type": "string", "format": "date-time", "examples": ["2024-05-01T12:15:00Z"]}


def _check_time(time: int) -> int:
    if not EARLIEST <= time < LATEST:
        raise ValueError(f"{text(time)} is out of bounds; give a time from 1990 to 2199")
    return time


def _stamp(time: object) -> object:
    return text(time) if isinstance(time, int | float) else time


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


def _check_printable(name: str) -> str:
    if not name.isprintable():
        raise ValueError("control characters do not belong here; send printable text")
    return name


def numbers(values: npt.NDArray[np.floating[Any]]) -> list[float | None]:
    """Values (n) as JSON numbers; NaN is None."""
    return [value if math.isfinite(value) else None for value in values.tolist()]


Id = Annotated[str, Field(pattern=ID_PATTERN, examples=["park-7"])]
VersionId = Annotated[str, Field(pattern=VERSION_PATTERN, examples=["predictor:park-7:3"])]
DisplayName = Annotated[
    str, Field(max_length=200, examples=["Solar park 7"]), AfterValidator(_check_printable)
]
PrintableText = Annotated[str, AfterValidator(_check_printable)]
EventNumber = Annotated[int, Field(ge=0, lt=2**63)]
"""Number of an event; the stores count with 64 bits."""
Time = Annotated[int, BeforeValidator(seconds), AfterValidator(_check_time), _DateTime()]
Stamp = Annotated[str, _DateTime()]
RecordedTime = Annotated[str, BeforeValidator(_stamp), _DateTime()]
"""Like `Stamp`; also read from the seconds since 1970 that records have."""
FiniteOrNone = Annotated[float | None, BeforeValidator(_finite)]
Amount = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]


class Problem(Outgoing):
    """An error: its code, what is wrong and what to do."""

    code: str
    message: str
    details: list[Any]


class ProblemAnswer(Outgoing):
    """Body of every error answer."""

    error: Problem


class Accepted(Outgoing):
    """A command added to the journal of its zone.

    The learner records its outcome as the event with the key ``event``.
    """

    command: int
    zone: str
    entity: str | None
    kind: str
    event: str


class EmptyBody(Incoming):
    """An optional, empty body."""


class Page(Query):
    """One page of a long list."""

    limit: int = Field(default=100, ge=1, le=1000, description="Maximum number of items")
    offset: int = Field(default=0, ge=0, le=10_000_000, description="Number of items to skip")


class TimeRange(Query):
    """Times with start <= time < end."""

    start: Time | None = None
    end: Time | None = Field(default=None, examples=[LATER])
