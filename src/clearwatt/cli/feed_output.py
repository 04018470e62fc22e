"""What a feed shows while it runs: a status line, notices, and counts as JSON lines."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from clearwatt.errors import ClearwattError

T = TypeVar("T")

NOTICE_INTERVAL = 60.0
"""Least seconds between two equal notices, and between two lines of counts in a log."""
JSON_INTERVAL = 10.0
"""Least seconds between two JSON lines."""


class FeedOutput:
    """Shows the progress of one feed; ``as_json`` also writes it to stdout.

    The calling thread and the threads of a connection may use it.
    """

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._console = Console(stderr=True)
        self._noticed: dict[str, float] = {}

    def notify(self, text: str) -> None:
        """Write a sentence to stderr, unless it was written a moment ago."""
        now = time.monotonic()
        if now - self._noticed.get(text, -math.inf) >= NOTICE_INTERVAL:
            self._noticed = {**self._recent(now), text: now}
            self._console.print(escape(text), soft_wrap=True, highlight=False)

    def on_retry(self, error: ClearwattError, pause: float) -> None:
        """Write why a call of the service is repeated."""
        self.notify(f"{error}; trying again")

    def follow(
        self,
        steps: Iterable[T],
        *,
        line: Callable[[T], str],
        facts: Callable[[T], Mapping[str, object]],
    ) -> Mapping[str, object]:
        """Run through the steps and show each; returns the facts of the last."""
        shown: Mapping[str, object] = {}
        written_at, interval = -math.inf, JSON_INTERVAL if self._as_json else NOTICE_INTERVAL
        last: Mapping[str, object] = {}
        with self.status("starting") as status:
            for step in steps:
                last = facts(step)
                status.update(escape(line(step)))
                now = time.monotonic()
                if last != shown and now - written_at >= interval:
                    shown, written_at = last, now
                    if self._as_json or not self._console.is_terminal:
                        self.show(line(step), last)
        if self._as_json:
            self._write_json(last)
        return last

    def status(self, text: str) -> Status:
        """A status line on stderr, if that is a terminal, for a with-block."""
        return self._console.status(escape(text))

    def show(self, line: str, facts: Mapping[str, object]) -> None:
        """Write what happened: as a JSON line to stdout, or as a line to stderr."""
        if self._as_json:
            self._write_json(facts)
        else:
            self._console.print(escape(line), soft_wrap=True, highlight=False)

    def _write_json(self, facts: Mapping[str, object]) -> None:
        """Write one JSON line to stdout."""
        sys.stdout.write(json.dumps(facts, ensure_ascii=False) + "\n")
        sys.stdout.flush()

    def _recent(self, now: float) -> dict[str, float]:
        return {text: at for text, at in self._noticed.items() if now - at < NOTICE_INTERVAL}
