"""Entities: registration, queries and status."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag
from pydantic.config import JsonDict

from clearwatt.service.api.schemas.base import (
    LARGEST,
    DisplayName,
    Id,
    Incoming,
    Outgoing,
    Page,
    Stamp,
)
from clearwatt.service.records import RegisteredEntity
from clearwatt.service.status import EntityPhase, EntityStatus, ExcludedWindow, LiveErrors
from clearwatt.service.times import optional_text, text

MOST_ENTITIES = 10_000
"""Maximum entities of one request."""

KindName = Literal["generator", "consumer", "residual"]

_EXAMPLE: JsonDict = {
    "id": "park-7",
    "zone": "north",
    "kind": "generator",
    "capacity": 1200.0,
    "unit": "kW",
}


class NewEntity(Incoming):
    """An entity to register: one metered feeder."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    id: Id
    zone: Id
    kind: KindName
    capacity: float | None = Field(
        default=None, gt=0, le=LARGEST, description="Rated capacity, in the unit of its readings"
    )
    unit: Annotated[DisplayName, Field(min_length=1, max_length=20, examples=["kW"])] = "kW"
    name: DisplayName = ""
    extra: dict[Id, DisplayName] = Field(
        default_factory=dict, max_length=50, description='Anything else, such as {"subtype": "pv"}'
    )


class NewEntities(Incoming):
    """Several entities, registered all or none."""

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
    """Filter, order and page of a list of entities."""

    zone: Id | None = None
    kind: KindName | None = None
    state: EntityPhase | None = None
    q: str | None = Field(default=None, max_length=200, description="Part of an id or a name")
    sort: Literal["id", "-id", "name", "-name", "error", "-error", "state", "-state"] = Field(
        default="id", description="error is the live error of the last day; - is descending"
    )


class SkillAnswer(Outgoing):
    """Live forecasts against persistence over the two weeks before the last midnight (UTC).

    Persistence repeats the same hour of the last known day.
    """

    skill: float | None = Field(
        default=None, description="1 - rmse / rmse_persistence; below 0: worse than persistence"
    )
    rmse: float | None = Field(default=None, description="Error of the forecasts, unit of power")
    rmse_persistence: float | None = Field(
        default=None, description="Error of persistence on the same steps"
    )
    n: int = Field(default=0, description="Number of steps compared")
    worse: bool = Field(
        default=False,
        description="Worse than persistence at the last midnight with two full weeks of readings",
    )


class LiveIntervalAnswer(Outgoing):
    """Coverage and width of the 90 % interval.

    The two weeks are those before the last midnight (UTC).
    """

    coverage_week: float | None = Field(default=None, description="Share of readings inside")
    width_week: float | None = Field(default=None, description="Mean width, unit of power")
    n_week: int = 0
    coverage_two_weeks: float | None = Field(default=None, description="Share of readings inside")
    n_two_weeks: int = 0
    too_narrow: bool = Field(
        default=False,
        description="Below 80 % at the last midnight with two full weeks of readings",
    )


class TimeWindow(Outgoing):
    """A window start <= time < end."""

    start: Stamp
    end: Stamp


class ExclusionAnswer(TimeWindow):
    """A window that is not learned from, and why."""

    reason: str = Field(default="", description="As it was given; empty if it is not known")
    actor: str = Field(default="", description="Who excluded it")
    whole_zone: bool = Field(default=False, description="Whether it is one of the whole zone")

    @classmethod
    def of(cls, window: ExcludedWindow) -> ExclusionAnswer:
        """The answer for a window."""
        start, end = text(window.start), text(window.end)
        return cls.model_validate({**window._asdict(), "start": start, "end": end})


class WindowList(Outgoing):
    """All excluded windows of an entity, including those of its zone."""

    exclusions: list[ExclusionAnswer]


class EntityRecord(Outgoing):
    """A registered entity."""

    id: str
    name: str
    zone: str
    kind: KindName
    capacity: float | None
    unit: str
    extra: dict[str, str]

    @classmethod
    def of_entity(cls, entity: RegisteredEntity) -> EntityRecord:
        """The answer for an entity, without its number, which is internal."""
        return cls.model_validate(entity, from_attributes=True)


class SuspicionAnswer(Outgoing):
    """Why a meter is suspected; its readings go to quarantine meanwhile."""

    kind: str = Field(description="What the readings look like, in few words")
    since: Stamp = Field(description="Time of the first reading in quarantine for it")
    reason: str = Field(description="What is wrong with the readings, and what to check")


class EntityAnswer(EntityRecord):
    """An entity with its status."""

    state: EntityPhase
    predictor: str | None = Field(description="The deployed version")
    encoder: str | None = Field(description="The deployed version of the autoencoder")
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
    suspicion: SuspicionAnswer | None = Field(default=None, description="null: not suspected")
    standing_since: Stamp | None = Field(
        default=None, description="Since when it stands still although power was forecast"
    )
    reporting_delay: int | None = Field(
        default=None,
        description="Seconds until a measurement is known, as set or estimated; null: not known",
    )
    exclusions: list[ExclusionAnswer]
    live: LiveErrors
    skill: SkillAnswer
    interval: LiveIntervalAnswer

    @classmethod
    def of(cls, entity: RegisteredEntity, status: EntityStatus) -> EntityAnswer:
        """An entity and its status."""
        component = status.component
        return cls(
            **EntityRecord.of_entity(entity).model_dump(),
            state=status.state,
            predictor=status.predictor,
            encoder=status.encoder,
            candidate=status.candidate,
            held=status.held,
            approval=component.approval,
            threshold=component.threshold,
            novel=component.novel,
            familiar=component.familiar,
            novelty_capacity=component.capacity,
            updates=component.updates,
            last_update=optional_text(status.last_update),
            judged=status.judged,
            quarantined=status.quarantined,
            suspicion=_suspicion(status),
            standing_since=optional_text(status.standing_since),
            reporting_delay=status.reporting_delay,
            exclusions=[ExclusionAnswer.of(window) for window in status.exclusions],
            live=status.live,
            skill=SkillAnswer(**asdict(status.skill), skill=status.skill.skill),
            interval=LiveIntervalAnswer(**asdict(status.interval)),
        )


def _suspicion(status: EntityStatus) -> SuspicionAnswer | None:
    found = status.suspicion
    if found is None:
        return None
    return SuspicionAnswer(kind=found.kind, since=text(found.since), reason=found.reason)


class EntityPage(Outgoing):
    """One page of the matching entities."""

    entities: list[EntityAnswer]
    total: int
    limit: int
    offset: int


class Registered(Outgoing):
    """The registered entities of a request."""

    entities: list[EntityRecord]
    created: int = Field(description="Number of new ones")
