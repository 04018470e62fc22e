"""Zones: registration and status."""

from __future__ import annotations

from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema, field_validator

from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.service.api.schemas.base import DisplayName, Id, Incoming, Outgoing, Stamp
from clearwatt.service.records import Zone
from clearwatt.service.settings import ZoneSettings
from clearwatt.service.status import ZoneStatus
from clearwatt.service.times import optional_text


def _check_timezone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown, ill-formed, or a folder of zones
        raise ValueError(f"{name!a} is no time zone; give one such as Europe/Berlin") from None
    return name


def _check_divides_day(step: int) -> int:
    if SECONDS_PER_DAY % step:
        raise ValueError(f"{step} s do not divide a day; give a step such as 900 or 3600")
    return step


SomeSettings = Annotated[dict[str, Any], WithJsonSchema(ZoneSettings.model_json_schema())]
"""Settings as JSON values; `ZoneSettings.read` checks them, with better messages."""


class NewZone(Incoming):
    """A zone to register: entities that share weather and clock."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "north",
                    "step": 900,
                    "variables": ["temperature_c", "ghi_wm2", "wind_ms"],
                    "timezone": "Europe/Berlin",
                    "settings": {"gate_margin": 0.1, "lateness": 86400},
                }
            ]
        }
    )

    id: Id
    step: Annotated[int, Field(ge=60, le=SECONDS_PER_DAY), AfterValidator(_check_divides_day)] = (
        Field(description="Seconds between two readings; a divisor of a day")
    )
    variables: list[Id] = Field(
        default_factory=list,
        max_length=100,
        description=(
            "Weather variables; each issue has all of them. May be left out if the settings name "
            "a source of weather: then its usual ones"
        ),
    )
    timezone: Annotated[str, Field(max_length=100), AfterValidator(_check_timezone)] = "UTC"
    name: DisplayName = ""
    settings: SomeSettings = Field(
        default_factory=dict,
        description="Settings of learning; those not given are the service's defaults",
    )

    @field_validator("variables")
    @classmethod
    def _distinct(cls, variables: list[str]) -> list[str]:
        if len(set(variables)) < len(variables):
            raise ValueError("a variable is named twice")
        return variables


class ZoneAnswer(Outgoing):
    """A zone with its status."""

    id: str
    name: str
    step: int
    variables: list[str]
    timezone: str
    settings: SomeSettings
    entities: int = Field(description="Number of entities")
    state: str = Field(examples=["learning"])
    until: Stamp | None = Field(description="Time of the last row learned from")
    watermark: Stamp | None = Field(description="Time of the newest reading")
    reporting_delay: int | None = Field(
        default=None,
        description="Seconds until a measurement is known, as set or estimated; null: not known",
    )
    pending_rows: int = Field(description="Rows that wait for readings, weather or verdicts")
    steps: int
    retained_bytes: int
    encoder: str | None = Field(description="The deployed version of the shared autoencoder")
    reconstruction: dict[str, Any] | None
    journal: int = Field(description="Number of the last journal entry")
    position: int = Field(description="Number of the last journal entry processed")
    error: str | None = Field(description="Why learning fails, if it does")

    @classmethod
    def of(cls, zone: Zone, status: ZoneStatus, *, entities: int, journal: int) -> ZoneAnswer:
        """The answer for a zone and its status."""
        shared = status.reconstruction
        return cls(
            id=zone.id,
            name=zone.name,
            step=zone.step,
            variables=list(zone.variables),
            timezone=zone.timezone,
            settings=dict(status.settings) or ZoneSettings.read(dict(zone.settings)).plain(),
            entities=entities,
            state=status.state,
            until=optional_text(status.until),
            watermark=optional_text(status.watermark),
            reporting_delay=status.reporting_delay,
            pending_rows=status.pending_rows,
            steps=status.steps,
            retained_bytes=status.retained_bytes,
            encoder=status.encoder,
            reconstruction=None if shared is None else shared.to_json(),
            journal=journal,
            position=status.position,
            error=status.error,
        )


class ZoneList(Outgoing):
    """All zones, ordered by id."""

    zones: list[ZoneAnswer]
