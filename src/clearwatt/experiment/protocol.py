"""The paper's three phases, and the division of a data set into them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float32Array, Int64Array
from clearwatt.data import Dataset, Entity
from clearwatt.data.features import CALENDAR_COLUMNS, fit_scaling, interpolate_weather, prepare
from clearwatt.data.neighbours import split_columns
from clearwatt.errors import ConfigurationError, DataError
from clearwatt.intervals import physical_limits

MIN_SAMPLES = 10
"""Least samples of a phase, and least measurements of an entity in it."""


@dataclass(frozen=True)
class Phases:
    """Samples of each phase; the defaults are the paper's."""

    warmup: int = 10_000
    updating: int = 54_764
    test: int = 3_000

    def __post_init__(self) -> None:
        for name in ("warmup", "updating", "test"):
            steps = getattr(self, name)
            if steps < MIN_SAMPLES:
                raise ConfigurationError(
                    f"the {name} phase takes {steps} steps; give at least {MIN_SAMPLES}"
                )

    @classmethod
    def for_length(cls, length: int) -> Phases:
        """The paper's shares of a data set of this length."""
        paper = cls()
        whole = paper.length
        warmup, test = (round(length * part / whole) for part in (paper.warmup, paper.test))
        return cls(warmup, length - warmup - test, test)

    @property
    def length(self) -> int:
        """Steps of all three."""
        return self.warmup + self.updating + self.test

    def split(self, values: Float32Array) -> tuple[Float32Array, Float32Array, Float32Array]:
        """The three phases of an array over time."""
        if len(values) < self.length:
            raise DataError(
                f"{len(values)} samples are fewer than the {self.length} that the phases take; "
                "give shorter phases"
            )
        end = self.warmup + self.updating
        return values[: self.warmup], values[self.warmup : end], values[end : self.length]


class PhaseSamples(NamedTuple):
    """The samples of a zone in a phase that have complete inputs."""

    x: Float32Array
    """Inputs, n x d."""
    y: Float32Array
    """Power, n x entities; NaN where there is no measurement."""
    at: Int64Array
    """Step of each sample on the data set's clock, n."""

    def concatenate(self, later: PhaseSamples) -> PhaseSamples:
        """These samples, then those of a later phase."""
        return PhaseSamples(
            x=np.concatenate([self.x, later.x]),
            y=np.concatenate([self.y, later.y]),
            at=np.concatenate([self.at, later.at]),
        )

    def spread_over_clock(self, values: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float64]:
        """Values of the samples (n) at every step from the first to the last; NaN in gaps."""
        spread = np.full(self.at[-1] - self.at[0] + 1, np.nan)
        spread[self.at - self.at[0]] = values
        return spread


@dataclass(frozen=True, eq=False)
class ZonePhases:
    """The samples of a zone that may be learned from: warm-up and updating phase.

    ``columns`` are the names of the inputs.
    """

    name: str
    entities: tuple[str, ...]
    warmup: PhaseSamples
    updating: PhaseSamples
    columns: tuple[str, ...] = ()

    @property
    def inputs(self) -> int:
        """Number of input features."""
        return int(self.warmup.x.shape[1])


@dataclass(frozen=True, eq=False)
class Division:
    """A data set in three phases; the test phase is separate from the rest.

    ``phases`` are those of a zone without gaps.
    """

    zones: tuple[ZonePhases, ...]
    test: tuple[PhaseSamples, ...]
    phases: Phases

    def fingerprint(self) -> str:
        """A hash of everything that may be learned from; the test phase is not read."""
        digest = hashlib.sha256()
        for zone in self.zones:
            digest.update(repr((zone.name, zone.entities)).encode())
            for span in (zone.warmup, zone.updating):
                for part in span:
                    digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()


def scaled_limits(entity: Entity, readings: Float32Array) -> tuple[float, float]:
    """The lowest and the highest scaled power of an entity; a rated capacity is scaled to 1.

    Args:
        entity: its kind and its capacity decide.
        readings: scaled power that is known, n.
    """
    rated = None if entity.capacity is None else 1.0
    return physical_limits(entity.kind, rated=rated, readings=readings.astype(np.float64))


def divide(dataset: Dataset, phases: Phases | None, entities: Sequence[str]) -> Division:
    """Scale a data set by its warm-up only, and divide it into phases, zone by zone.

    Args:
        dataset: the data set.
        phases: samples of each phase; None for the paper's shares. Only samples with complete
            inputs count, so that a zone with gaps has all three phases, too.
        entities: which entities take part.
    """
    chosen = dataset.select(entities)
    parts = [
        chosen.select([e.name for e in chosen.entities if e.zone == zone]) for zone in chosen.zones
    ]
    spans = [_spans(part, phases) for part in parts]
    zones = [
        ZonePhases(part.zones[0], part.names, warmup, updating, _input_columns(part))
        for part, (warmup, updating, _) in zip(parts, spans, strict=True)
    ]
    _refuse_unmeasured(zones)
    whole = phases or Phases.for_length(len(dataset.times))
    return Division(tuple(zones), tuple(test for _, _, test in spans), whole)


def _input_columns(part: Dataset) -> tuple[str, ...]:
    """Names of the inputs of a data set of one zone."""
    (frame,) = part.weather.values()
    return (*map(str, frame.columns), *CALENDAR_COLUMNS)


def _spans(part: Dataset, phases: Phases | None) -> tuple[PhaseSamples, PhaseSamples, PhaseSamples]:
    """The phases of a data set of one zone."""
    (zone,) = part.zones
    frame = part.weather[zone]
    required, _ = split_columns([str(name) for name in frame.columns])
    weather = interpolate_weather(frame.iloc[:, required], part.times)
    rows = np.flatnonzero(np.isfinite(weather).all(axis=1))
    own = phases or _default_phases(len(rows), zone, part.name)
    if len(rows) < own.length:
        raise DataError(
            f"zone {zone!r} of {part.name!r} has complete inputs for {len(rows)} steps, fewer "
            f"than the {own.length} that the phases take; give shorter phases or leave it out"
        )
    end = int(rows[own.warmup - 1]) + 1
    features = prepare(part, fit_scaling(part, end))
    x, y = features.inputs[zone], features.targets
    stop = own.warmup + own.updating
    cuts = (rows[: own.warmup], rows[own.warmup : stop], rows[stop : own.length])
    warmup, updating, test = (
        PhaseSamples(np.ascontiguousarray(x[at]), np.ascontiguousarray(y[at]), at) for at in cuts
    )
    return warmup, updating, test


def _default_phases(length: int, zone: str, name: str) -> Phases:
    """The paper's shares of the steps of a zone."""
    try:
        return Phases.for_length(length)
    except ConfigurationError as error:
        raise DataError(
            f"zone {zone!r} of {name!r} has complete inputs for {length} steps, too few to share "
            f"out as the paper does; take longer data, or leave its entities out (--without)"
        ) from error


def _refuse_unmeasured(zones: Sequence[ZonePhases]) -> None:
    phases = {"warm-up": [z.warmup for z in zones], "updating phase": [z.updating for z in zones]}
    for name, spans in phases.items():
        few = [
            entity
            for zone, span in zip(zones, spans, strict=True)
            for entity, readings in zip(zone.entities, span.y.T, strict=True)
            if np.count_nonzero(~np.isnan(readings)) < MIN_SAMPLES
        ]
        if few:
            raise DataError(
                f"{', '.join(few)}: fewer than {MIN_SAMPLES} measurements with complete inputs in "
                f"the {name}; leave out (--without) or give other phases"
            )
