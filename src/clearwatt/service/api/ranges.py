"""The times a question is about, where it does not say, and how many it may be about."""

from __future__ import annotations

from clearwatt.errors import DataError
from clearwatt.service.api.context import Parts
from clearwatt.service.api.schemas.base import Span
from clearwatt.service.records import Zone
from clearwatt.service.times import text

DAY = 86_400
AHEAD = 2 * DAY
"""Seconds a forecast reaches where no end is given."""
REPLAYED = 7 * DAY
"""A zone whose newest reading is older than this lives in the past: its now is that reading."""


def watermark(parts: Parts, zone: str) -> int | None:
    """The newest reading of a zone that was folded."""
    status = parts.store.statuses([zone]).get(zone)
    mark = status.content.get("watermark") if status else None
    return None if mark is None else int(mark)


def forecast_range(parts: Parts, zone: Zone, asked: Span) -> tuple[int, int]:
    """The steps of a zone with start <= time < end: from now on for 48 hours, if nothing is said.

    Where data of the past are being replayed, now is the step after the newest reading.
    """
    start = asked.start
    if start is None and asked.end is not None:
        start = asked.end - AHEAD
    if start is None:
        start = _now(parts, zone)
    return _ordered(start, start + AHEAD if asked.end is None else asked.end)


def past_range(parts: Parts, zone: Zone, asked: Span) -> tuple[int, int]:
    """The last day with readings, where nothing is said; a day from a start or to an end."""
    if asked.start is None and asked.end is None:
        mark = watermark(parts, zone.id)
        end = int(parts.clock()) if mark is None else mark + zone.step
        return end - DAY, end
    if asked.start is None:
        return (asked.end or 0) - DAY, asked.end or 0
    return _ordered(asked.start, asked.start + DAY if asked.end is None else asked.end)


def check_steps(count: int, most: int) -> None:
    """Refuse answers that would be too long."""
    if count > most:
        raise DataError(f"{count} steps are asked for; ask for at most {most} at a time")


def _now(parts: Parts, zone: Zone) -> int:
    now = int(parts.clock())
    mark = watermark(parts, zone.id)
    if mark is not None and mark < now - REPLAYED:
        return mark + zone.step
    return now // zone.step * zone.step


def _ordered(start: int, end: int) -> tuple[int, int]:
    if start >= end:
        raise DataError(f"end {text(end)} is not after start {text(start)}; ask for a later end")
    return start, end
