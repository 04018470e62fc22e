"""Default time ranges of queries, and their limits."""

from __future__ import annotations

from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.errors import DataError
from clearwatt.service.api.context import AppContext
from clearwatt.service.api.schemas.base import TimeRange
from clearwatt.service.records import Zone
from clearwatt.service.store import StoreDamagedError, StoreUnavailableError
from clearwatt.service.times import text
from clearwatt.service.views.backlog import newest_sent

AHEAD = 2 * SECONDS_PER_DAY
"""Length of a forecast in seconds, if no end is given."""
REPLAYED = 7 * SECONDS_PER_DAY
"""A zone whose newest reading is older than this is a replay: its now is that reading."""


def watermark(app: AppContext, zone: str) -> int | None:
    """Time of the newest reading of a zone that the learner has processed."""
    return app.store.status(zone).watermark


def forecast_range(app: AppContext, zone: Zone, query: TimeRange) -> tuple[int, int]:
    """Range start <= time < end of a forecast; default: 48 hours from now.

    In a replay of past data, now is the step after the newest reading that was sent.
    """
    start = query.start
    if start is None and query.end is not None:
        start = query.end - AHEAD
    if start is None:
        start = _now(app, zone)
    return _check_order(start, start + AHEAD if query.end is None else query.end)


def past_range(app: AppContext, zone: Zone, query: TimeRange) -> tuple[int, int]:
    """Range of past times; default: the last day with readings, or a day from start or to end."""
    if query.start is None and query.end is None:
        mark = watermark(app, zone.id)
        end = int(app.clock()) if mark is None else mark + zone.step
        return end - SECONDS_PER_DAY, end
    if query.start is None:
        return (query.end or 0) - SECONDS_PER_DAY, query.end or 0
    return _check_order(
        query.start, query.start + SECONDS_PER_DAY if query.end is None else query.end
    )


def check_steps(count: int, most: int) -> None:
    """Raise DataError for an answer of more than ``most`` steps."""
    if count > most:
        raise DataError(f"{count} steps are asked for; ask for at most {most} at a time")


def _now(app: AppContext, zone: Zone) -> int:
    now = int(app.clock())
    try:
        mark = _newest(app, zone, before=now - REPLAYED)
    except (StoreUnavailableError, StoreDamagedError):
        mark = None  # forecasts are from memory, and nothing is replayed
    if mark is not None and mark < now - REPLAYED:
        return mark + zone.step
    return now // zone.step * zone.step


def _newest(app: AppContext, zone: Zone, *, before: int) -> int | None:
    """The newest reading of a zone; if the learner knows none since ``before``, of those sent."""
    status = app.store.status(zone.id)
    mark = status.watermark
    if mark is None or mark < before:  # the learner may be behind
        return newest_sent(app.store, zone, app.registry.zone_entities(zone.id), status)
    return mark


def _check_order(start: int, end: int) -> tuple[int, int]:
    if start >= end:
        raise DataError(f"end {text(end)} is not after start {text(start)}; ask for a later end")
    return start, end
