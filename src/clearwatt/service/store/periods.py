"""Calendar periods (UTC) that partitions of a table cover."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

AHEAD = 3
"""Months after the current one whose partitions exist in advance."""


class Period(NamedTuple):
    """A month or a year: seconds since 1970, ``stop`` excluded; the end of a partition's name."""

    start: float
    stop: float
    name: str


def month(time: float, *, later: int = 0) -> Period:
    """The month of a time, or one some months later."""
    moment = datetime.fromtimestamp(time, UTC)
    number = moment.year * 12 + moment.month - 1 + later
    year, place = divmod(number, 12)
    return Period(_month_start(number), _month_start(number + 1), f"{year:04d}_{place + 1:02d}")


def year(time: float) -> Period:
    """The year of a time."""
    number = datetime.fromtimestamp(time, UTC).year
    return Period(_month_start(number * 12), _month_start(number * 12 + 12), f"{number:04d}")


def find_period(time: float, *, now: float, known: Sequence[tuple[float, float]]) -> Period | None:
    """The period whose partition a time needs; None: the default partition is meant for it.

    Months for this year, the year before and ``AHEAD`` months; whole years before, so that a long
    history does not become hundreds of partitions, unless parts of the year have partitions.
    Times before 1970 or too far ahead have no period, nor have those of known partitions.

    Args:
        time: Seconds since 1970.
        now: The current time.
        known: Start and stop of the partitions, without the default one.
    """
    if not (0 <= time < month(now, later=AHEAD).stop):
        return None
    if any(start <= time < stop for start, stop in known):
        return None
    whole = year(time)
    if whole.stop <= year(year(now).start - 1).start and not _overlaps(whole, known):
        return whole
    return month(time)


def _overlaps(period: Period, known: Sequence[tuple[float, float]]) -> bool:
    return any(start < period.stop and stop > period.start for start, stop in known)


def _month_start(number: int) -> float:
    return datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC).timestamp()
