"""The status of a zone and of its entities: what forecasts, metrics and pages read.

The learner builds it, the store writes it as JSON (`ZoneStatus.to_json`) and reads it back
(`ZoneStatus.from_json`). A key that this version does not have is ignored and a missing one has its
default, so that statuses of earlier versions can be read. docs/service.md lists the keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple, TypeVar

from clearwatt.service.leads import LeadQuality

Plain = Mapping[str, Any]
ZonePhase = Literal["waiting", "warming up", "learning", "held"]
EntityPhase = Literal[
    "waiting",
    "warming up",
    "from the fleet",
    "learning",
    "held",
    "suspected",
    "standing still",
    "awaiting approval",
]


@dataclass(frozen=True, slots=True)
class LiveErrors:
    """Errors of live forecasts over the last day and week, in the entity's unit; None: no reading.

    ``n_day`` and ``n_week`` count the readings that were compared. Those of ``total`` are since the
    warm-up, up to the last midnight (UTC).
    """

    n_day: int = 0
    rmse_day: float | None = None
    mae_day: float | None = None
    n_week: int = 0
    rmse_week: float | None = None
    mae_week: float | None = None
    n_total: int = 0
    rmse_total: float | None = None
    mae_total: float | None = None


@dataclass(frozen=True, slots=True)
class ForecastSkill:
    """Live forecasts against persistence over the two weeks before the last midnight (UTC).

    ``n`` counts the steps compared. ``rmse`` is the error of the forecasts on them and
    ``rmse_persistence`` that of repeating the same hour of the last known day, in the entity's
    unit. ``worse``: the forecasts had the larger error, over two full weeks of readings.
    """

    n: int = 0
    rmse: float | None = None
    rmse_persistence: float | None = None
    worse: bool = False

    @property
    def skill(self) -> float | None:
        """1 - rmse / rmse_persistence: 1 is perfect, below 0 is worse than persistence."""
        if self.rmse is None or not self.rmse_persistence:
            return None
        return 1 - self.rmse / self.rmse_persistence


@dataclass(frozen=True, slots=True)
class IntervalQuality:
    """Share of readings inside the 90 % interval, and its mean width.

    The two weeks are those before the last midnight (UTC). ``too_narrow``: the interval contained
    less than 80 % of two full weeks of readings.
    """

    n_week: int = 0
    coverage_week: float | None = None
    width_week: float | None = None
    n_two_weeks: int = 0
    coverage_two_weeks: float | None = None
    too_narrow: bool = False


@dataclass(frozen=True, slots=True)
class ComponentStatus:
    """Threshold, buffers and updates of a component; ``capacity`` None: there is no model yet."""

    threshold: float | None = None
    novel: int = 0
    familiar: int = 0
    capacity: int | None = None
    updates: int = 0
    approval: bool = False

    @property
    def fill(self) -> float:
        """Fill of the novelty buffer; at 1 an update begins."""
        return self.novel / self.capacity if self.capacity else 0.0


@dataclass(frozen=True, slots=True)
class ReconstructionStatus:
    """The shared autoencoder and its mean error over the last day."""

    component: ComponentStatus
    error_day: float | None = None

    def to_json(self) -> dict[str, Any]:
        """JSON values, with the component's on the same level."""
        return {**_values(self.component), "error_day": self.error_day}

    @classmethod
    def from_json(cls, content: Plain) -> ReconstructionStatus:
        """Inverse of `to_json`."""
        return cls(_record(ComponentStatus, content), content.get("error_day"))


class ExcludedWindow(NamedTuple):
    """A window start <= time < end, in seconds, that is not learned from.

    ``reason`` and ``actor`` are empty for windows of earlier releases. ``whole_zone``: it is one of
    all entities of the zone.
    """

    start: int
    end: int
    reason: str = ""
    actor: str = ""
    whole_zone: bool = False


class SuspicionStatus(NamedTuple):
    """Why a meter is suspected, in few words and as a sentence, and since which reading."""

    kind: str
    since: int
    reason: str


