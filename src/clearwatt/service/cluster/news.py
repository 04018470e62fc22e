"""News that nodes send each other: changed zones, newest readings, new weather, new entries.

A message is a hint. Whatever is lost with a connection or a killed process is found by looking at
the database every half minute.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from clearwatt.errors import ClearwattError
from clearwatt.service.regular_work import RegularWork

GATHER = 0.1
"""Seconds over which news are collected into one message: PostgreSQL commits messages in turn."""
PORTION = 40
"""Zones named in one message, which is limited to 8,000 bytes; an id has up to 100."""
LISTEN = 1.0
"""Seconds to wait for a message before looking whether the receiver is to stop."""
LOOK = 30.0
"""Seconds between two looks at everything."""
RETRY = 1.0

_LOG = logging.getLogger(__name__)


class Channel(Protocol):
    """Receives messages; see `clearwatt.service.store.channel.Channel`."""

    @property
    def is_open(self) -> bool:
        """Whether nothing was missed since the last call of `receive`."""

    def receive(self, seconds: float) -> list[str]:
        """Wait for messages for at most ``seconds``."""

    def close(self) -> None:
        """Stop receiving."""


@dataclass(frozen=True)
class News:
    """What has changed.

    Attributes:
        changed: Zones with a new status, and its generation.
        latest: Zones whose newest readings change forecasts.
        weather: Zones with new weather.
        entries: Whether a journal has grown.
    """

    changed: Mapping[str, int] = field(default_factory=dict)
    latest: frozenset[str] = frozenset()
    weather: frozenset[str] = frozenset()
    entries: bool = False

    def messages(self) -> Iterator[str]:
        """As texts, each short enough for one message."""
        if self.entries:
            yield json.dumps({"entries": True})
        for zones in _portions(sorted(self.changed)):
            yield json.dumps({"changed": {zone: self.changed[zone] for zone in zones}})
        for name in ("latest", "weather"):
            for zones in _portions(sorted(getattr(self, name))):
                yield json.dumps({name: zones})

    @classmethod
    def of(cls, message: str) -> News:
        """From a text; one of another release may name things that are not known here."""
        content: dict[str, Any] = json.loads(message)
        return cls(
            changed=dict(content.get("changed", {})),
            latest=frozenset(content.get("latest", ())),
            weather=frozenset(content.get("weather", ())),
            entries=bool(content.get("entries")),
        )


class NewsSender(RegularWork):
    """Collects news from any thread and sends them; never blocks the caller.

    Args:
        send: Sends one message, such as ``store.send``.
    """

    thread_name = "send-news"
    complaint = "news not sent"

    def __init__(self, send: Callable[[str], None]) -> None:
        super().__init__(GATHER)
        self._send, self._lock = send, threading.Lock()
        self._changed: dict[str, int] = {}
        self._latest: set[str] = set()
        self._weather: set[str] = set()
        self._entries = False

    def add_change(self, zone: str, generation: int) -> None:
        """A zone has a new status."""
        with self._lock:
            self._changed[zone] = generation

    def add_latest(self, zone: str) -> None:
        """The newest readings of a zone change its forecasts."""
        with self._lock:
            self._latest.add(zone)

    def add_weather(self, zone: str) -> None:
        """A zone has new weather."""
        with self._lock:
            self._weather.add(zone)

    def add_entries(self) -> None:
        """A journal has grown."""
        self._entries = True

    def run_round(self) -> None:
        """Send what was collected; what cannot be sent is found by the others anyway."""
        with self._lock:
            news = News(
                self._changed, frozenset(self._latest), frozenset(self._weather), self._entries
            )
            self._changed, self._latest, self._weather, self._entries = {}, set(), set(), False
        for message in news.messages():
            self._send(message)


class NewsReceiver(RegularWork):
    """Hands news to a callback, and looks at everything regularly and after a failure.

    Args:
        channel: Receives messages.
        take: Called with news.
        look: Called when something may have been missed.
    """

    thread_name = "receive-news"
    complaint = "news not received"

    def __init__(
        self, channel: Channel, *, take: Callable[[News], None], look: Callable[[], None]
    ) -> None:
        super().__init__(RETRY)
        self._channel, self._take, self._look = channel, take, look

    def run_round(self) -> None:
        """Receive until a failure, after which the next round begins with a look."""
        looked = -LOOK
        try:
            while not self._stopped.is_set():
                was_open = self._channel.is_open
                messages = self._channel.receive(LISTEN if was_open else 0.0)
                if not was_open or time.monotonic() - looked >= LOOK:
                    self._look()
                    looked = time.monotonic()
                for message in messages:
                    self._handle(message)
        finally:
            self._channel.close()

    def _handle(self, message: str) -> None:
        try:
            self._take(News.of(message))
        except (ClearwattError, ValueError, TypeError, AttributeError) as error:
            _LOG.warning("news not taken in", extra={"reason": str(error)})


def _portions(zones: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(zones), PORTION):
        yield zones[start : start + PORTION]
