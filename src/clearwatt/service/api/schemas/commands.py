"""Commands of a person."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from clearwatt.service.api.schemas.base import (
    LATER,
    Accepted,
    DisplayName,
    Id,
    Incoming,
    Outgoing,
    Time,
)

MOST_ITEMS = 1000


def _check_window(start: int | None, end: int | None) -> None:
    if start is not None and end is not None and start >= end:
        raise ValueError("end is not after start; the window is empty")


class Warmup(Incoming):
    """History to use for the warm-up; default: all."""

    start: Time | None = None
    end: Time | None = Field(default=None, examples=[LATER])

    @model_validator(mode="after")
    def _not_empty(self) -> Warmup:
        _check_window(self.start, self.end)
        return self


class Approval(Incoming):
    """Whether a person must approve a new version before it is deployed."""

    required: bool


class Window(Incoming):
    """A window start <= time < end."""

    start: Time
    end: Time = Field(examples=[LATER])

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        _check_window(self.start, self.end)
        return self


class Exclusion(Window):
    """A window to exclude from learning, and why."""

    reason: DisplayName = Field(min_length=1, examples=["meter replaced"])


class Confirmation(Incoming):
    """Why the readings of a suspected meter are real."""

    reason: DisplayName = Field(default="", examples=["a second transformer since Monday"])


class ReadingKey(Incoming):
    """A quarantined reading."""

    entity: Id
    time: Time


class ReadingKeys(Incoming):
    """Quarantined readings to release or to drop."""

    items: list[ReadingKey] = Field(min_length=1, max_length=MOST_ITEMS)
    reason: DisplayName = ""


class AcceptedList(Outgoing):
    """One command per entity."""

    commands: list[Accepted]
