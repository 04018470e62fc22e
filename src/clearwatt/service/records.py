"""Frozen records of the service; times are whole seconds since 1970, UTC.

The *journal* of a zone is the source of truth: readings, weather and commands in the order of
acceptance. The learner applies it to the models; all other state is derived from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from clearwatt.service.status import Plain, ZoneStatus
from clearwatt.strategies import ComponentName

READING = np.dtype([("entity", "<i4"), ("time", "<i8"), ("value", "<f8")])
"""A reading: the entity's number, its time, its power; NaN: no value was measured."""

Readings = npt.NDArray[np.void]
"""An array of `READING`."""

Role = Literal["read", "ingest", "operate"]


@dataclass(frozen=True, slots=True)
class Zone:
    """Entities that share one weather and one clock.

    ``variables`` names the weather columns in order; ``settings`` are its learning settings as
    JSON values (see `clearwatt.service.settings.ZoneSettings`).
    """

    id: str
    step: int
    variables: tuple[str, ...]
    timezone: str = "UTC"
    name: str = ""
    settings: Plain = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RegisteredEntity:
    """One metered feeder; ``number`` is assigned by the store and -1 before.

    ``removed_at`` is the journal entry that deleted it; None: it was not.
    """

    id: str
    zone: str
    kind: Literal["generator", "consumer", "residual"]
    capacity: float | None = None
    unit: str = "kW"
    name: str = ""
    extra: Mapping[str, str] = field(default_factory=dict)
    number: int = -1
    removed_at: int | None = None


class Flag(IntEnum):
    """The quality flag of a stored reading."""

    ACCEPTED = 0
    QUARANTINED = 1
    RELEASED = 2
    DROPPED = 3
    EXCLUDED = 4
    LATE = 5


class Receipt(NamedTuple):
    """Counts of new, repeated and corrected readings of a batch."""

    new: int
    duplicates: int
    corrections: int


class StatusStamp(NamedTuple):
    """Position, generation and length of a zone's stored status; another status has another."""

    position: int
    generation: int
    length: int


@dataclass(frozen=True, slots=True, eq=False)
class WeatherIssue:
    """A weather forecast as issued: times (n), ascending, and values (n x variables), float32."""

    zone: str
    issued_at: int
    times: npt.NDArray[np.int64]
    values: npt.NDArray[np.float32]
    seq: int = -1


CommandKind = Literal[
    "warmup",
    "start",
    "adopt",
    "hold",
    "resume",
    "approval",
    "activate",
    "reject",
    "exclude",
    "include",
    "release",
    "drop",
    "confirm",
    "settings",
    "delete",
]


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a user (or of the set-up) to a zone; ``entity`` None: the whole zone."""

    kind: CommandKind
    zone: str
    entity: str | None
    arguments: Plain
    actor: str
    at: float


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a zone's journal; ``content`` is its readings, its weather or its command.

    ``at`` is when it was accepted, by the wall clock.
    """

    seq: int
    zone: str
    content: Readings | WeatherIssue | Command
    at: float


@dataclass(frozen=True, slots=True)
class ServiceEvent:
    """An action of the system or of a user.

    ``key`` is unique and derived from the action, so that recording it twice has no effect.
    ``at`` is the wall clock, ``time`` the time in the stream, if any.
    """

    key: str
    kind: str
    message: str
    at: float
    actor: str = "system"
    zone: str | None = None
    entity: str | None = None
    time: int | None = None
    details: Plain = field(default_factory=dict)
    seq: int = -1


PriorOrigin = Literal["imported", "trained"]


@dataclass(frozen=True, slots=True)
class PriorVersion:
    """A fleet prior that is stored; ``number`` counts them, ``digest`` identifies the content.

    ``origin``: it was imported, or trained by this service. ``actor`` is who did that.
    """

    digest: str
    number: int
    origin: PriorOrigin
    actor: str
    at: float


VersionStatus = Literal["deployed", "superseded", "refused", "awaiting", "damaged"]


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A trained model: ``id`` is "component:owner:number", ``path`` is below the data directory."""

    id: str
    component: ComponentName
    zone: str
    entity: str | None
    number: int
    status: VersionStatus
    at: float
    time: int | None
    threshold: float
    path: str
    event: str | None = None

    def without_clock(self) -> StoredVersion:
        """Without the time at which it was trained, which is not a function of the journal."""
        return replace(self, at=0.0)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A flag for one stored reading, with the reason as text."""

    entity: int
    time: int
    flag: Flag
    reason: str = ""


