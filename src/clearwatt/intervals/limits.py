"""Limits of an entity's power, which quantiles are clipped to."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float64Array
from clearwatt.data.schema import Kind
from clearwatt.errors import ConfigurationError

PowerLimit = float | Sequence[float] | Float64Array | None
"""One limit for all entities or one for each; None: no limit."""
PowerLimits = tuple[PowerLimit, PowerLimit]
"""The lowest and the highest power."""


def physical_limits(
    kind: Kind | str, *, rated: float | None, readings: Float64Array
) -> tuple[float, float]:
    """The lowest and the highest power of an entity; infinite where there is no limit.

    The power of a generator lies between zero and its rated capacity. A reading of the warm-up
    beyond them (a park that consumes power at night, a rating exceeded in the cold) becomes the
    limit, because an interval has to contain what was measured.

    Args:
        kind: Generator, consumer or residual; only a generator has limits.
        rated: The rated capacity in the unit of the readings; None if it is unknown.
        readings: Of the warm-up, n; NaN where there is none.
    """
    known = readings[np.isfinite(readings)]
    if Kind(kind) is not Kind.GENERATOR:
        return -math.inf, math.inf
    low = min(0.0, float(known.min(initial=0.0)))
    high = math.inf if rated is None else max(rated, float(known.max(initial=rated)))
    return low, high


def limits_array(
    low: npt.ArrayLike | None, high: npt.ArrayLike | None, entities: int
) -> Float64Array:
    """Limits of all entities (2 x m), from one for all or one for each; None: no limit."""
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


def checked_limits(limits: PowerLimits | None, entities: int) -> Float64Array:
    """Limits of all entities (2 x m); a ConfigurationError if they cannot be used."""
    if limits is None:
        return limits_array(None, None, entities)
    try:
        low, high = limits
        return limits_array(low, high, entities)
    except ConfigurationError:
        raise
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"limits are {limits!r}; give the low and the high one, as (0, None), each None, a "
            f"number or one number for each of the entities ({entities})"
        ) from error


def plain_limits(limits: PowerLimits) -> list[float | list[float] | None]:
    """Limits as JSON values."""
    return [None if end is None else np.asarray(end, np.float64).tolist() for end in limits]
