"""Signal days without the forecasts of entities that were deleted."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from safetensors.numpy import load, save

from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.service.records import SignalDay
from clearwatt.service.store.session import Session


def without_entities(day: SignalDay, numbers: Collection[int]) -> SignalDay:
    """The day without the columns of some entities; the same object if it has none of them."""
    if not numbers:
        return day
    content = load(day.content)
    stay = ~np.isin(content["entities"], list(numbers))
    if stay.all():
        return day
    fewer = {
        "forecast": np.ascontiguousarray(content["forecast"][:, stay]),
        "entities": content["entities"][stay],
    }
    return replace(day, content=save({**content, **fewer}))


def remove_entity(session: Session, zone: str, number: int, *, start: int, end: int) -> None:
    """Delete an entity's forecasts from the stored days that overlap a time span."""
    rows = session.rows(
        "SELECT zone, day, content FROM signals WHERE zone = ? AND day > ? AND day < ?",
        zone,
        start - SECONDS_PER_DAY,
        end,
    )
    for row in rows:
        before = SignalDay(*row)
        after = without_entities(before, [number])
        if after is not before:
            session.run(
                "UPDATE signals SET content = ? WHERE zone = ? AND day = ?",
                after.content,
                zone,
                after.day,
            )
