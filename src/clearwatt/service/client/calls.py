"""Client of the service: one method per call of the API.

    with Client("http://127.0.0.1:8000", token) as client:
        client.forecasts(["park"], start=start, end=end)

Times are aware datetimes or RFC 3339 text; results are the API's own answer models. An error answer
raises `ServiceError` with the service's message; temporary failures are retried.
"""

from __future__ import annotations

import base64
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, Literal

from clearwatt.errors import DataError
from clearwatt.http_retry import RetryCallback
from clearwatt.service.api.schemas.base import Accepted
from clearwatt.service.api.schemas.cluster import ClusterAnswer, NodeAnswer
from clearwatt.service.api.schemas.commands import AcceptedList
from clearwatt.service.api.schemas.entities import (
    EntityAnswer,
    EntityPage,
    ExclusionAnswer,
    NewEntity,
    Registered,
)
from clearwatt.service.api.schemas.forecasts import ForecastList, VintageList
from clearwatt.service.api.schemas.history import (
    EventPage,
    QuarantinePage,
    VersionAnswer,
    VersionPage,
)
from clearwatt.service.api.schemas.measurements import BatchReceipt, MeasurementSeries
from clearwatt.service.api.schemas.operations import StatusAnswer
from clearwatt.service.api.schemas.priors import PriorAnswer, PriorContent, PriorList
from clearwatt.service.api.schemas.registry import DeletedZone, Renamed
from clearwatt.service.api.schemas.signals import LeadList, SignalAnswer
from clearwatt.service.api.schemas.weather import WeatherReceipt
from clearwatt.service.api.schemas.zones import NewZone, ZoneAnswer, ZoneList
from clearwatt.service.client.connection import (
    Connection,
    JsonObject,
    QueryValues,
    ServiceError,
    ServiceUnreachableError,
)
from clearwatt.service.client.paths import owner_path, path_segment
from clearwatt.service.times import text

__all__ = ["Client", "Series", "ServiceError", "ServiceUnreachableError", "stamp"]

TimeLike = datetime | str
"""An aware datetime, or RFC 3339 text."""


@dataclass(frozen=True, eq=False)
class Series:
    """Readings of one entity: one value per time, None for a missing one."""

    entity: str
    times: Sequence[TimeLike]
    values: Sequence[float | None]


