"""The learner's main loop: one step of each zone in turn.

The loop never waits for a training; a zone in training is skipped until its models are ready.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass

from clearwatt.errors import StateError
from clearwatt.service.learner.context import LearnerContext
from clearwatt.service.learner.inbox import Inbox
from clearwatt.service.learner.memory_limit import TURN, MemoryLimit, MovableZone
from clearwatt.service.learner.removal import remove_leftovers
from clearwatt.service.learner.zone_learner import ZoneLearner
from clearwatt.service.resources import release_memory
from clearwatt.service.store import (
    LeaseLostError,
    StoreDamagedError,
    StoreFullError,
    StoreUnavailableError,
    UnregisteredZoneError,
)

POLL = 1.0
"""Seconds between two unprompted looks at the journals, and between two heartbeats."""

GRACE = 8.0
"""Seconds that a graceful stop may spend on checkpoints."""

ROUND = 1.0
"""Seconds of work after which leases and journals are looked at again."""

NO_ROOM = 0.1
"""Seconds to wait if all zones with work wait for room in memory."""

RELEASE = 10.0
"""Seconds of work after which freed memory is returned; doing so takes milliseconds."""

_LONGEST_WAIT = 30.0
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The learner's state, sent every second.

    Attributes:
        queue: Journal entries not applied yet, over all zones.
        training: Zones that wait for a training.
        degraded: Zones whose learning fails, with the reason.
        outage: Why the store cannot be written ("full", "unavailable", "damaged"); None: it
            can.
        updating: The zones that wait for a training.
    """

    queue: int
    training: int
    degraded: dict[str, str]
    outage: str | None
    updating: tuple[str, ...] = ()


