"""Entities: registering them, finding them, and where they stand."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag
from pydantic.config import JsonDict

from clearwatt.service.api.schemas.base import LARGEST, Id, Incoming, Name, Outgoing, Page, Stamp
from clearwatt.service.records import Entity, Plain, Status
from clearwatt.service.times import optional_text, text

MOST_ENTITIES = 10_000
"""Entities of one request."""

Kind = Literal["generator", "consumer", "residual"]
State = Literal["waiting", "warming up", "learning", "held", "awaiting approval"]

_EXAMPLE: JsonDict = {
    "id": "park-7",
    "zone": "north",
    "kind": "generator",
    "capacity": 1200.0,
    "unit": "kW",
}


class NewEntity(Incoming):
    """One metered feeder."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    id: Id
    zone: Id
    kind: Kind
    capacity: float | None = Field(
        default=None, gt=0, le=LARGEST, description="Rated capacity, in the unit of its readings"
    )
    unit: Annotated[Name, Field(min_length=1, max_length=20, examples=["kW"])] = "kW"
    name: Name = ""
    extra: dict[Id, Name] = Field(
        default_factory=dict, max_length=50, description='Anything else, such as {"subtype": "pv"}'
    )


class NewEntities(Incoming):
    """Many at once: all of them or none."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"entities": [_EXAMPLE]}]})

    entities: list[NewEntity] = Field(max_length=MOST_ENTITIES)


def _one_or_many(body: object) -> str:
    many = isinstance(body, NewEntities) or (isinstance(body, dict) and "entities" in body)
    return "many" if many else "one"


OneOrMany = Annotated[
    Annotated[NewEntity, Tag("one")] | Annotated[NewEntities, Tag("many")],
    Discriminator(_one_or_many),
]


class EntityQuery(Page):
    """Which entities, and in which order."""

    zone: Id | None = None
    kind: Kind | None = None
    state: State | None = None
    q: str | None = Field(default=None, max_length=200, description="Part of an id or a name")
    sort: Literal["id", "-id", "name", "-name", "error", "-error", "state", "-state"] = Field(
        default="id", description="error is the live error of the last day; - is descending"
    )


class LiveError(Outgoing):
    """Readings against what was forecast of them, in the unit of power."""

    rmse_day: float | None = None
    mae_day: float | None = None
    n_day: int = 0
    rmse_week: float | None = None
    mae_week: float | None = None
    n_week: int = 0


class LiveInterval(Outgoing):
    """Readings of the last week against the 90 % interval that had been said of them."""

    coverage_week: float | None = Field(default=None, description="The share inside")
    width_week: float | None = Field(default=None, description="The mean width; unit of power")
    n_week: int = 0


class Window(Outgoing):
    """Times that are not learned from."""

    start: Stamp
    end: Stamp


class WindowList(Outgoing):
    """Every window of an entity, those of its whole zone included."""

    exclusions: list[Window]


class EntityRecord(Outgoing):
    """An entity as it is registered."""

    id: str
    name: str
    zone: str
    kind: Kind
    capacity: float | None
    unit: str
    extra: dict[str, str]

    @classmethod
    def registered(cls, entity: Entity) -> EntityRecord:
        """Without its number, which is the store's own affair."""
        return cls(**_record(entity))


class EntityAnswer(EntityRecord):
    """An entity and where it stands."""

    state: State
    predictor: str | None = Field(description="The version in service")
    encoder: str | None = Field(description="The version of the representation in service")
    candidate: str | None = Field(description="The version that awaits approval")
    held: bool
    approval: bool = Field(description="Whether a person must approve new versions")
    threshold: float | None = Field(description="Errors above it count as novel; unit of power")
    novel: int
    familiar: int
    novelty_capacity: int | None = Field(description="Novel samples that trigger an update")
    updates: int
    last_update: Stamp | None
    judged: int = Field(description="Readings compared with a forecast")
    quarantined: int
    exclusions: list[Window]
    live: LiveError
    interval: LiveInterval

    @classmethod
    def of(cls, entity: Entity, content: Plain) -> EntityAnswer:
        """An entity with where it stands (`entity_content`)."""
        windows = content.get("exclusions", [])
        return cls(
            **_record(entity),
            state=content.get("state", "waiting"),
            predictor=content.get("predictor"),
            encoder=content.get("encoder"),
            candidate=content.get("candidate"),
            held=content.get("held", False),
            approval=content.get("approval", False),
            threshold=content.get("threshold"),
            novel=content.get("novel", 0),
            familiar=content.get("familiar", 0),
            novelty_capacity=content.get("capacity"),
            updates=content.get("updates", 0),
            last_update=optional_text(content.get("last_update")),
            judged=content.get("judged", 0),
            quarantined=content.get("quarantined", 0),
            exclusions=[Window(start=text(start), end=text(end)) for start, end in windows],
            live=LiveError(**content.get("live", {})),
            interval=LiveInterval(**(content.get("interval") or {})),
        )


def entity_content(entity: Entity, status: Status | None) -> Plain:
    """What the status of its zone says of an entity."""
    content: Plain = status.content["entities"].get(entity.id, {}) if status else {}
    return content


def _record(entity: Entity) -> dict[str, Any]:
    return {
        "id": entity.id,
        "name": entity.name,
        "zone": entity.zone,
        "kind": entity.kind,
        "capacity": entity.capacity,
        "unit": entity.unit,
        "extra": dict(entity.extra),
    }


class EntityPage(Outgoing):
    """A part of the entities that were asked for."""

    entities: list[EntityAnswer]
    total: int
    limit: int
    offset: int


class Registered(Outgoing):
    """Entities as they are registered now."""

    entities: list[EntityRecord]
    created: int = Field(description="How many of them are new")
