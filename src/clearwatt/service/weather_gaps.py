"""Days of a zone for which there is no weather."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta

import numpy as np

from clearwatt.clock import SECONDS_PER_DAY

HOUR = 3600
DayRange = tuple[date, date]
"""First and last day."""


def missing_days(
    spans: Iterable[tuple[int, int]], *, first: date, last: date
) -> Iterator[DayRange]:
    """Ranges of days from ``first`` to ``last`` with an hour that no issue reaches.

    Args:
        spans: first and last time of each issue, in seconds since 1970.
        first: first day, UTC.
        last: last day, UTC.
    """
    count = (last - first).days + 1
    if count < 1:
        return
    start = int(datetime(first.year, first.month, first.day, tzinfo=UTC).timestamp())
    hours = np.zeros(count * 24 + 1, np.int64)  # +1 where an issue begins, -1 after its end
    for begin, end in spans:
        low, high = -(-(begin - start) // HOUR), (end - start) // HOUR + 1
        hours[min(max(low, 0), count * 24)] += 1
        hours[min(max(high, 0), count * 24)] -= 1
    covered = (np.cumsum(hours[:-1]) > 0).reshape(count, 24).all(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[1], covered, [1]]).astype(np.int8)))
    for begin, end in edges.reshape(-1, 2).tolist():
        yield first + timedelta(days=begin), first + timedelta(days=end - 1)


def day_of(seconds: float) -> date:
    """The UTC day of a time."""
    return date.fromordinal(date(1970, 1, 1).toordinal() + int(seconds // SECONDS_PER_DAY))
