"""A small client of the service: a method for each call that programs need.

    with Client("http://127.0.0.1:8000", token) as client:
        client.forecasts(["park"], start=start, end=end)

Times are aware datetimes or RFC 3339 text; answers are what the API's description calls them.
Refusals are `ServiceError` with the service's message; calls that fail for a while are repeated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, Literal
from urllib.parse import quote

from clearwatt.errors import ConfigurationError, DataError
from clearwatt.service.api.schemas.base import Accepted
from clearwatt.service.api.schemas.commands import AcceptedList
from clearwatt.service.api.schemas.entities import (
    EntityAnswer,
    EntityPage,
    NewEntity,
    Registered,
    Window,
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
from clearwatt.service.api.schemas.signals import SignalAnswer
from clearwatt.service.api.schemas.weather import WeatherReceipt
from clearwatt.service.api.schemas.zones import NewZone, ZoneAnswer, ZoneList
from clearwatt.service.client.connection import (
    Connection,
    Json,
    Query,
    ServiceError,
    ServiceUnreachableError,
    Waiting,
)
from clearwatt.service.times import text

__all__ = ["Client", "Series", "ServiceError", "ServiceUnreachableError", "stamp"]

Time = datetime | str
"""An aware datetime, or text as RFC 3339 writes it."""


@dataclass(frozen=True, eq=False)
class Series:
    """Readings of one entity: a value per time, None where there is none."""

    entity: str
    times: Sequence[Time]
    values: Sequence[float | None]


class Client:
    """Calls a service at ``url``.

    Args:
        url: where it listens, such as "http://127.0.0.1:8000".
        token: a bearer token, if the service wants one.
        timeout: seconds to wait for an answer.
        patience: seconds to try again while the service is away, busy or full; None for ever.
        waiting: called before each wait with what is wrong and the seconds until the next try.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 60.0,
        patience: float | None = 30.0,
        waiting: Waiting | None = None,
    ) -> None:
        self._http = Connection(url, token, timeout=timeout, patience=patience, waiting=waiting)
        self.url = self._http.url

    def close(self) -> None:
        """Let go of the connection."""
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

    # Who there is.

    def status(self) -> StatusAnswer:
        """Where every zone stands."""
        return StatusAnswer.model_validate(self._http.get("/v1/status"))

    def zones(self) -> ZoneList:
        """Every zone."""
        return ZoneList.model_validate(self._http.get("/v1/zones"))

    def zone(self, zone: str) -> ZoneAnswer:
        """One zone, with where it stands."""
        return ZoneAnswer.model_validate(self._http.get(f"/v1/zones/{_part(zone)}"))

    def add_zone(self, zone: NewZone) -> ZoneAnswer:
        """Register a zone; the same again changes nothing."""
        return ZoneAnswer.model_validate(self._http.post("/v1/zones", zone.model_dump(mode="json")))

    def entities(
        self,
        *,
        zone: str | None = None,
        state: str | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> EntityPage:
        """Entities, a page at a time, with their total."""
        query: Query = {"zone": zone, "state": state, "limit": limit, "offset": offset}
        return EntityPage.model_validate(self._http.get("/v1/entities", query))

    def entity(self, entity: str) -> EntityAnswer:
        """One entity, with where it stands."""
        return EntityAnswer.model_validate(self._http.get(f"/v1/entities/{_part(entity)}"))

    def add_entities(self, entities: Sequence[NewEntity]) -> Registered:
        """Register entities; the same again changes nothing."""
        content = {"entities": [entity.model_dump(mode="json") for entity in entities]}
        return Registered.model_validate(self._http.post("/v1/entities", content))

    # What comes in.

    def send_weather(
        self,
        zone: str,
        *,
        issued_at: Time,
        times: Sequence[Time],
        values: Mapping[str, Sequence[float | None]],
    ) -> WeatherReceipt:
        """Send a weather forecast of a zone, one list of values per variable."""
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
        """Send readings; returned is what became of them (new, duplicates, corrections).

        With "reject" one bad reading refuses all of them, with "skip" it is left out and named.
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

    def measurements(self, entity: str, *, start: Time, end: Time) -> MeasurementSeries:
        """Readings of an entity as they stand, start <= time < end."""
        query = {"entity": entity, "start": stamp(start), "end": stamp(end)}
        return MeasurementSeries.model_validate(self._http.get("/v1/measurements", query))

    # What goes out.

    def forecasts(
        self,
        entities: Sequence[str],
        *,
        start: Time | None = None,
        end: Time | None = None,
        levels: Sequence[float] | None = None,
    ) -> ForecastList:
        """Forecasts of entities, start <= time < end, with their sources and model versions.

        They come with quantiles: the usual ones, those of the levels given, or with () none.
        """
        query: Query = {
            "entity": list(entities),
            "start": _stamp(start),
            "end": _stamp(end),
            "level": [str(level) for level in levels] if levels else None,
            "intervals": "false" if levels is not None and len(levels) == 0 else None,
        }
        return ForecastList.model_validate(self._http.get("/v1/forecasts", query))

    def zone_forecasts(
        self, zone: str, *, start: Time | None = None, end: Time | None = None
    ) -> ForecastList:
        """Forecasts of all entities of a zone."""
        query = {"zone": zone, "start": _stamp(start), "end": _stamp(end)}
        return ForecastList.model_validate(self._http.get("/v1/forecasts", query))

    def vintages(
        self, entity: str, *, start: Time, end: Time, issued_before: Time | None = None
    ) -> VintageList:
        """Which model said what when about start <= time < end."""
        query = {
            "entity": entity,
            "start": stamp(start),
            "end": stamp(end),
            "issued_before": _stamp(issued_before),
        }
        return VintageList.model_validate(self._http.get("/v1/forecasts/vintages", query))

    def signals(self, entity: str, *, start: Time, end: Time, points: int = 1000) -> SignalAnswer:
        """What the models saw of an entity: readings, forecasts, errors, thresholds."""
        query: Query = {
            "entity": entity,
            "start": stamp(start),
            "end": stamp(end),
            "points": points,
        }
        return SignalAnswer.model_validate(self._http.get("/v1/signals", query))

    # Explain, hold, undo.

    def warmup(
        self,
        *,
        entity: str | None = None,
        zone: str | None = None,
        start: Time | None = None,
        end: Time | None = None,
    ) -> Accepted:
        """Let an entity, or every waiting entity of a zone, learn from its history."""
        given = {"start": _stamp(start), "end": _stamp(end)}
        content = {name: time for name, time in given.items() if time is not None}
        return Accepted.model_validate(self._http.post(f"{_owner(entity, zone)}/warmup", content))

    def events(
        self,
        *,
        zone: str | None = None,
        entity: str | None = None,
        kinds: Sequence[str] = (),
        after: int | None = None,
        limit: int = 100,
    ) -> EventPage:
        """What happened: the newest first, or from a number on if ``after`` is given."""
        query: Query = {
            "zone": zone,
            "entity": entity,
            "kind": list(kinds) or None,
            "after": after,
            "limit": limit,
        }
        return EventPage.model_validate(self._http.get("/v1/events", query))

    def models(self, *, zone: str | None = None, entity: str | None = None) -> VersionPage:
        """Model versions, the newest first."""
        return VersionPage.model_validate(
            self._http.get("/v1/models", {"zone": zone, "entity": entity})
        )

    def model(self, version: str) -> VersionAnswer:
        """One model version."""
        return VersionAnswer.model_validate(self._http.get(f"/v1/models/{_part(version)}"))

    def activate(self, version: str) -> Accepted:
        """Put a version into service: a roll-back, or the approval of one that awaits it."""
        return Accepted.model_validate(self._http.post(f"/v1/models/{_part(version)}/activate"))

    def reject(self, version: str) -> Accepted:
        """Refuse a version that awaits approval."""
        return Accepted.model_validate(self._http.post(f"/v1/models/{_part(version)}/reject"))

    def change_settings(self, zone: str, settings: Mapping[str, Any]) -> Accepted:
        """Change how a zone learns; what is left out stays as it is."""
        return Accepted.model_validate(
            self._http.put(f"/v1/zones/{_part(zone)}/settings", settings)
        )

    def hold(self, *, entity: str | None = None, zone: str | None = None) -> Accepted:
        """Stop learning; forecasts go on."""
        return Accepted.model_validate(self._http.post(f"{_owner(entity, zone)}/hold"))

    def resume(self, *, entity: str | None = None, zone: str | None = None) -> Accepted:
        """Learn again."""
        return Accepted.model_validate(self._http.post(f"{_owner(entity, zone)}/resume"))

    def approval(
        self, *, required: bool, entity: str | None = None, zone: str | None = None
    ) -> Accepted:
        """Say whether a person must approve before a new model is deployed."""
        return Accepted.model_validate(
            self._http.put(f"{_owner(entity, zone)}/approval", {"required": required})
        )

    def exclude(self, entity: str, *, start: Time, end: Time, reason: str) -> Accepted:
        """Forget start <= time < end and never learn from it."""
        content = {"start": stamp(start), "end": stamp(end), "reason": reason}
        return Accepted.model_validate(
            self._http.post(f"/v1/entities/{_part(entity)}/exclusions", content)
        )

    def exclusions(self, entity: str) -> list[Window]:
        """Times an entity does not learn from."""
        return self.entity(entity).exclusions

    def quarantine(self, *, entity: str | None = None, limit: int = 100) -> QuarantinePage:
        """Readings that failed the quality checks, with the reason."""
        return QuarantinePage.model_validate(
            self._http.get("/v1/quarantine", {"entity": entity, "limit": limit})
        )

    def release(self, readings: Sequence[tuple[str, Time]]) -> AcceptedList:
        """Let quarantined readings (entity, time) be learned from after all."""
        return AcceptedList.model_validate(
            self._http.post("/v1/quarantine/release", _readings(readings))
        )

    def drop(self, readings: Sequence[tuple[str, Time]]) -> AcceptedList:
        """Confirm that quarantined readings (entity, time) are wrong."""
        return AcceptedList.model_validate(
            self._http.post("/v1/quarantine/drop", _readings(readings))
        )


def stamp(time: Time) -> str:
    """A time as the API wants it; text is taken as it is."""
    if isinstance(time, str):
        return time
    if time.tzinfo is None:
        raise DataError(f"{time.isoformat()} has no time zone; give an aware datetime")
    return text(time.timestamp())


def _stamp(time: Time | None) -> str | None:
    return None if time is None else stamp(time)


def _numbers(values: Sequence[float | None]) -> list[float | None]:
    """As JSON can say them: NaN is no reading, and an infinity is a mistake."""
    numbers = [None if value is None or math.isnan(value) else float(value) for value in values]
    if any(number is not None and math.isinf(number) for number in numbers):
        raise DataError("an infinite value cannot be sent; leave it out or send None")
    return numbers


def _part(name: str) -> str:
    """A name as one part of a path, whatever it contains."""
    return quote(name, safe="")


def _owner(entity: str | None, zone: str | None) -> str:
    if (entity is None) == (zone is None):
        raise ConfigurationError("name either an entity or a zone")
    return f"/v1/zones/{_part(zone)}" if zone is not None else f"/v1/entities/{_part(entity or '')}"


def _readings(readings: Sequence[tuple[str, Time]]) -> Json:
    return {"items": [{"entity": entity, "time": stamp(time)} for entity, time in readings]}