class Rounds:
    """Runs all zones in turn.

    Args:
        context: What the zones share.
        inbox: Messages from other processes and threads.
        publish: Called with a heartbeat every second.
        memory: Decides which zones are in memory; None: all of them.
    """

    def __init__(
        self,
        context: LearnerContext,
        *,
        inbox: Inbox,
        publish: Callable[[Heartbeat], None],
        memory: MemoryLimit | None = None,
    ) -> None:
        self._context, self._inbox, self._publish = context, inbox, publish
        self._zones: dict[str, ZoneLearner] = {}
        self._heads: dict[str, int] = {}
        self._bases: dict[str, int] = {}
        self._has_leftovers = True
        self._read_at = self._beat_at = self._release_at = 0.0
        self._wait = POLL
        self._memory, self._no_room_until = memory, 0.0
        self._worked_last = ""

    def run(self) -> None:
        """Run until the inbox receives "stop"."""
        self._remove_leftovers()
        while not self._inbox.stopped:
            if self._inbox.wait(self._pause()):
                self._read_at = 0.0
            self._give_surplus()
            self._read_heads()
            self._work()
            self._send_heartbeat()

    def finish(self) -> None:
        """Write as many checkpoints as fit into GRACE seconds."""
        deadline = time.monotonic() + GRACE
        for zone in self._zones.values():
            if time.monotonic() > deadline:
                _LOG.warning("stopped before every zone had a checkpoint")
                return
            self._finish_zone(zone)

    def _finish_zone(self, zone: ZoneLearner) -> None:
        try:
            zone.finish()
        except LeaseLostError:
            _LOG.warning("zone lost to another node", extra={"zone": zone.zone.id})
        except UnregisteredZoneError:
            _LOG.warning("zone deleted while it was learned", extra={"zone": zone.zone.id})
        except Exception as error:
            _LOG.error("no checkpoint", extra={"zone": zone.zone.id}, exc_info=error)

    def _pause(self) -> float:
        """Seconds until the next step is due."""
        now = time.monotonic()
        due = [zone.next_due(self._heads[name]) for name, zone in self._zones.items()]
        steps = max(self._no_room_until, min(due, default=math.inf))
        return max(0.0, min(self._read_at, self._beat_at, steps) - now)

    def _read_heads(self) -> None:
        """Read the length of each journal; add zones that are new."""
        now = time.monotonic()
        if now < self._read_at:
            return
        try:
            held = self._context.leases.held()
            heads, bases = self._context.store.heads(), self._context.store.journal_bases()
            self._heads = (
                heads if held is None else {name: heads[name] for name in held if name in heads}
            )
            self._drop_zones(dict(bases), registered=heads.keys(), held=held or {})
            self._remove_readings()
            if self._heads.keys() - self._zones.keys():
                self._add_zones(held)
            self._wait = POLL
        except (StoreFullError, StoreUnavailableError, StoreDamagedError) as error:
            self._context.outages.record(error)
            self._wait = min(2 * self._wait, _LONGEST_WAIT)
        self._read_at = now + self._wait

    def _drop_zones(
        self, bases: dict[str, int], *, registered: Collection[str], held: Mapping[str, int]
    ) -> None:
        """Drop zones that were deleted, also if registered again since, and those of other nodes.

        A zone that another node held meanwhile is loaded again from what that node has stored.
        """
        deleted = {
            name
            for name in self._zones
            if name not in registered or bases.get(name, 0) > self._bases.get(name, 0)
        }
        others = bases != self._bases  # deleted while nobody, or another node, held it
        self._bases = bases
        for name, zone in list(self._zones.items()):
            lost = name not in self._heads or zone.is_lost or zone.fence != held.get(name)
            if name in deleted or lost:
                self._drop(name)
        if deleted or others:
            self._remove_leftovers()

    def _give_surplus(self) -> None:
        """Store everything about the zones that other nodes are to have, and give them back."""
        leases = self._context.leases
        for name in list(leases.surplus()):
            zone = self._zones.get(name)
            if zone is not None:
                self._finish_zone(zone)
                self._drop(name)
            self._heads.pop(name, None)
            leases.release(name)

    def _remove_leftovers(self) -> None:
        context, self._has_leftovers = self._context, True
        try:
            remove_leftovers(context.store, context.files, context.checkpoints)
        except (StoreFullError, StoreUnavailableError, StoreDamagedError) as error:
            context.outages.record(error)
        except (StateError, OSError) as error:  # of the archive, which may be on another machine
            _LOG.error("files of deleted zones not deleted", extra={"reason": str(error)})

    def _remove_readings(self) -> None:
        """Delete some readings of deleted entities, a part at a time."""
        if any(zone.has_removed for zone in self._zones.values()):
            self._has_leftovers = True
        if self._has_leftovers:
            self._has_leftovers = self._context.store.remove_readings()

    def _add_zones(self, held: Mapping[str, int] | None) -> None:
        store, context = self._context.store, self._context
        # If memory is limited, a zone without new entries is not loaded only to be put aside.
        positions = {} if self._memory is None else store.positions()
        for zone in store.zones():
            if zone.id not in self._zones and (held is None or zone.id in held):
                fence = None if held is None else held[zone.id]
                committed, _ = positions.get(zone.id, (None, None))
                self._zones[zone.id] = ZoneLearner(zone, context, fence=fence, committed=committed)
                self._heads.setdefault(zone.id, 0)

    def _drop(self, name: str) -> None:
        zone = self._zones.pop(name)
        zone.drop_rested()
        if self._memory is not None:
            self._memory.forget(zone)

    def _work(self) -> None:
        """Run one step of each zone that is due, after the one that had the last turn."""
        began, waits, worked = time.monotonic(), False, False
        for name in self._turns():
            zone = self._zones[name]
            if zone.next_due(self._heads[name]) > time.monotonic():
                continue
            if not zone.in_memory and (waits or not self._has_room()):
                waits = True  # for a place in memory, and so do the others
                continue
            self._run_zone(name, zone)
            self._worked_last, worked = name, True
            if self._inbox.stopped or time.monotonic() >= began + ROUND:
                return
        if waits and not worked:
            self._no_room_until = time.monotonic() + NO_ROOM

    def _turns(self) -> list[str]:
        names = list(self._zones)
        first = names.index(self._worked_last) + 1 if self._worked_last in self._zones else 0
        return names[first:] + names[:first]

    def _has_room(self) -> bool:
        """Whether a zone may be loaded; zones that are in memory may have to rest for that."""
        return self._memory is None or self._memory.make_room(self._is_behind)

    def _is_behind(self, zone: MovableZone) -> bool:
        assert isinstance(zone, ZoneLearner)
        return zone.position < self._heads[zone.zone.id]

    def _run_zone(self, name: str, zone: ZoneLearner) -> None:
        """Run the next step of a zone; while others wait for memory, all that are due."""
        deadline = time.monotonic() + TURN
        while True:
            zone.run_step(self._heads[name])
            self._release()
            self._send_heartbeat()
            if self._memory is None:
                return
            if zone.in_memory:
                self._memory.note_work(zone)
            else:
                self._memory.forget(zone)
            now = time.monotonic()
            if self._inbox.stopped or zone.next_due(self._heads[name]) > now or now >= deadline:
                self._has_room()  # the zone may have grown
                return

    def _release(self) -> None:
        now = time.monotonic()
        if now >= self._release_at:
            release_memory()
            self._release_at = now + RELEASE

    def _send_heartbeat(self) -> None:
        now = time.monotonic()
        if now < self._beat_at:
            return
        self._beat_at = now + POLL
        zones = self._zones.items()
        beat = Heartbeat(
            queue=sum(max(0, self._heads[name] - zone.position) for name, zone in zones),
            training=sum(zone.training for _, zone in zones),
            degraded={name: zone.error for name, zone in zones if zone.error},
            outage=self._context.outages.reason,
            updating=tuple(name for name, zone in zones if zone.training),
        )
        self._context.leases.report(asdict(beat))
        self._publish(beat)
