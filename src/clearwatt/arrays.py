"""Array types, and checks of the arrays that users pass in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from clearwatt.errors import DataError

Float32Array = npt.NDArray[np.float32]
Float64Array = npt.NDArray[np.float64]
Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


def nan_array(*shape: int) -> Float64Array:
    """An array of NaN."""
    array = np.empty(shape)
    array.fill(np.nan)
    return array


def checked_inputs(x: npt.ArrayLike, width: int) -> Float32Array:
    """Inputs (n x d) in single precision; a DataError names what is wrong."""
    inputs = _single_precision(x)
    if inputs.ndim != 2 or inputs.shape[1] != width:
        raise DataError(f"x has shape {inputs.shape}; this instance takes n x {width} inputs")
    finite = np.isfinite(inputs)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise DataError(
            f"x is {inputs[row, column]} at row {row}, column {column}; "
            "leave out samples whose inputs are incomplete"
        )
    return inputs


def checked_targets(
    y: npt.ArrayLike, samples: int, entities: Sequence[int | str | None]
) -> Float32Array:
    """Measurements (n x entities) in single precision, NaN where there is none, or a DataError."""
    targets = _single_precision(y)
    wanted = (samples, len(entities))
    if targets.shape != wanted:
        raise DataError(
            f"y has shape {targets.shape}; {wanted[0]} samples of {wanted[1]} entities need "
            f"shape {wanted}"
        )
    if np.isinf(targets).any():
        row, entity = np.argwhere(np.isinf(targets))[0]
        raise DataError(
            f"y is infinite at row {row}, entity {entities[entity]}; "
            "use NaN where nothing was measured"
        )
    return targets


def to_single(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A copy, in single precision if the values are in double; takes half the memory."""
    return values.astype(np.float32) if values.dtype == np.float64 else values.copy()


def _single_precision(values: npt.ArrayLike) -> Float32Array:
    """A single-precision array; values that are too large become infinite."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(values, dtype=np.float32)
