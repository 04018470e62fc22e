"""Location and scale of residuals by time of day and level of the forecast.

Each cell has sums that fade with time. A cell with few samples is shrunk towards its part of the
day and its band, and these towards the mean of all cells, so that few samples give a coarse
estimate instead of a wrong one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float64Array

Indices = npt.NDArray[np.int64]

PARTS = 12
"""Parts of a day that have their own cells."""
SLOTS = 24
"""Upper limit of the steps per day that are learned from."""
BANDS = 6
"""Bands of equal height between the lowest and the highest usual forecast."""
LEAN = 8.0
"""Weight, in samples, of the estimate from part of the day and band in a cell."""
TOUCH = 0.25
"""Weight, in samples, of the mean of all cells in a part of the day or a band."""
FLOOR = 1e-3
"""Smallest scale as a share of the entity's largest: a park at night has next to no residuals, and
the first sunlight must not be an outlier."""
FAR = 30.0
"""Limit of normalised residuals, so that a single one cannot change everything."""


@dataclass(frozen=True, eq=False)
class ResidualCells:
    """Cells of `m` entities: ``parts`` of the day times `BANDS` of the forecast's level.

    ``day`` is in steps; ``lowest`` and ``height`` (m) are the bottom and the height of an entity's
    bands. At most `SLOTS` steps of a day are learned from, evenly spread and shifted every day:
    steps between them have nearly the same residuals.
    """

    day: int
    parts: int
    lowest: Float64Array
    height: Float64Array

    @classmethod
    def fit(cls, forecasts: Float64Array, *, day: int, parts: int) -> ResidualCells:
        """Cells with bands from the 1 % to the 99 % quantile of forecasts (n x m)."""
        low, high = np.quantile(forecasts, (0.01, 0.99), axis=0)
        return cls(day, parts, low, (high - low) / BANDS)

    @property
    def count(self) -> int:
        """Number of cells of an entity."""
        return self.parts * BANDS

    @property
    def stride(self) -> int:
        """Distance in steps between those that are learned from."""
        return -(-self.day // SLOTS)

    @property
    def slots(self) -> int:
        """Upper limit of the steps of a day that are learned from."""
        return -(-self.day // self.stride)

    def rows_to_learn(self, steps: Indices) -> Indices:
        """Indices of those of these steps (n) that are learned from."""
        return np.flatnonzero(steps % self.day % self.stride == steps // self.day % self.stride)

    def count_until(self, step: int) -> int:
        """Number of steps of the day, up to this one, that are learned from."""
        return (step % self.day - step // self.day % self.stride) // self.stride + 1

    def bands(self, forecasts: Float64Array) -> Indices:
        """The band of each forecast: n x m."""
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            band = forecasts - self.lowest
            band /= self.height
        # A constant forecast has bands without height (0 / 0); any band is right.
        np.fmax(band, 0.0, out=band)
        return np.fmin(band, BANDS - 1.0, out=band).astype(np.int64)

    def places(self, bands: Indices, steps: Indices) -> Indices:
        """Index of each forecast's cell among those of all entities (m * count): n x m."""
        parts = steps % self.day * self.parts // self.day
        first = np.arange(bands.shape[1], dtype=np.int64) * self.count
        places: Indices = bands + first
        places += (parts * BANDS)[:, None]
        return places

    def select(self, columns: Indices) -> ResidualCells:
        """The cells of some entities."""
        return ResidualCells(self.day, self.parts, self.lowest[columns], self.height[columns])


class CellSpread(NamedTuple):
    """Location and scale of the residuals of each cell: m x count."""

    location: Float64Array
    scale: Float64Array

    def normalise(self, residuals: Float64Array, places: Indices) -> Float64Array:
        """Residuals (n x m) in units of their cells."""
        units: Float64Array = residuals - self.location.reshape(-1).take(places)
        with np.errstate(over="ignore"):
            units /= self.scale.reshape(-1).take(places)
        return np.clip(units, -FAR, FAR, out=units)


class CellSums(NamedTuple):
    """Fading sums per cell, each m x count: samples, residuals, distances from the location."""

    samples: Float64Array
    residuals: Float64Array
    distances: Float64Array

    @classmethod
    def add_up(
        cls, residuals: Float64Array, distances: Float64Array, *, places: Indices, cells: int
    ) -> CellSums:
        """Sums of residuals (n x m, NaN: none) in their cells."""
        entities = residuals.shape[1]
        unknown, flat = np.isnan(residuals), places.ravel()

        def sums_of(values: Float64Array) -> Float64Array:
            np.copyto(values, 0.0, where=unknown)  # much faster than leaving them out
            sums = np.bincount(flat, values.ravel(), entities * cells)
            return np.asarray(sums, np.float64).reshape(entities, cells)

        return cls(
            sums_of(np.ones(residuals.shape)), sums_of(residuals.copy()), sums_of(distances.copy())
        )

    def fade(self, factor: Float64Array, newer: CellSums) -> CellSums:
        """These sums times a factor (m x 1), plus newer ones."""
        sums = CellSums(*(old * factor for old in self))
        for own, new in zip(sums, newer, strict=True):
            np.add(own, new, out=own)
        return sums

    def spread(self) -> CellSpread:
        """Location and scale of every cell, shrunk towards its part of the day and its band.

        The effects of part and band are added in a location and multiplied in a scale.
        """
        every = np.array(self)
        count = every.shape[2]
        sums, parts = every.reshape(*every.shape[:2], -1, BANDS), count // BANDS
        coarser = (every.reshape(-1, count) @ _members(count)).reshape(*every.shape[:2], -1)
        part, band = coarser[..., :parts], coarser[..., parts:]
        entire = np.add.reduce(band, axis=2, keepdims=True)
        whole = _ratio(entire[1:], entire[0])
        part, band = ((each[1:] + TOUCH * whole) / (each[0] + TOUCH) for each in (part, band))
        coarse = np.empty(sums[1:].shape)
        np.add(part[0, ..., None], (band[0] - whole[0])[:, None], out=coarse[0])
        np.multiply(part[1, ..., None], _ratio(band[1], whole[1])[:, None], out=coarse[1])
        coarse *= LEAN
        coarse += sums[1:]
        coarse /= sums[0] + LEAN
        location, scale = coarse.reshape(2, len(self.samples), -1)
        least = FLOOR * scale.max(axis=1, keepdims=True) + np.finfo(np.float64).tiny
        return CellSpread(location, np.maximum(scale, least))


@cache
def _members(count: int) -> Float64Array:
    """Which cells belong to each part of the day and to each band: count x (parts + BANDS).

    The sums are matrix products, because these take a tenth of the time.
    """
    parts = np.repeat(np.eye(count // BANDS), BANDS, axis=1)
    bands = np.tile(np.eye(BANDS), count // BANDS)
    return np.ascontiguousarray(np.concatenate([parts, bands]).T)


def _ratio(over: Float64Array, under: Float64Array) -> Float64Array:
    """A quotient; 0 where the divisor is not positive."""
    out = np.zeros(np.broadcast_shapes(over.shape, under.shape))
    return np.divide(over, under, out=out, where=under > 0)
