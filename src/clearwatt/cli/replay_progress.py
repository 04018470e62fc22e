"""Two bars of a replay on stderr: what is sent, and what is learned."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from clearwatt.cli.printing import write_line

if TYPE_CHECKING:
    from clearwatt.errors import ClearwattError
    from clearwatt.service.client.learner_progress import LearnerProgress
    from clearwatt.service.client.replay import ReplayProgress

LINE_INTERVAL = 10.0
"""Minimum seconds between two lines of progress when stderr is not a terminal."""
QUERY_INTERVAL = 2.0
"""Minimum seconds between two queries of the learner while readings are sent."""


class ReplayBars:
    """Shows the progress of a replay: bars on a terminal, otherwise a line now and then."""

    def __init__(self, bars: Progress | None) -> None:
        self._bars = bars
        self._tasks = (
            [] if bars is None else [bars.add_task(each, total=1.0, text="") for each in NAMES]
        )
        self._written_at = self._learned_at = -math.inf
        self._sent: ReplayProgress | None = None
        self._learned: LearnerProgress | None = None

    @property
    def due(self) -> bool:
        """Whether the learner should be asked again while readings are sent."""
        return time.monotonic() - self._learned_at > QUERY_INTERVAL

    def show_sent(self, now: ReplayProgress) -> None:
        """Show what is sent."""
        self._sent = now
        self._update()

    def show_learned(self, now: LearnerProgress) -> None:
        """Show what is learned, and why learning fails if it does."""
        self._learned, self._learned_at = now, time.monotonic()
        self._update(done=not now.behind)

    def _update(self, *, done: bool = False) -> None:
        texts = [_sent_text(self._sent), _learned_text(self._learned)]
        if self._bars is not None:
            shares = [_sent_share(self._sent), _learned_share(self._sent, self._learned)]
            for task, share, text in zip(self._tasks, shares, texts, strict=True):
                self._bars.update(task, completed=share, text=text)
        elif done or time.monotonic() - self._written_at > LINE_INTERVAL:
            self._written_at = time.monotonic()
            write_line("; ".join(f"{name} {text}" for name, text in zip(NAMES, texts, strict=True)))


NAMES = ("sent", "learned")


@contextmanager
def replay_bars() -> Iterator[ReplayBars]:
    """The bars, on stderr while the block runs."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield ReplayBars(None)
        return
    columns = (
        TextColumn("{task.description:8}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %  {task.fields[text]}", markup=False),
    )
    with Progress(*columns, console=console) as bars:
        yield ReplayBars(bars)


class RetryNotice:
    """Writes why a call is retried, at most once per LINE_INTERVAL."""

    def __init__(self) -> None:
        self._written_at = -math.inf

    def __call__(self, error: ClearwattError, pause: float) -> None:
        """Write the error, unless one was written just now."""
        if time.monotonic() - self._written_at > LINE_INTERVAL:
            self._written_at = time.monotonic()
            write_line(f"{error}; trying again")


def _sent_text(now: ReplayProgress | None) -> str:
    if now is None:
        return "nothing yet"
    if now.stage == "warm-up":
        return f"the history; the service warms up ({timedelta(seconds=round(now.elapsed))})"
    from clearwatt.service.times import text

    part = " of the history" if now.stage == "history" else ""
    return f"up to {text(now.time)}{part}, {now.sent:,} readings at {now.rate:,.0f}/s"


def _learned_text(now: LearnerProgress | None) -> str:
    if now is None or (now.time is None and now.behind):
        return "nothing yet"
    from clearwatt.service.times import text

    learned = "what was sent" if now.time is None else f"up to {text(now.time)}"
    entries = f", {now.behind:,} journal entries to go" if now.behind else ""
    errors = "".join(f"; zone {zone} fails: {why}" for zone, why in now.errors.items())
    return f"{learned}{entries}{errors}"


def _sent_share(now: ReplayProgress | None) -> float:
    return 0.0 if now is None else _share(now.time, now)


def _learned_share(sent: ReplayProgress | None, learned: LearnerProgress | None) -> float:
    if sent is None or learned is None:
        return 0.0
    if sent.time == sent.end and not learned.behind:
        return 1.0
    return 0.0 if learned.time is None else min(_share(learned.time, sent), _sent_share(sent))


def _share(moment: int, span: ReplayProgress) -> float:
    return min(1.0, max(0.0, (moment - span.start) / max(1, span.end - span.start)))
