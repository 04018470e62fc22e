"""The words all schemas are made of: ids, names, times, numbers, pages, problems."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

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
LARGEST = 1e12
"""No power or weather value is larger; beyond it squares lose their precision."""

LATER = "2024-05-02T12:15:00Z"
"""An end to go with the start that examples have."""


class Incoming(BaseModel):
    """A body or query: no unknown fields, no text for numbers, no NaN."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class Query(BaseModel):
    """Query parameters arrive as text, so numbers are read from it; otherwise as strict."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True)


class Outgoing(BaseModel):
    """An answer."""

    model_config = ConfigDict(frozen=True)


class _DateTime:
    """Says "date-time" in the description, whatever the type is in here."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"type": "string", "format": "date-time", "examples": ["2024-05-01T12:15:00Z"]}


def _sensible(time: int) -> int:
    if not EARLIEST <= time < LATEST:
        raise ValueError(f"{text(time)} is out of bounds; give a time from 1990 to 2199")
    return time


def _plain(name: str) -> str:
    if not name.isprintable():
        raise ValueError("control characters do not belong here; send printable text")
    return name


def numbers(values: npt.NDArray[np.floating[Any]]) -> list[float | None]:
    """Numbers (n) as JSON has them, null for NaN."""
    return [value if math.isfinite(value) else None for value in values.tolist()]


Id = Annotated[str, Field(pattern=ID_PATTERN, examples=["park-7"])]
VersionId = Annotated[str, Field(pattern=VERSION_PATTERN, examples=["predictor:park-7:3"])]
Name = Annotated[str, Field(max_length=200, examples=["Solar park 7"]), AfterValidator(_plain)]
Time = Annotated[int, BeforeValidator(seconds), AfterValidator(_sensible), _DateTime()]
Stamp = Annotated[str, _DateTime()]
Amount = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]


class Problem(Outgoing):
    """What is wrong, and what to do."""

    code: str
    message: str
    details: list[Any]


class ProblemAnswer(Outgoing):
    """Every error has this form."""

    error: Problem


class Accepted(Outgoing):
    """A command in the journal of its zone.

    Its outcome is the event with the key ``event``; it comes as soon as the learner gets to it.
    """

    command: int
    zone: str
    entity: str | None
    kind: str
    event: str


class Nothing(Incoming):
    """A body that may be left out or empty."""


class Page(Query):
    """A part of a long list."""

    limit: int = Field(default=100, ge=1, le=1000, description="How many at most")
    offset: int = Field(default=0, ge=0, le=10_000_000, description="How many to leave out first")


class Span(Query):
    """From a time up to, but not including, another."""

    start: Time | None = None
    end: Time | None = Field(default=None, examples=[LATER])


Component = Literal["autoencoder", "predictor"]
