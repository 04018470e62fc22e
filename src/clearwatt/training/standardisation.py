"""Standardisation: columns scaled to mean 0 and deviation 1 of the warm-up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float64Array
from clearwatt.errors import DataError


@dataclass(frozen=True, eq=False)
class Standardisation:
    """Mean and scale of each column, fixed once."""

    mean: Float64Array
    scale: Float64Array

    @classmethod
    def fit(cls, values: Float64Array) -> Self:
        """Mean and deviation of values (n x k) without NaN; a constant column has scale 1."""
        with np.errstate(over="ignore", invalid="ignore"):
            mean, deviation = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
        if not np.isfinite(deviation).all():
            column = int(np.flatnonzero(~np.isfinite(deviation))[0])
            raise DataError(f"column {column} holds values too large to scale; remove or clip them")
        # A constant column's deviation is rounding noise rather than exactly zero.
        constant = deviation <= 1e-12 * np.maximum(np.abs(mean), 1.0)
        return cls(mean, np.where(constant, 1.0, deviation))

    @classmethod
    def identity(cls, width: int) -> Self:
        """A standardisation that changes nothing."""
        return cls(np.zeros(width), np.ones(width))

    def apply(self, values: Float64Array) -> npt.NDArray[np.float32]:
        """Values (n x k) in scaled units; overflow of single precision becomes infinity."""
        if values.ndim != 2 or values.shape[1] != len(self.mean):
            raise DataError(f"values have shape {values.shape}; n x {len(self.mean)} are needed")
        scaled: Float64Array = values - self.mean
        scaled /= self.scale
        with np.errstate(over="ignore"):
            return scaled.astype(np.float32)

    def undo(self, scaled: Float64Array) -> Float64Array:
        """Scaled values (n x k) in their own units."""
        values: Float64Array = scaled * self.scale + self.mean
        return values

    def select(self, columns: Sequence[int]) -> Self:
        """The standardisation of some columns."""
        own = list(columns)
        return type(self)(self.mean[own], self.scale[own])

    def to_dict(self) -> dict[str, list[float]]:
        """Plain values for JSON; floats are exact."""
        return {"mean": self.mean.tolist(), "scale": self.scale.tolist()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Sequence[float]]) -> Self:
        """The opposite of `to_dict`."""
        return cls(np.array(values["mean"], dtype=float), np.array(values["scale"], dtype=float))
