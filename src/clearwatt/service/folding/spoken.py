"""Which models speak of which rows: each row is forecast by those in force at its time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from clearwatt.calibration import Columns, InForce
from clearwatt.loop import Deployment


def stretches(
    models: InForce, rows: int, deployed: Sequence[tuple[int, Deployment]]
) -> Iterator[tuple[slice, Columns]]:
    """Stretches of rows that the same models speak of, in order, while these are in force.

    With each come the columns of the entities whose forecasts are by new models from there on.
    Updates speak from the row after the one that fired, so that what is said does not depend on
    how rows were cut into pieces; one at the last row gives a stretch of no rows.

    Args:
        models: those in force before the rows.
        rows: how many there are.
        deployed: updates within them, each with the row it speaks from on.
    """
    cuts = sorted({0, rows, *(place for place, _ in deployed)})
    for start, stop in [*pairwise(cuts), (rows, rows)]:
        fresh = [update for place, update in deployed if place == start]
        if stop > start or fresh:
            yield slice(start, stop), models.take_over(fresh)
