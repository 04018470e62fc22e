"""The history of a zone as peers see it: inputs in advance, measurements after their delay."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.arrays import Float32Array, Int64Array
from clearwatt.clock import Clock
from clearwatt.data.neighbours import split_columns
from clearwatt.errors import ConfigurationError, require_whole
from clearwatt.experiment.protocol import PhaseSamples, ZonePhases

EntityLimits = tuple[float, float]
"""The lowest and the highest power of an entity; infinite where nothing limits it."""


class KnownSamples(NamedTuple):
    """Measured samples in order of time."""

    x: Float32Array
    """Inputs, n x d."""
    y: Float32Array
    """Power, n x entities; NaN where there is no measurement."""
    times: pd.DatetimeIndex
    """When they were, n."""

    def of(self, column: int) -> tuple[Float32Array, Float32Array]:
        """Inputs (n x d) and power (n) of the samples measured for one entity."""
        measured = ~np.isnan(self.y[:, column])
        return self.x[measured], self.y[measured, column]

    def last(self, count: int) -> KnownSamples:
        """The newest ``count`` samples."""
        start = len(self.y) - count
        return KnownSamples(self.x[start:], self.y[start:], self.times[start:])


class ForecastRound(NamedTuple):
    """Steps of the stream that are forecast at once, with the samples known at the first."""

    steps: slice
    """The steps, counted from the first that is forecast."""
    x: Float32Array
    """Their inputs, n x d."""
    known: KnownSamples
    """Every measured sample known by then."""
    new: int
    """Number of known samples, the last ones, that the round before did not have."""


@dataclass(frozen=True, eq=False)
class ZoneHistory:
    """A zone over time: ``n`` samples, the warm-up first, then the steps to be forecast.

    For step t it returns only measurements up to t - delay, also in the warm-up. Inputs are weather
    forecasts and the calendar, which are known in advance.

    Args:
        zone: its name.
        entities: names of the entities to forecast.
        wide: inputs with the weather of neighbouring zones, if there are any, n x w.
        columns: names of the wide inputs, w.
        measured: power, n x entities; peers read it through the methods, which keep the delay.
        at: step of each sample on the data set's clock, n; gaps have no sample.
        times: time of each sample, n.
        first: the first sample that is forecast: that of the updating phase.
        test: the first sample of the test phase.
        day: steps of a day.
        delay: steps until a measurement is known.
        seed: of everything random in a peer.
        limits: the lowest and the highest power of each entity by its kind, its rating and what
            was known of it at the first forecast; none are known if empty.
    """

    zone: str
    entities: tuple[str, ...]
    wide: Float32Array
    columns: tuple[str, ...]
    measured: Float32Array = field(repr=False)
    at: Int64Array
    times: pd.DatetimeIndex
    first: int
    test: int
    day: int
    delay: int
    seed: int = 0
    limits: tuple[EntityLimits, ...] = ()

    def __post_init__(self) -> None:
        if self.clock.count_known(self.at, int(self.at[self.first])) == 0:
            raise ConfigurationError(
                f"the warm-up of zone {self.zone!r} is shorter than the delay of {self.delay} "
                "steps, so nothing would be known at the first forecast; give a shorter delay"
            )

    @classmethod
    def of(
        cls,
        zone: ZonePhases,
        test: PhaseSamples,
        times: pd.DatetimeIndex,
        *,
        day: int,
        delay: int,
        seed: int = 0,
    ) -> ZoneHistory:
        """The three phases of a zone in one history; ``times`` are those of all steps."""
        whole = zone.warmup.concatenate(zone.updating).concatenate(test)
        return cls(
            zone=zone.name,
            entities=zone.entities,
            wide=whole.x,
            columns=zone.columns,
            measured=whole.y,
            at=whole.at,
            times=times[whole.at],
            first=len(zone.warmup.at),
            test=len(zone.warmup.at) + len(zone.updating.at),
            day=day,
            delay=delay,
            seed=seed,
        )

    def select_entities(self, columns: Sequence[int]) -> ZoneHistory:
        """The history of some of the entities."""
        names = tuple(self.entities[column] for column in columns)
        measured = np.ascontiguousarray(self.measured[:, list(columns)])
        limits = tuple(self.limits[column] for column in columns) if self.limits else ()
        return replace(self, entities=names, measured=measured, limits=limits)

    @cached_property
    def x(self) -> Float32Array:
        """Inputs of the zone itself, n x d."""
        own, others = split_columns(self.columns)
        return np.ascontiguousarray(self.wide[:, own]) if others else self.wide

    @property
    def neighbours(self) -> Float32Array:
        """Weather of neighbouring zones, n x (w - d)."""
        _, others = split_columns(self.columns)
        return self.wide[:, others]

    @property
    def clock(self) -> Clock:
        """Steps per day, and delay of measurements."""
        return Clock(self.day, self.delay)

    @property
    def steps(self) -> int:
        """Number of steps to forecast: the updating and the test phase."""
        return len(self.x) - self.first

    @property
    def sample_bytes(self) -> int:
        """Memory of a sample of one entity: four bytes for each input and the power."""
        return 4 * (int(self.x.shape[1]) + 1)

    def known_samples(self, step: int = 0) -> KnownSamples:
        """Every measured sample known when a step of the stream is forecast."""
        return self._samples(self._known_count(self.first + step))

    def rounds(self, every: int = 1) -> Iterator[ForecastRound]:
        """The rounds of the stream, each of ``every`` steps of the clock."""
        require_whole(every=every)
        start, before = self.first, 0
        while start < len(self.x):
            stop = int(np.searchsorted(self.at, self.at[start] + every))
            count = self._known_count(start)
            steps = slice(start - self.first, stop - self.first)
            yield ForecastRound(steps, self.x[start:stop], self._samples(count), count - before)
            start, before = stop, count

    def lagged_power(self, lag: int) -> Float32Array:
        """Power `lag` clock steps before each sample, n x entities; NaN: not measured."""
        if lag < self.delay:
            raise ConfigurationError(
                f"power {lag} steps before is not known yet: measurements come after {self.delay}"
            )
        whole = np.full((int(self.at[-1]) + 1, len(self.entities)), np.nan, np.float32)
        whole[self.at] = self.measured
        wanted = self.at - lag
        return np.where(wanted[:, None] >= 0, whole[np.maximum(wanted, 0)], np.float32(np.nan))

    def fingerprint(self) -> str:
        """A hash of everything that forecasts and scores depend on."""
        digest = hashlib.sha256()
        facts = (self.zone, self.entities, self.first, self.test, self.day, self.delay, self.seed)
        digest.update(repr((*facts, self.limits)).encode())
        for part in (self.wide, self.measured, self.at, self.times.asi8):
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()

    def _known_count(self, row: int) -> int:
        return self.clock.count_known(self.at, int(self.at[row]))

    def _samples(self, count: int) -> KnownSamples:
        return KnownSamples(self.x[:count], self.measured[:count], self.times[:count])


Power = npt.NDArray[np.float64]
"""Forecasts, steps x entities."""