class StoredSeries(NamedTuple):
    """Stored readings of one entity: times (n), values (n), flags (n)."""

    times: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    flags: npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class StoredReading:
    """A reading with its flag; ``received`` is the wall clock of its latest value."""

    entity: int
    time: int
    value: float
    flag: Flag
    reason: str
    received: float


@dataclass(frozen=True, slots=True)
class SignalDay:
    """Forecasts of a zone's models over one UTC day (``day`` = its first second), packed.

    ``content`` is safetensors: "times" (n), "reconstruction" (n), "forecast" (n x entities, in the
    unit of power), "entities" (their numbers).
    """

    zone: str
    day: int
    content: bytes


@dataclass(frozen=True, slots=True)
class IntervalSnapshot:
    """The quantiles of a zone: a packed `clearwatt.intervals.QuantileSnapshot`.

    ``entities`` are the numbers of its entities, in the order of its columns.
    """

    zone: str
    revision: int
    entities: tuple[int, ...]
    content: bytes


@dataclass(frozen=True, slots=True)
class DeployedSnapshot:
    """What an adaptive zone forecasts with, besides its versions.

    ``base`` is a packed `clearwatt.adaptive.DeployedBase`, None if it is as before; ``rows`` are
    the packed rows since.
    """

    zone: str
    revision: int
    base: bytes | None
    rows: bytes


class RemovedEntity(NamedTuple):
    """An entity that entry ``seq`` of its zone's journal has deleted.

    ``last``: no other entity had models, so those that all share are gone, too.
    """

    id: str
    number: int
    seq: int
    last: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of applying journal entries; committed as one transaction.

    ``removed`` are entities that were deleted by one of them, ``unused`` paths of files that were
    written for versions that are not stored.
    """

    status: ZoneStatus
    events: tuple[ServiceEvent, ...] = ()
    versions: tuple[StoredVersion, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    signals: tuple[SignalDay, ...] = ()
    intervals: IntervalSnapshot | None = None
    deployed: DeployedSnapshot | None = None
    removed: tuple[RemovedEntity, ...] = ()
    unused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Vintage:
    """A forecast as answered, with its models; values (n) start at ``start``.

    ``sources`` (n) is the source of each step: 0 is the model, others are fallbacks (see
    `clearwatt.service.forecasting.fallback.Source`). ``number`` is that of the entity when it was
    answered: a forecast of a deleted entity is not stored. None: it is not checked.
    ``measured_until`` is the time of the newest measurement that it uses, None if it uses none of
    the last day, and for vintages of earlier releases.
    """

    entity: str
    issued_at: float
    weather_issued_at: int | None
    encoder: str | None
    predictor: str | None
    start: int
    step: int
    values: npt.NDArray[np.float32]
    sources: npt.NDArray[np.uint8]
    number: int | None = None
    measured_until: int | None = None

    @property
    def leads(self) -> npt.NDArray[np.float64]:
        """Seconds from the issue to each time that is forecast (n)."""
        times = self.start + self.step * np.arange(len(self.values))
        return np.asarray(times - self.issued_at, np.float64)


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token as stored: its hash only."""

    id: str
    name: str
    role: Role
    hash: str
    created_at: float
    last_used_at: float | None = None


NodeRole = Literal["web", "learner"]


class NodeIdentity(NamedTuple):
    """A process of a cluster: the name of its node, and a number that no other process has."""

    name: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """A node as the database knows it; times are by the database's clock.

    ``age`` is how many seconds ago its last sign of life (``beat``) was. ``draining``: it is to
    give its zones away. ``zones`` are those that it learns. ``content`` is what it tells of itself.
    """

    name: str
    role: NodeRole
    incarnation: int
    started: float
    beat: float
    age: float
    draining: bool
    zones: tuple[str, ...]
    content: Plain


class LatestContent(NamedTuple):
    """What the newest readings change in the forecasts of a zone, and how often it has changed."""

    revision: int
    content: bytes
