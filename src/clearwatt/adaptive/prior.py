"""Fleet priors: networks of power per capacity, learned from many entities for one without history.

    prior = train_prior(fleet, day=24)
    prior.save("region.prior"); FleetPrior.load("region.prior")
    AdaptiveForecaster.from_prior(prior, kinds=["generator"], sizes=[5.0], at=0, day=24)

A prior holds weights and statistics, no readings: of each kind, networks that its entities share,
and quantiles of the errors on entities that were left out of the training.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np

from clearwatt.adaptive.settings import NetworkSettings
from clearwatt.adaptive.view import View
from clearwatt.arrays import Float64Array
from clearwatt.clock import HOURS_PER_DAY, Steps
from clearwatt.errors import ConfigurationError, StateError
from clearwatt.files import digest_of, write_atomically
from clearwatt.packing import pack, read_bytes, to_bytes, unpack
from clearwatt.training.networks import Params
from clearwatt.training.standardisation import Standardisation

FORMAT = "clearwatt fleet prior"
VERSION = 2


@dataclass(frozen=True, eq=False)
class HeldOutErrors:
    """How far networks err on entities that they were not trained on, as `n` made-up samples.

    They are spread evenly over the hours of the day. Power is a share of capacity.

    Args:
        forecasts: Mean forecasts of networks trained on the other entities, `n`.
        measured: These and a quantile of the errors, `n`.
    """

    forecasts: Float64Array
    measured: Float64Array

    def steps(self, day: int) -> Steps:
        """Step of each sample on a clock with `day` steps a day, ascending."""
        days, hours = np.divmod(np.arange(len(self.measured)), HOURS_PER_DAY)
        return np.asarray(days * day + hours * day // HOURS_PER_DAY, np.int64)


@dataclass(frozen=True, eq=False)
class KindPrior:
    """What a fleet has learned of the entities of one kind. Power is a share of capacity.

    Args:
        params: Weights of the networks, `m x ...`.
        power: Mean and deviation of power, of width 1.
        low: Lowest power.
        high: Highest power.
        error: Mean absolute error on entities that were left out, in deviations.
        held_out: Errors on entities that were left out.
        trust: Mean product of each two experts' errors over the first days of such entities,
            `k x k`, in squared deviations.
        entities: Number of entities trained on.
        samples: Number of samples trained on.
    """

    params: Params
    power: Standardisation
    low: float
    high: float
    error: float
    held_out: HeldOutErrors
    trust: Float64Array
    entities: int
    samples: int


@dataclass(frozen=True, eq=False)
class FleetPrior:
    """Networks of each kind of entity that start the forecaster of an entity without history.

    Args:
        columns: Names of the inputs, `d`.
        view: What the networks see of them.
        networks: Shape of the networks of an entity.
        experts: Names of the experts that trust was learned in, `k`.
        kinds: By kind, such as "generator", or kind and sort, such as "generator wind".
        ranges: Lowest value and span of the weather variables, to which inputs were scaled; empty:
            inputs were used as they are.
        source: Where the fleet's readings come from, for a person to read.
        trained: When it was trained, for a person to read.
        format: Marks the content of a file.
        version: Of the format.
    """

    columns: tuple[str, ...]
    view: View
    networks: NetworkSettings
    experts: tuple[str, ...]
    kinds: Mapping[str, KindPrior]
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    source: str = ""
    trained: str = ""
    format: str = FORMAT
    version: int = VERSION

    @property
    def weather(self) -> tuple[str, ...]:
        """Names of the weather variables that the networks see."""
        return tuple(self.columns[place] for place in self.view.weather)

    @property
    def digest(self) -> str:
        """Checksum that identifies the prior."""
        return digest_of(*pack(self))

    def find(self, kind: str, sort: str = "") -> KindPrior | None:
        """The prior of a kind and sort; None if the fleet has no such entities.

        The kind alone is enough if the sort is not given, or if the fleet's sorts are unknown.
        """
        exact = self.kinds.get(kind_name(kind, sort))
        if exact is not None or any(name.startswith(f"{kind} ") for name in self.kinds):
            return exact
        return self.kinds.get(kind)

    def kind(self, kind: str, sort: str = "") -> KindPrior:
        """Like `find`, but refuse a kind that the fleet does not have."""
        found = self.find(kind, sort)
        if found is None:
            raise ConfigurationError(
                f"the prior knows no entity of kind {kind_name(kind, sort)!r}; it knows "
                f"{', '.join(self.kinds)}: "
                "train one on entities of this kind"
            )
        return found

    def missing(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Weather variables that the networks see and that are not among some columns."""
        return tuple(name for name in self.weather if name not in columns)

    def to_bytes(self) -> bytes:
        """As the content of a file, with a checksum."""
        return to_bytes(self)

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """The opposite of `to_bytes`; a StateError for content that is damaged or not a prior."""
        values, tensors = read_bytes(content)
        found = (values.get("format"), values.get("version"))
        if found != (FORMAT, VERSION):
            raise StateError(
                f"the content is {found[0]!r}, version {found[1]}; this release reads "
                f"{FORMAT!r}, version {VERSION}: train the prior again"
            )
        return unpack(cls, values, tensors)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, atomically."""
        write_atomically(Path(path), self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read it from a file; a StateError if it cannot be read."""
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise StateError(f"the prior {path} cannot be read ({error.strerror})") from error
        try:
            return cls.from_bytes(content)
        except StateError as error:
            raise StateError(f"{path} is no fleet prior: {error}") from error


def kind_name(kind: str, sort: str = "") -> str:
    """Name of a kind of entity, with its sort if that is known."""
    return f"{kind} {sort.replace('.', ' ')}".strip()
