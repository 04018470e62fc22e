"""Where residuals are large: their location and scale by time of day and level of the forecast.

Sums are kept per cell and fade with time. A cell that has seen little leans on its hour and its
band, and these on the whole, so that few data give a coarse answer, not a wild one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float64Array

Places = npt.NDArray[np.int64]

PARTS = 12
"""Parts of a day that are told apart."""
SLOTS = 24
"""Steps of a day that are learned from at most."""
BANDS = 6
"""Bands of equal height between the lowest and the highest usual forecast."""
LEAN = 8.0
"""Samples that hour and band together count for in a cell."""
TOUCH = 0.25
"""Samples that the whole counts for in an hour or a band: enough where nothing was seen at all."""
FLOOR = 1e-3
"""The least scale, against the largest of the entity: a park at night has next to no width, and the
first ray of the sun is no catastrophe."""
FAR = 30.0
"""Units beyond which a residual is just far, so that a single one cannot upset everything."""


@dataclass(frozen=True, eq=False)
class Cells:
    """How forecasts fall into cells: ``parts`` of the day times `BANDS` of level.

    ``day`` is in steps; ``lowest`` and ``height`` (m) are the bottom and the height of an entity's
    bands. Of a day at most `SLOTS` steps are learned from, evenly spread and others every day:
    those between them would say nearly the same again.
    """

    day: int
    parts: int
    lowest: Float64Array
    height: Float64Array

    @classmethod
    def over(cls, forecasts: Float64Array, *, day: int, parts: int) -> Cells:
        """Bands over the usual range of forecasts (n x m), without the outermost hundredths."""
        low, high = np.quantile(forecasts, (0.01, 0.99), axis=0)
        return cls(day, parts, low, (high - low) / BANDS)

    @property
    def count(self) -> int:
        """Cells of an entity."""
        return self.parts * BANDS

    @property
    def stride(self) -> int:
        """One step in so many is learned from."""
        return -(-self.day // SLOTS)

    @property
    def slots(self) -> int:
        """Steps of a day that are learned from at most."""
        return -(-self.day // self.stride)

    def learned(self, steps: Places) -> Places:
        """Where among these steps (n) those are that are learned from."""
        return np.flatnonzero(steps % self.day % self.stride == steps // self.day % self.stride)

    def come(self, step: int) -> int:
        """How many of the steps of its day that are learned from have come by a step."""
        return (step % self.day - step // self.day % self.stride) // self.stride + 1

    def bands(self, forecasts: Float64Array) -> Places:
        """The band of each forecast: n x m."""
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            band = forecasts - self.lowest
            band /= self.height
        # A flat forecast has bands of no height (0 / 0); any of them will do.
        np.fmax(band, 0.0, out=band)
        return np.fmin(band, BANDS - 1.0, out=band).astype(np.int64)

    def places(self, bands: Places, steps: Places) -> Places:
        """The cell of each forecast in an array of all entities' cells (m * count): n x m."""
        parts = steps % self.day * self.parts // self.day
        first = np.arange(bands.shape[1], dtype=np.int64) * self.count
        places: Places = bands + first
        places += (parts * BANDS)[:, None]
        return places

    def of(self, columns: Places) -> Cells:
        """Those of some entities."""
        return Cells(self.day, self.parts, self.lowest[columns], self.height[columns])


class Spread(NamedTuple):
    """Location and scale of the residuals of each cell: m x count."""

    location: Float64Array
    scale: Float64Array

    def normalised(self, residuals: Float64Array, places: Places) -> Float64Array:
        """Residuals (n x m) in units of their cells."""
        units: Float64Array = residuals - self.location.reshape(-1).take(places)
        with np.errstate(over="ignore"):
            units /= self.scale.reshape(-1).take(places)
        return np.clip(units, -FAR, FAR, out=units)


class Sums(NamedTuple):
    """Fading sums per cell, each m x count: samples, residuals, distances from the location."""

    samples: Float64Array
    residuals: Float64Array
    distances: Float64Array

    @classmethod
    def of(
        cls, residuals: Float64Array, distances: Float64Array, *, places: Places, cells: int
    ) -> Sums:
        """Sum up residuals (n x m, NaN: none) in their cells."""
        entities = residuals.shape[1]
        unknown, flat = np.isnan(residuals), places.ravel()

        def summed(values: Float64Array) -> Float64Array:
            np.copyto(values, 0.0, where=unknown)  # far faster than leaving them out
            sums = np.bincount(flat, values.ravel(), entities * cells)
            return np.asarray(sums, np.float64).reshape(entities, cells)

        return cls(
            summed(np.ones(residuals.shape)), summed(residuals.copy()), summed(distances.copy())
        )

    def faded(self, factor: Float64Array, newer: Sums) -> Sums:
        """These times a factor (m x 1), and newer ones."""
        found = Sums(*(old * factor for old in self))
        for own, new in zip(found, newer, strict=True):
            np.add(own, new, out=own)
        return found

    def spread(self) -> Spread:
        """Location and scale of every cell, leaning on what its hour and its band make together.

        They add up in a location and multiply in a scale.
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
        return Spread(location, np.maximum(scale, least))


@cache
def _members(count: int) -> Float64Array:
    """Which cells belong to each part of the day and to each band: count x (parts + BANDS).

    Sums over them as a matrix product take a tenth of the time.
    """
    parts = np.repeat(np.eye(count // BANDS), BANDS, axis=1)
    bands = np.tile(np.eye(BANDS), count // BANDS)
    return np.ascontiguousarray(np.concatenate([parts, bands]).T)


def _ratio(over: Float64Array, under: Float64Array) -> Float64Array:
    """A quotient that is 0 where there is nothing to divide by."""
    out = np.zeros(np.broadcast_shapes(over.shape, under.shape))
    return np.divide(over, under, out=out, where=under > 0)
