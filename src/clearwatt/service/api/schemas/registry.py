"""Names and deletion of zones and entities."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clearwatt.service.api.schemas.base import DisplayName, Incoming, Outgoing


class NewName(Incoming):
    """Another name for a zone or an entity."""

    name: Annotated[DisplayName, Field(min_length=1)]


class Renamed(Outgoing):
    """A zone or an entity with its new name."""

    id: str
    name: str


class DeletedZone(Outgoing):
    """A zone that was deleted, and its entities."""

    id: str
    entities: list[str]
