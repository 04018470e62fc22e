"""Zones and entities of the service, as a feed needs them: steps and units."""

from __future__ import annotations

import math
import re
import time
from dataclasses import dataclass

import pandas as pd

from clearwatt.errors import ConfigurationError, DataError
from clearwatt.feeds.stopping import StopRequest
from clearwatt.imports.units import UNITS, kilowatts_per
from clearwatt.service.api.schemas.base import ID_PATTERN
from clearwatt.service.api.schemas.zones import ZoneAnswer
from clearwatt.service.client import Client, ServiceError

_PAGE = 1_000
_PAUSE = 1.0
FRESH = 60.0
"""Seconds after which a zone is asked for again: an id may be another entity by then."""
_UNKNOWN = (404, 422)
"""Statuses for a zone that does not exist, or whose name is not possible."""


@dataclass(frozen=True, slots=True)
class KnownEntity:
    """An entity with its zone, the zone's step in seconds, and the unit of its readings."""

    id: str
    zone: str
    step: int
    unit: str

    def factor_from(self, unit: str) -> float:
        """The factor from values in another unit to the entity's; energy is per step."""
        if self.unit not in UNITS:
            raise DataError(
                f"entity {self.id!r} has readings in {self.unit!r}, to which {unit} cannot be "
                f"converted; send them in {self.unit!r} and state no unit"
            )
        step = pd.Timedelta(seconds=self.step)
        return kilowatts_per(unit, step) / kilowatts_per(self.unit, step)


class EntityDirectory:
    """Looks entities up in the service; asks again if one is unknown, once a second at most.

    A zone is also asked for again when its entities are older than `FRESH`.
    """

    def __init__(self, client: Client, stop: StopRequest) -> None:
        self._client, self._stop = client, stop
        self._entities: dict[str, KnownEntity] = {}
        self._loaded_at: dict[str | None, float] = {}
        self._current: set[str | None] = set()
        self._stale: set[str | None] = set()
        self._seen: dict[str, KnownEntity] = {}

    def expire(self) -> None:
        """Let the next entity that is unknown, or not fresh, be asked for again."""
        now = time.monotonic()
        self._current.clear()
        self._stale = {zone for zone, at in self._loaded_at.items() if now - at > FRESH}

    def require_zone(self, zone: str) -> None:
        """Raise a ConfigurationError if the service has no such zone."""
        if not self._zones(zone):
            raise ConfigurationError(
                f"zone {zone!r} is not registered at {self._client.url}; register it, or correct "
                "--zone"
            )

    def find(self, entity: str, zone: str | None = None) -> KnownEntity:
        """The entity of a zone, or of any; DataError if it is not registered there."""
        known = self._entities.get(entity)
        if zone in self._stale or (not _is_in(known, zone) and zone not in self._current):
            self._load(zone)
            known = self._entities.get(entity)
        if known is None or not _is_in(known, zone):
            where = "" if zone is None else f" in zone {zone[:100]!r}"
            raise DataError(
                f"entity {entity[:100]!r} is not registered{where}; register it, or correct the "
                "name"
            )
        return known

    def last_known(self, entity: str) -> KnownEntity:
        """The entity as it was when it was found last, even if it is deleted by now."""
        return self._seen.get(entity) or self.find(entity)

    def _load(self, zone: str | None) -> None:
        since = time.monotonic() - self._loaded_at.get(zone, -math.inf)
        self._stop.pause(max(0.0, _PAUSE - since))
        self._loaded_at[zone] = time.monotonic()
        self._current.add(zone)
        self._stale.discard(zone)
        zones = self._client.zones().zones if zone is None else self._zones(zone)
        steps = {each.id: each.step for each in zones}
        found: dict[str, KnownEntity] = {}
        offset, total = 0, 1 if zones else 0
        while offset < total:
            page = self._client.entities(zone=zone, limit=_PAGE, offset=offset)
            for each in page.entities:
                step = steps.get(each.zone)
                if step is not None:  # a zone registered just now is asked for the next time
                    found[each.id] = KnownEntity(each.id, each.zone, step, each.unit)
            offset, total = offset + _PAGE, page.total
        others = {each.id: each for each in self._entities.values() if not _is_in(each, zone)}
        self._entities = {**others, **found}
        self._seen.update(found)

    def _zones(self, zone: str) -> list[ZoneAnswer]:
        """The zone of this name, or none; no request for a name that would change the address."""
        if not re.fullmatch(ID_PATTERN, zone):
            return []
        try:
            return [self._client.zone(zone)]
        except ServiceError as error:
            if error.status not in _UNKNOWN:
                raise
            return []


def _is_in(entity: KnownEntity | None, zone: str | None) -> bool:
    return entity is not None and zone in (None, entity.zone)