@dataclass(frozen=True, slots=True)
class EntityStatus:
    """The status of an entity.

    ``predictor``, ``encoder`` and ``candidate`` are version ids; ``candidate`` awaits approval.
    ``judged`` counts readings compared with a forecast, ``spark`` is the error of each of the last
    seven days, the oldest first. ``received`` counts readings that wait for the
    warm-up. ``leads`` has the errors by lead, ``size`` what they are a share of: the capacity, or
    else the power scaled to 1. ``number`` is the store's number of the entity, which tells it from
    a deleted one with the same id; None in statuses of earlier releases. ``reporting_delay`` is the
    number of seconds until a measurement is known, None: not known yet. ``suspicion`` is why its
    readings go to quarantine, None: they do not. ``standing_since`` is the time since which it
    stands still although power was forecast, None: it runs.
    """

    state: EntityPhase = "waiting"
    predictor: str | None = None
    encoder: str | None = None
    candidate: str | None = None
    judged: int = 0
    live: LiveErrors = LiveErrors()
    skill: ForecastSkill = ForecastSkill()
    spark: tuple[float | None, ...] = ()
    interval: IntervalQuality = IntervalQuality()
    leads: tuple[LeadQuality, ...] = ()
    size: float | None = None
    last_update: int | None = None
    component: ComponentStatus = ComponentStatus()
    held: bool = False
    exclusions: tuple[ExcludedWindow, ...] = ()
    quarantined: int = 0
    received: int = 0
    number: int | None = None
    reporting_delay: int | None = None
    suspicion: SuspicionStatus | None = None
    standing_since: int | None = None

    def to_json(self) -> dict[str, Any]:
        """JSON values; the keys of a model are left out while there is none."""
        model = self._model_json()
        if self.predictor is None and model == _NO_MODEL:
            model = {"predictor": None}
        return {
            "state": self.state,
            **model,
            "held": self.held,
            "exclusions": [list(window) for window in self.exclusions],
            "quarantined": self.quarantined,
            "received": self.received,
            **({} if self.number is None else {"number": self.number}),
            **_reporting_delay(self.reporting_delay),
            **({} if self.suspicion is None else {"suspicion": list(self.suspicion)}),
            **({} if self.standing_since is None else {"standing_since": self.standing_since}),
        }

    def _model_json(self) -> dict[str, Any]:
        return {
            "predictor": self.predictor,
            "encoder": self.encoder,
            "candidate": self.candidate,
            "judged": self.judged,
            "live": _values(self.live),
            "skill": _values(self.skill),
            "spark": list(self.spark),
            "interval": _values(self.interval),
            "leads": [list(each) for each in self.leads],
            "size": self.size,
            "last_update": self.last_update,
            **_values(self.component),
        }

    @classmethod
    def from_json(cls, content: Plain) -> EntityStatus:
        """Inverse of `to_json`."""
        return cls(
            state=content.get("state", "waiting"),
            predictor=content.get("predictor"),
            encoder=content.get("encoder"),
            candidate=content.get("candidate"),
            judged=content.get("judged", 0),
            live=_record(LiveErrors, content.get("live")),
            skill=_record(ForecastSkill, content.get("skill")),
            spark=tuple(content.get("spark") or ()),
            interval=_record(IntervalQuality, content.get("interval")),
            leads=tuple(LeadQuality(*each) for each in content.get("leads", ())),
            size=content.get("size"),
            last_update=content.get("last_update"),
            component=_record(ComponentStatus, content),
            held=content.get("held", False),
            exclusions=tuple(ExcludedWindow(*each) for each in content.get("exclusions", ())),
            quarantined=content.get("quarantined", 0),
            received=content.get("received", 0),
            number=content.get("number"),
            reporting_delay=content.get("reporting_delay"),
            suspicion=SuspicionStatus(*given) if (given := content.get("suspicion")) else None,
            standing_since=content.get("standing_since"),
        )


