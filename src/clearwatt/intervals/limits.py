"""Between which powers an entity can be at all."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float64Array
from clearwatt.data.schema import Kind
from clearwatt.errors import ConfigurationError

Limit = float | Sequence[float] | Float64Array | None
"""Of all entities or of each; None: none."""
Limits = tuple[Limit, Limit]
"""The lowest and the highest power possible."""


def physical_limits(
    kind: Kind | str, *, rated: float | None, readings: Float64Array
) -> tuple[float, float]:
    """The lowest and the highest power of an entity; infinite where nothing limits it.

    A generator gives between zero and its rated capacity. Where the warm-up has read beyond them
    (a park that draws its own need at night, a rating that is exceeded in the cold), that reading
    is the limit, because an interval that leaves out what was measured helps nobody.

    Args:
        kind: generator, consumer or residual; only the first has limits.
        rated: the rated capacity in the unit of the readings, None if it is unknown.
        readings: of the warm-up, n; NaN where there is none.
    """
    known = readings[np.isfinite(readings)]
    if Kind(kind) is not Kind.GENERATOR:
        return -math.inf, math.inf
    low = min(0.0, float(known.min(initial=0.0)))
    high = math.inf if rated is None else max(rated, float(known.max(initial=rated)))
    return low, high


def limits_of(low: npt.ArrayLike | None, high: npt.ArrayLike | None, entities: int) -> Float64Array:
    """Limits of all entities (2 x m), given for all at once or for each; None: none."""
    ends = [-np.inf if low is None else low, np.inf if high is None else high]
    limits = np.stack([np.broadcast_to(np.asarray(end, np.float64), entities) for end in ends])
    crossed = np.flatnonzero(~(limits[0] <= limits[1]))
    if len(crossed):
        at = crossed[0]
        raise ConfigurationError(
            f"entity {at} has limits {limits[0, at]:g} and {limits[1, at]:g}; the low one must not "
            "be above the high one"
        )
    return limits


def checked_limits(limits: Limits | None, entities: int) -> Float64Array:
    """Limits of all entities (2 x m), or a ConfigurationError that names what is amiss."""
    if limits is None:
        return limits_of(None, None, entities)
    try:
        low, high = limits
        return limits_of(low, high, entities)
    except ConfigurationError:
        raise
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"limits are {limits!r}; give the low and the high one, as (0, None), each None, a "
            f"number or one number for each of the entities ({entities})"
        ) from error


def plain_limits(limits: Limits) -> list[float | list[float] | None]:
    """As JSON values."""
    return [None if end is None else np.asarray(end, np.float64).tolist() for end in limits]
