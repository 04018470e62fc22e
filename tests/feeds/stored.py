"""What the service has stored of a feed."""

from __future__ import annotations

from tests.service.application import NOW, STEP, Web


def stored(web: Web, entity: str = "park") -> list[tuple[int, float]]:
    """The readings of an entity as (steps since the start, value)."""
    number = next(each.number for each in web.store.entities() if each.id == entity)
    found = web.store.readings(number, start=0, end=2**40)
    steps = ((found.times - NOW) // STEP).tolist()
    return list(zip(steps, found.values.tolist(), strict=True))
