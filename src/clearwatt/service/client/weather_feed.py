"""Weather of Open-Meteo, sent to a zone of a running service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date

import pandas as pd

from clearwatt.data.inputs import is_neighbour
from clearwatt.errors import ConfigurationError
from clearwatt.service.api.schemas.weather import WeatherReceipt
from clearwatt.service.api.schemas.zones import ZoneAnswer
from clearwatt.service.client.calls import Client
from clearwatt.service.client.deliveries import unix_seconds
from clearwatt.service.times import text, texts
from clearwatt.weather import Coordinates, OpenMeteo, day_ahead_issues, require_known
from clearwatt.weather.history import DAYS_AHEAD


@dataclass(frozen=True)
class FeedPlan:
    """What to send: the newest forecast, for ``days``, and past weather from ``history`` on."""

    days: int = 7
    history: date | None = None
    until: date | None = None
    days_ahead: int = DAYS_AHEAD


def place_of(zone: ZoneAnswer, given: Coordinates | None) -> Coordinates:
    """The given place, or that of the zone's settings."""
    if given is not None:
        return given
    settings: Mapping[str, object] = zone.settings
    found = settings.get("coordinates")
    if not isinstance(found, Mapping):
        raise ConfigurationError(
            f"zone {zone.id!r} has no coordinates; give --coordinates LAT,LON, or set them"
        )
    return Coordinates(float(found["latitude"]), float(found["longitude"]))


def feed_weather(
    client: Client, source: OpenMeteo, zone: ZoneAnswer, place: Coordinates, plan: FeedPlan
) -> Iterator[WeatherReceipt]:
    """Send past weather, day by day, then the newest forecast; yields each receipt.

    A past day is issued when its values had been published, the forecast when it was fetched.
    """
    variables = [name for name in zone.variables if not is_neighbour(name)]
    require_known(variables)
    if plan.history is not None and plan.until is not None and plan.history <= plan.until:
        for part in day_ahead_issues(
            source,
            [place],
            variables,
            first=plan.history,
            last=plan.until,
            days_ahead=plan.days_ahead,
        ):
            for issue in part[0]:
                yield _send(client, zone.id, issue.issued_at, issue.weather)
    newest = source.forecast([place], variables, days=plan.days)
    yield _send(client, zone.id, int(newest.fetched_at), newest.frames[0])


def _send(client: Client, zone: str, issued_at: int, frame: pd.DataFrame) -> WeatherReceipt:
    return client.send_weather(
        zone,
        issued_at=text(issued_at),
        times=texts(unix_seconds(frame.index)),
        values={str(name): frame[name].tolist() for name in frame.columns},
    )
