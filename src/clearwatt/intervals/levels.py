"""Quantile levels: the default ones, those that are learned, and which are allowed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float64Array
from clearwatt.errors import ConfigurationError

LEVELS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
"""Default levels: the ends of the 50, 80 and 90 % intervals, and the median."""
LEARNED_LEVELS = (0.01, *LEVELS, 0.99)
"""Levels that are learned; others are interpolated. Beyond the outermost these are used, because a
memory of some weeks holds too few rarer events."""


def checked_levels(levels: Sequence[float] | npt.NDArray[np.floating]) -> Float64Array:
    """Levels as an array; a ConfigurationError if they cannot be used."""
    try:
        wanted = np.asarray(levels, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"quantiles are {levels!r}; give numbers, as 0.05") from error
    if wanted.ndim != 1 or len(wanted) == 0:
        raise ConfigurationError(
            f"quantiles are {levels!r}; give a list of levels, as (0.05, 0.95)"
        )
    outside = wanted[~((wanted > 0) & (wanted < 1))]
    if len(outside):
        raise ConfigurationError(
            f"a quantile level is {outside[0]:g}; levels lie between 0 and 1, as 0.05 for 5 %"
        )
    if (np.diff(wanted) <= 0).any():
        raise ConfigurationError(f"quantiles are {wanted.tolist()}; give each once, ascending")
    return wanted
