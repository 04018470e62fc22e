"""Readings on their way from a feed to the service."""

from __future__ import annotations

from typing import NamedTuple


class FeedReading(NamedTuple):
    """A reading as the service takes it: seconds since 1970 on the zone's clock, entity's unit.

    A value of None says that there is no reading at this time.
    """

    entity: str
    time: int
    value: float | None