class Client:
    """Calls the service at ``url``.

    Args:
        url: address of the service, such as "http://127.0.0.1:8000".
        token: bearer token, if the service requires one.
        timeout: seconds to wait for an answer.
        patience: seconds to retry while the service is away, busy or full; None: no limit.
        on_retry: called before each pause with the error and the seconds until the next try.
        sleep: waits for that time; may raise, to give up.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 60.0,
        patience: float | None = 30.0,
        on_retry: RetryCallback | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._http = Connection(
            url, token, timeout=timeout, patience=patience, on_retry=on_retry, sleep=sleep
        )
        self.url = self._http.url

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Zones and entities.

    def status(self) -> StatusAnswer:
        """Status of every zone."""
        return StatusAnswer.model_validate(self._http.get("/v1/status"))

    def zones(self) -> ZoneList:
        """All zones."""
        return ZoneList.model_validate(self._http.get("/v1/zones"))

    def zone(self, zone: str) -> ZoneAnswer:
        """One zone with its status."""
        return ZoneAnswer.model_validate(self._http.get(f"/v1/zones/{path_segment(zone)}"))

    def add_zone(self, zone: NewZone) -> ZoneAnswer:
        """Register a zone; repeating the call changes nothing."""
        return ZoneAnswer.model_validate(self._http.post("/v1/zones", zone.model_dump(mode="json")))

    def entities(
        self,
        *,
        zone: str | None = None,
        state: str | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> EntityPage:
        """One page of entities, with the total count."""
        query: QueryValues = {"zone": zone, "state": state, "limit": limit, "offset": offset}
        return EntityPage.model_validate(self._http.get("/v1/entities", query))

    def entity(self, entity: str) -> EntityAnswer:
        """One entity with its status."""
        return EntityAnswer.model_validate(self._http.get(f"/v1/entities/{path_segment(entity)}"))

    def add_entities(self, entities: Sequence[NewEntity]) -> Registered:
        """Register entities; repeating the call changes nothing."""
        content = {"entities": [entity.model_dump(mode="json") for entity in entities]}
        return Registered.model_validate(self._http.post("/v1/entities", content))

    def rename(self, name: str, *, entity: str | None = None, zone: str | None = None) -> Renamed:
        """Change the name that people see of an entity or a zone; its id stays."""
        content = {"name": name}
        return Renamed.model_validate(self._http.put(f"{owner_path(entity, zone)}/name", content))

    def delete_zone(self, zone: str) -> DeletedZone:
        """Delete a zone with its entities and everything stored of them."""
        return DeletedZone.model_validate(self._http.delete(owner_path(None, zone)))

    def delete_entity(self, entity: str) -> Accepted:
        """Delete an entity with everything stored of it."""
        return Accepted.model_validate(self._http.delete(owner_path(entity, None)))

    # Fleet priors.

    def priors(self) -> PriorList:
        """All fleet priors, the newest first."""
        return PriorList.model_validate(self._http.get("/v1/priors"))

    def prior(self, digest: str) -> PriorContent:
        """One prior with its content."""
        return PriorContent.model_validate(self._http.get(f"/v1/priors/{path_segment(digest)}"))

    def add_prior(self, content: bytes) -> PriorAnswer:
        """Import a prior; repeating the call changes nothing."""
        encoded = base64.b64encode(content).decode()
        return PriorAnswer.model_validate(self._http.post("/v1/priors", {"content": encoded}))

    # Weather forecasts and readings.

    def send_weather(
        self,
        zone: str,
        *,
        issued_at: TimeLike,
        times: Sequence[TimeLike],
        values: Mapping[str, Sequence[float | None]],
    ) -> WeatherReceipt:
        """Send a weather forecast of a zone: one list of values per variable."""
        content = {
            "zone": zone,
            "issued_at": stamp(issued_at),
            "times": [stamp(time) for time in times],
            "values": {name: _numbers(column) for name, column in values.items()},
        }
        return WeatherReceipt.model_validate(self._http.post("/v1/weather", content))

    def send_measurements(
        self, series: Sequence[Series], *, on_error: Literal["reject", "skip"] = "reject"
    ) -> BatchReceipt:
        """Send readings; returns the numbers of new, duplicate and correcting ones.

        With "reject" one invalid reading rejects the whole batch; with "skip" invalid readings are
        left out and listed in the receipt.
        """
        columns = [
            {
                "entity": each.entity,
                "times": [stamp(time) for time in each.times],
                "values": _numbers(each.values),
            }
            for each in series
        ]
        content = {"series": columns, "on_error": on_error}
        return BatchReceipt.model_validate(self._http.post("/v1/measurements", content))

    def measurements(self, entity: str, *, start: TimeLike, end: TimeLike) -> MeasurementSeries:
        """Current readings of an entity with start <= time < end."""
        query = {"entity": entity, "start": stamp(start), "end": stamp(end)}
        return MeasurementSeries.model_validate(self._http.get("/v1/measurements", query))

    # Forecasts.

    def forecasts(
        self,
        entities: Sequence[str],
        *,
        start: TimeLike | None = None,
        end: TimeLike | None = None,
        levels: Sequence[float] | None = None,
    ) -> ForecastList:
        """Forecasts of entities with start <= time < end, with sources and model versions.

        ``levels`` selects the quantiles; None: the service's default levels, (): no quantiles.
        """
        query: QueryValues = {
            "entity": list(entities),
            "start": _stamp(start),
            "end": _stamp(end),
            "level": [str(level) for level in levels] if levels else None,
            "intervals": "false" if levels is not None and len(levels) == 0 else None,
        }
        return ForecastList.model_validate(self._http.get("/v1/forecasts", query))

    def zone_forecasts(
        self, zone: str, *, start: TimeLike | None = None, end: TimeLike | None = None
    ) -> ForecastList:
        """Forecasts of every entity of a zone."""
        query = {"zone": zone, "start": _stamp(start), "end": _stamp(end)}
        return ForecastList.model_validate(self._http.get("/v1/forecasts", query))

    def vintages(
        self, entity: str, *, start: TimeLike, end: TimeLike, issued_before: TimeLike | None = None
    ) -> VintageList:
        """Forecasts issued in the past for start <= time < end, with their models."""
        query = {
            "entity": entity,
            "start": stamp(start),
            "end": stamp(end),
            "issued_before": _stamp(issued_before),
        }
        return VintageList.model_validate(self._http.get("/v1/forecasts/vintages", query))

    def signals(
        self, entity: str, *, start: TimeLike, end: TimeLike, points: int = 1000
    ) -> SignalAnswer:
        """Readings, forecasts, errors and thresholds of an entity over time."""
        query: QueryValues = {
            "entity": entity,
            "start": stamp(start),
            "end": stamp(end),
            "points": points,
        }
        return SignalAnswer.model_validate(self._http.get("/v1/signals", query))

    def leads(self, zone: str) -> LeadList:
        """Errors by lead over two weeks, of a zone and of each of its entities."""
        return LeadList.model_validate(self._http.get("/v1/signals/leads", {"zone": zone}))

    # Events, models and commands.

    def warmup(
        self,
        *,
        entity: str | None = None,
        zone: str | None = None,
        start: TimeLike | None = None,
        end: TimeLike | None = None,
    ) -> Accepted:
        """Train the first model of an entity, or of every waiting entity of a zone."""
        window = {"start": _stamp(start), "end": _stamp(end)}
        content = {name: time for name, time in window.items() if time is not None}
        return Accepted.model_validate(
            self._http.post(f"{owner_path(entity, zone)}/warmup", content)
        )

    def events(
        self,
        *,
        zone: str | None = None,
        entity: str | None = None,
        kinds: Sequence[str] = (),
        after: int | None = None,
        limit: int = 100,
    ) -> EventPage:
        """Events, newest first; with ``after`` those after that number, oldest first."""
        query: QueryValues = {
            "zone": zone,
            "entity": entity,
            "kind": list(kinds) or None,
            "after": after,
            "limit": limit,
        }
        return EventPage.model_validate(self._http.get("/v1/events", query))

    def models(self, *, zone: str | None = None, entity: str | None = None) -> VersionPage:
        """Model versions, newest first."""
        return VersionPage.model_validate(
            self._http.get("/v1/models", {"zone": zone, "entity": entity})
        )

    def model(self, version: str) -> VersionAnswer:
        """One model version."""
        return VersionAnswer.model_validate(self._http.get(f"/v1/models/{path_segment(version)}"))

    def activate(self, version: str) -> Accepted:
        """Deploy a version: a roll-back, or the approval of a candidate."""
        return Accepted.model_validate(
            self._http.post(f"/v1/models/{path_segment(version)}/activate")
        )

    def reject(self, version: str) -> Accepted:
        """Reject a version that awaits approval."""
        return Accepted.model_validate(
            self._http.post(f"/v1/models/{path_segment(version)}/reject")
        )

    def change_settings(self, zone: str, settings: Mapping[str, Any]) -> Accepted:
        """Change settings of a zone; those not given stay as they are."""
        return Accepted.model_validate(
            self._http.put(f"/v1/zones/{path_segment(zone)}/settings", settings)
        )

    def hold(self, *, entity: str | None = None, zone: str | None = None) -> Accepted:
        """Pause learning; forecasts continue."""
        return Accepted.model_validate(self._http.post(f"{owner_path(entity, zone)}/hold"))

    def resume(self, *, entity: str | None = None, zone: str | None = None) -> Accepted:
        """Resume learning."""
        return Accepted.model_validate(self._http.post(f"{owner_path(entity, zone)}/resume"))

    def approval(
        self, *, required: bool, entity: str | None = None, zone: str | None = None
    ) -> Accepted:
        """Set whether a person must approve new models before they are deployed."""
        return Accepted.model_validate(
            self._http.put(f"{owner_path(entity, zone)}/approval", {"required": required})
        )

    def exclude(self, entity: str, *, start: TimeLike, end: TimeLike, reason: str) -> Accepted:
        """Exclude start <= time < end from learning, also from what was learned before."""
        content = {"start": stamp(start), "end": stamp(end), "reason": reason}
        return Accepted.model_validate(
            self._http.post(f"/v1/entities/{path_segment(entity)}/exclusions", content)
        )

    def include(self, entity: str, *, start: TimeLike, end: TimeLike) -> Accepted:
        """Undo an exclusion; its readings are learned as if they came late."""
        content = {"start": stamp(start), "end": stamp(end)}
        return Accepted.model_validate(
            self._http.post(f"/v1/entities/{path_segment(entity)}/exclusions/undo", content)
        )

    def exclusions(self, entity: str) -> list[ExclusionAnswer]:
        """Windows that an entity does not learn from, with the reasons."""
        return self.entity(entity).exclusions

    def confirm(self, entity: str, *, reason: str = "") -> Accepted:
        """Say that the readings of a suspected meter are real; they are learned from."""
        return Accepted.model_validate(
            self._http.post(
                f"/v1/entities/{path_segment(entity)}/suspicion/confirm", {"reason": reason}
            )
        )

    def quarantine(self, *, entity: str | None = None, limit: int = 100) -> QuarantinePage:
        """Readings that failed a quality check, with the reason."""
        return QuarantinePage.model_validate(
            self._http.get("/v1/quarantine", {"entity": entity, "limit": limit})
        )

    def cluster(self) -> ClusterAnswer:
        """The nodes of a cluster, and the zones that they learn."""
        return ClusterAnswer.model_validate(self._http.get("/v1/cluster"))

    def drain_node(self, node: str) -> NodeAnswer:
        """Let a node give its zones to the others."""
        path = f"/v1/cluster/nodes/{path_segment(node)}/drain"
        return NodeAnswer.model_validate(self._http.post(path))

    def resume_node(self, node: str) -> NodeAnswer:
        """Let a node take zones again."""
        path = f"/v1/cluster/nodes/{path_segment(node)}/resume"
        return NodeAnswer.model_validate(self._http.post(path))

    def release(self, readings: Sequence[tuple[str, TimeLike]]) -> AcceptedList:
        """Accept quarantined readings (entity, time) for learning."""
        return AcceptedList.model_validate(
            self._http.post("/v1/quarantine/release", _readings(readings))
        )

    def drop(self, readings: Sequence[tuple[str, TimeLike]]) -> AcceptedList:
        """Discard quarantined readings (entity, time)."""
        return AcceptedList.model_validate(
            self._http.post("/v1/quarantine/drop", _readings(readings))
        )


def stamp(time: TimeLike) -> str:
    """A time as RFC 3339 text; text is returned unchanged."""
    if isinstance(time, str):
        return time
    if time.tzinfo is None:
        raise DataError(f"{time.isoformat()} has no time zone; give an aware datetime")
    return text(time.timestamp())


def _stamp(time: TimeLike | None) -> str | None:
    return None if time is None else stamp(time)


def _numbers(values: Sequence[float | None]) -> list[float | None]:
    """Values as JSON numbers; NaN becomes None.

    Raises:
        DataError: If a value is infinite.
    """
    numbers = [None if value is None or math.isnan(value) else float(value) for value in values]
    if any(number is not None and math.isinf(number) for number in numbers):
        raise DataError("an infinite value cannot be sent; leave it out or send None")
    return numbers


def _readings(readings: Sequence[tuple[str, TimeLike]]) -> JsonObject:
    return {"items": [{"entity": entity, "time": stamp(time)} for entity, time in readings]}
