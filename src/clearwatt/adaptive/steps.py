"""Checks of the samples that a forecaster gets: order of steps, shape of tables."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clearwatt.clock import Steps
from clearwatt.errors import DataError


def checked_steps(at: npt.ArrayLike, samples: int) -> Steps:
    """Steps of the samples, or a DataError that says what is wrong."""
    steps = np.asarray(at, dtype=np.int64)
    if steps.shape != (samples,):
        raise DataError(f"at has shape {steps.shape}; give the step of each of {samples} rows")
    if (np.diff(steps) <= 0).any():
        row = int(np.flatnonzero(np.diff(steps) <= 0)[0])
        raise DataError(
            f"step {steps[row + 1]} comes after step {steps[row]}; give rows in order of time"
        )
    return steps


def columns_of(values: npt.ArrayLike) -> int:
    """How many columns a table has, or a DataError."""
    shape = np.shape(values)
    if len(shape) != 2:
        raise DataError(
            f"an array of shape {shape} was given; x is n x inputs and y is n x entities, "
            "with one column for a single one"
        )
    return int(shape[1])