@dataclass(frozen=True, slots=True)
class ZoneStatus:
    """The status of a zone after applying its journal up to ``position``.

    ``generation`` grows by one with each change of deployed models. ``until`` is the time of the
    last row learned from, ``watermark`` that of the newest reading. ``scaling`` and ``settings``
    are JSON values (`clearwatt.service.scaling`, `clearwatt.service.settings`), ``intervals`` is
    the revision of the zone's intervals, ``deployed`` that of what an adaptive zone forecasts with
    besides its versions. ``removed`` is the number of the journal entry that deleted something
    last. ``reporting_delay`` is the number of seconds until most measurements are known, None: not
    known yet. ``error`` is why learning fails; None: it does not.
    """

    zone: str
    position: int = 0
    generation: int = 0
    state: ZonePhase = "waiting"
    until: int | None = None
    watermark: int | None = None
    pending_rows: int = 0
    steps: int = 0
    retained_bytes: int = 0
    scaling: Plain | None = None
    columns: tuple[str, ...] = ()
    settings: Plain = field(default_factory=dict)
    encoder: str | None = None
    reconstruction: ReconstructionStatus | None = None
    intervals: int | None = None
    deployed: int | None = None
    entities: Mapping[str, EntityStatus] = field(default_factory=dict)
    error: str | None = None
    removed: int = 0
    reporting_delay: int | None = None

    def entity(self, name: str, *, number: int | None = None) -> EntityStatus:
        """The status of an entity; one that the learner has not seen yet is waiting.

        With a number, the status of a deleted entity with the same id is not returned.
        """
        found = self.entities.get(name) or EntityStatus()
        others = None not in (number, found.number) and number != found.number
        return EntityStatus() if others else found

    @property
    def entity_numbers(self) -> dict[str, int]:
        """The store's number of each entity, as far as the status tells it."""
        numbers = ((name, entity.number) for name, entity in self.entities.items())
        return {name: number for name, number in numbers if number is not None}

    def to_json(self) -> dict[str, Any]:
        """JSON values without zone, position and generation, which are columns of the store."""
        shared = self.reconstruction
        content = {
            "state": self.state,
            "until": self.until,
            "watermark": self.watermark,
            "pending_rows": self.pending_rows,
            "steps": self.steps,
            "retained_bytes": self.retained_bytes,
            "scaling": self.scaling,
            "columns": list(self.columns),
            "settings": self.settings,
            "encoder": self.encoder,
            "reconstruction": None if shared is None else shared.to_json(),
            "intervals": self.intervals,
            "deployed": self.deployed,
            "entities": {name: entity.to_json() for name, entity in self.entities.items()},
            **({"removed": self.removed} if self.removed else {}),
            **_reporting_delay(self.reporting_delay),
        }
        return content if self.error is None else {**content, "error": self.error}

    @classmethod
    def from_json(
        cls, content: Plain, *, zone: str, position: int = 0, generation: int = 0
    ) -> ZoneStatus:
        """Inverse of `to_json`."""
        shared = content.get("reconstruction")
        entities = content.get("entities") or {}
        return cls(
            zone=zone,
            position=position,
            generation=generation,
            state=content.get("state", "waiting"),
            until=content.get("until"),
            watermark=content.get("watermark"),
            pending_rows=content.get("pending_rows", 0),
            steps=content.get("steps", 0),
            retained_bytes=content.get("retained_bytes", 0),
            scaling=content.get("scaling"),
            columns=tuple(content.get("columns") or ()),
            settings=content.get("settings") or {},
            encoder=content.get("encoder"),
            reconstruction=ReconstructionStatus.from_json(shared) if shared else None,
            intervals=content.get("intervals"),
            deployed=content.get("deployed"),
            entities={name: EntityStatus.from_json(each) for name, each in entities.items()},
            error=content.get("error"),
            removed=content.get("removed", 0),
            reporting_delay=content.get("reporting_delay"),
        )


_Flat = TypeVar("_Flat", LiveErrors, ForecastSkill, IntervalQuality, ComponentStatus)


_NAMES = {
    kind: tuple(each.name for each in fields(kind))
    for kind in (LiveErrors, ForecastSkill, IntervalQuality, ComponentStatus)
}


def _values(
    record: LiveErrors | ForecastSkill | IntervalQuality | ComponentStatus,
) -> dict[str, Any]:
    return {name: getattr(record, name) for name in _NAMES[type(record)]}


def _reporting_delay(seconds: int | None) -> dict[str, Any]:
    """Left out while it is not known: the status of a large zone is written often."""
    return {} if seconds is None else {"reporting_delay": seconds}


def _record(kind: type[_Flat], content: Plain | None) -> _Flat:
    content = content or {}
    return kind(**{name: content[name] for name in _NAMES[kind] if name in content})


_NO_MODEL = EntityStatus()._model_json()
