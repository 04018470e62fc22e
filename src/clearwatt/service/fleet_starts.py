"""Entities without history start from the fleet: who can, and the command that does it.

The command names the prior by its digest, so that a replay of the journal leads to the same models.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Mapping, Sequence

from clearwatt.service.priors import PriorBook, StoredPrior, choose_prior
from clearwatt.service.records import Command, RegisteredEntity, ServiceEvent, Zone
from clearwatt.service.registry import Registry
from clearwatt.service.regular_work import RegularWork
from clearwatt.service.settings import ZoneSettings
from clearwatt.service.status import ZoneStatus
from clearwatt.service.store import Store

POLL = 2.0
"""Seconds between two looks for entities that wait."""
ACTOR = "system"


class FleetStarts(RegularWork):
    """Starts waiting entities of adaptive zones as soon as there is a prior and weather for them.

    Args:
        store: The store of the service.
        registry: Its zones and entities.
        started: Called after a command was added.
        clock: The time, in seconds since 1970.
    """

    thread_name = "fleet-starts"
    complaint = "entities not started from the fleet"

    def __init__(
        self,
        store: Store,
        registry: Registry,
        *,
        started: Callable[[], None],
        clock: Callable[[], float] = time.time,
        interval: float = POLL,
    ) -> None:
        super().__init__(interval)
        self._store, self._registry, self._started, self._clock = store, registry, started, clock
        self._book = PriorBook(store)
        self._settled: set[int] = set()
        self._asked: dict[int, str] = {}
        self._unfit: dict[int, int] = {}

    def run_round(self) -> None:
        """Start everyone who can be started now."""
        priors = self._book.all()
        if not priors:
            return
        waiting: dict[str, list[RegisteredEntity]] = {}
        newest = priors[0].version.number
        for number, entity in self._registry.snapshot.numbers.items():
            if number not in self._settled and self._unfit.get(number) != newest:
                waiting.setdefault(entity.zone, []).append(entity)
        if not waiting:
            return
        statuses = self._store.statuses(list(waiting))
        for name, entities in waiting.items():
            zone = self._registry.snapshot.zones.get(name)
            if zone is not None:
                status = statuses.get(name) or ZoneStatus(name)
                self._start_zone(zone, status, entities, priors)

    def _start_zone(
        self,
        zone: Zone,
        status: ZoneStatus,
        entities: Sequence[RegisteredEntity],
        priors: Sequence[StoredPrior],
    ) -> None:
        settings = ZoneSettings.read(dict(status.settings or zone.settings))
        now = self._clock()
        reach = self._store.newest_issue(zone.id, reaching=int(now))
        for entity in entities:
            if status.entity(entity.id, number=entity.number).predictor is not None:
                self._settled.add(entity.number)
                self._asked.pop(entity.number, None)
            elif settings.forecaster == "adaptive" and reach is not None:
                self._start(zone, entity, priors, now)

    def _start(
        self, zone: Zone, entity: RegisteredEntity, priors: Sequence[StoredPrior], now: float
    ) -> None:
        chosen, reason = choose_prior(priors, zone, entity)
        if chosen is None:
            self._tell(entity, reason, now)
            self._unfit[entity.number] = priors[0].version.number
            return
        digest = chosen.version.digest
        if self._asked.get(entity.number) == digest:
            return
        arguments = {"prior": digest, "at": int(now) // zone.step * zone.step}
        self._store.add_command(Command("start", zone.id, entity.id, arguments, ACTOR, now))
        self._asked[entity.number] = digest
        self._started()

    def _tell(self, entity: RegisteredEntity, reason: str, now: float) -> None:
        """Record why an entity does not start; a reason that was recorded before is not again."""
        key = f"no start:{entity.number}:{zlib.crc32(reason.encode()):08x}"
        message = (
            f"{entity.id} cannot start from the fleet: {reason}; send its history and ask for a "
            "warm-up"
        )
        details: Mapping[str, str] = {"reason": reason}
        self._store.add_event(
            ServiceEvent(
                key, "no start", message, now, zone=entity.zone, entity=entity.id, details=details
            )
        )
