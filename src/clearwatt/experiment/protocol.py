"""The paper's three phases: warm-up, updating, test; and a data set divided into them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clearwatt.data import Dataset
from clearwatt.data.features import FeatureSet, fit_scaling, prepare
from clearwatt.errors import ConfigurationError, DataError

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]

LEAST = 10
"""Samples a phase of a zone must have to be of any use."""


@dataclass(frozen=True)
class Phases:
    """How many steps each phase takes; the defaults are the paper's."""

    warmup: int = 10_000
    updating: int = 54_764
    test: int = 3_000

    def __post_init__(self) -> None:
        for name in ("warmup", "updating", "test"):
            if getattr(self, name) < LEAST:
                raise ConfigurationError(
                    f"the {name} phase takes {getattr(self, name)} steps; give at least {LEAST}"
                )

    @classmethod
    def scaled(cls, length: int) -> Phases:
        """The paper's shares of a data set of this length."""
        paper = cls()
        whole = paper.length
        warmup, test = (round(length * part / whole) for part in (paper.warmup, paper.test))
        return cls(warmup, length - warmup - test, test)

    @property
    def length(self) -> int:
        """Steps of all three."""
        return self.warmup + self.updating + self.test

    def split(self, values: Floats) -> tuple[Floats, Floats, Floats]:
        """The three phases of an array over time."""
        if len(values) < self.length:
            raise DataError(
                f"{len(values)} samples are fewer than the {self.length} that the phases take; "
                "give shorter phases"
            )
        end = self.warmup + self.updating
        return values[: self.warmup], values[self.warmup : end], values[end : self.length]


class Span(NamedTuple):
    """The usable samples of a zone in a phase."""

    x: Floats
    """Inputs, n x d."""
    y: Floats
    """Power, n x entities; NaN where there is no measurement."""
    at: Rows
    """Step of each sample since the phase began, n; samples with incomplete inputs are left out."""


@dataclass(frozen=True, eq=False)
class Zone:
    """What may be learned from in a zone: its entities, the warm-up, the updating phase."""

    name: str
    entities: tuple[str, ...]
    warmup: Span
    updating: Span

    @property
    def inputs(self) -> int:
        """Number of input features."""
        return int(self.warmup.x.shape[1])


@dataclass(frozen=True, eq=False)
class Division:
    """A data set in three phases; the test phase is kept apart."""

    zones: tuple[Zone, ...]
    test: tuple[Span, ...]
    phases: Phases

    def fingerprint(self) -> str:
        """Tells two data sets apart by what may be learned from; the test phase is not read."""
        digest = hashlib.sha256()
        for zone in self.zones:
            digest.update(repr((zone.name, zone.entities)).encode())
            for span in (zone.warmup, zone.updating):
                for part in span:
                    digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()


def divide(dataset: Dataset, phases: Phases, entities: Sequence[str]) -> Division:
    """Scale by the warm-up alone and divide into phases, zone by zone.

    Args:
        dataset: the data set; its first steps are the warm-up.
        phases: the length of each phase, on the data set's clock.
        entities: which entities take part.
    """
    if len(dataset.times) < phases.length:
        raise DataError(
            f"data set {dataset.name!r} has {len(dataset.times)} steps, fewer than the "
            f"{phases.length} that the phases take; give shorter phases"
        )
    chosen = dataset.select(entities)
    features = prepare(chosen, fit_scaling(chosen, phases.warmup))
    spans = [_spans(features, zone, phases) for zone in chosen.zones]
    zones = [
        Zone(zone, _entities_in(features, zone), warmup, updating)
        for zone, (warmup, updating, _) in zip(chosen.zones, spans, strict=True)
    ]
    _refuse_unmeasured(zones)
    return Division(tuple(zones), tuple(test for _, _, test in spans), phases)


def _entities_in(features: FeatureSet, zone: str) -> tuple[str, ...]:
    pairs = zip(features.entities, features.zones, strict=True)
    return tuple(name for name, its in pairs if its == zone)


def _spans(features: FeatureSet, zone: str, phases: Phases) -> list[Span]:
    columns = [at for at, its in enumerate(features.zones) if its == zone]
    x, y, usable = features.inputs[zone], features.targets[:, columns], features.usable[zone]
    spans, start = [], 0
    for name in ("warmup", "updating", "test"):
        stop = start + getattr(phases, name)
        at = np.flatnonzero(usable[start:stop])
        if len(at) < LEAST:
            raise DataError(
                f"zone {zone!r} has complete inputs for {len(at)} of the {stop - start} steps of "
                f"the {name} phase; give other phases or leave its entities out"
            )
        rows = at + start
        spans.append(Span(np.ascontiguousarray(x[rows]), np.ascontiguousarray(y[rows]), at))
        start = stop
    return spans


def _refuse_unmeasured(zones: Sequence[Zone]) -> None:
    for zone in zones:
        for name, span in (("warm-up", zone.warmup), ("updating phase", zone.updating)):
            counts = (~np.isnan(span.y)).sum(axis=0)
            few = [entity for entity, n in zip(zone.entities, counts, strict=True) if n < LEAST]
            if few:
                raise DataError(
                    f"{few[0]!r} has fewer than {LEAST} measurements with complete inputs in the "
                    f"{name}; leave it out or give other phases"
                )
