"""The learner's rounds: one zone after the other, a step at a time.

It never waits for a training: a zone that does is passed over until its models are trained.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from clearwatt.service.learner.inbox import Inbox
from clearwatt.service.learner.zone_learner import LearnerContext, ZoneLearner
from clearwatt.service.store import StoreFullError, StoreUnavailableError

POLL = 1.0
"""Seconds after which journals are looked at without being told to, and between two heartbeats."""

GRACE = 8.0
"""Seconds that a graceful stop may spend on checkpoints."""

_LONGEST_WAIT = 30.0
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """How the learner fares.

    Attributes:
        queue: Journal entries that wait to be folded, over all zones.
        training: Zones that wait for a training.
        degraded: Zones that do not get on, with the reason.
        outage: Why nothing can be written ("full", "unavailable"); None: all is well.
        updating: The zones that wait for a training.
    """

    queue: int
    training: int
    degraded: dict[str, str]
    outage: str | None
    updating: tuple[str, ...] = ()


class Rounds:
    """All zones, in turns.

    Args:
        context: What the zones share.
        inbox: What is heard from outside.
        tell: Called with a heartbeat every second.
    """

    def __init__(
        self, context: LearnerContext, *, inbox: Inbox, tell: Callable[[Heartbeat], None]
    ) -> None:
        self._context, self._inbox, self._tell = context, inbox, tell
        self._zones: dict[str, ZoneLearner] = {}
        self._heads: dict[str, int] = {}
        self._look_at = self._beat_at = 0.0
        self._wait = POLL

    def run(self) -> None:
        """Fold until told to stop."""
        while not self._inbox.stopped:
            if self._inbox.wait(self._pause()):
                self._look_at = 0.0
            self._look()
            self._work()
            self._beat()

    def finish(self) -> None:
        """Write what checkpoints can be written in a few seconds."""
        deadline = time.monotonic() + GRACE
        for zone in self._zones.values():
            if time.monotonic() > deadline:
                _LOG.warning("stopped before every zone had a checkpoint")
                return
            try:
                zone.finish()
            except Exception as error:
                _LOG.error("no checkpoint", extra={"zone": zone.zone.id}, exc_info=error)

    def _pause(self) -> float:
        """Seconds until there is something to do, unless something is heard."""
        now = time.monotonic()
        due = [zone.due(self._heads[name]) for name, zone in self._zones.items()]
        return max(0.0, min([self._look_at, self._beat_at, *due]) - now)

    def _look(self) -> None:
        """Find out what has arrived."""
        now = time.monotonic()
        if now < self._look_at:
            return
        try:
            self._heads = self._context.store.heads()
            if self._heads.keys() - self._zones.keys():
                self._meet()
            self._wait = POLL
        except (StoreFullError, StoreUnavailableError) as error:
            self._context.outages.notice(error)
            self._wait = min(2 * self._wait, _LONGEST_WAIT)
        self._look_at = now + self._wait

    def _meet(self) -> None:
        for zone in self._context.store.zones():
            if zone.id not in self._zones:
                self._zones[zone.id] = ZoneLearner(zone, self._context)
                self._heads.setdefault(zone.id, 0)

    def _work(self) -> None:
        """A turn for every zone that has something to do."""
        for name, zone in self._zones.items():
            if zone.due(self._heads[name]) <= time.monotonic():
                zone.turn(self._heads[name])
                self._beat()
                if self._inbox.stopped:
                    return

    def _beat(self) -> None:
        now = time.monotonic()
        if now < self._beat_at:
            return
        self._beat_at = now + POLL
        zones = self._zones.items()
        self._tell(
            Heartbeat(
                queue=sum(max(0, self._heads[name] - zone.position) for name, zone in zones),
                training=sum(zone.training for _, zone in zones),
                degraded={name: zone.error for name, zone in zones if zone.error},
                outage=self._context.outages.reason,
                updating=tuple(name for name, zone in zones if zone.training),
            ),
        )
