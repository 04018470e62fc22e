"""The interface of a peer: a way to forecast that people use."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from typing import ClassVar

import numpy as np

from clearwatt.benchmark.history import Power, ZoneHistory
from clearwatt.errors import MissingExtraError

EXTRA = "benchmark"


@dataclass(frozen=True)
class Cost:
    """Cost of the forecasts of one entity.

    Args:
        seconds: processor time spent on learning.
        trainings: number of trainings; 0 for a model that learns sample by sample.
        held_bytes: most past data kept to go on learning, without the model itself.
    """

    seconds: float = 0.0
    trainings: int = 0
    held_bytes: int = 0


@dataclass(frozen=True, eq=False)
class Forecasts:
    """The forecasts of a peer.

    Args:
        power: for every step of the stream, steps x entities.
        costs: of each entity.
        quantiles: by level, steps x entities; empty if the peer has none.
    """

    power: Power
    costs: tuple[Cost, ...]
    quantiles: Mapping[float, Power] = field(default_factory=dict)


class NamedPeer(ABC):
    """What every protocol knows of a peer: its names, and ``package``, which it needs."""

    package: ClassVar[str | None] = None

    @property
    @abstractmethod
    def key(self) -> str:
        """Its name on the command line."""

    @property
    @abstractmethod
    def label(self) -> str:
        """Its name in tables."""

    def missing_requirement(self) -> str | None:
        """The reason why it cannot run here, in a sentence; None if it can."""
        return missing_package(self.package)


class Peer(NamedPeer):
    """A way to forecast. Its fields are its settings; equal peers give equal forecasts.

    ``together``: the entities of a zone are forecast in one call, because that is better or faster.
    """

    together: ClassVar[bool] = False

    @property
    def code_version(self) -> str:
        """Version of the code besides ours that its forecasts depend on; empty if there is none."""
        return version(self.package) if self.package else ""

    @abstractmethod
    def forecast(self, history: ZoneHistory) -> Forecasts:
        """Forecasts of every step, each from what `history` returns for it."""

    @abstractmethod
    def seconds(self, history: ZoneHistory) -> float:
        """Approximate time that this takes on one core, to estimate the time left."""


def missing_package(package: str | None) -> str | None:
    """The reason, in a sentence, why a peer that needs a package cannot run; None if it can."""
    if package is None or find_spec(package) is not None:
        return None
    return str(MissingExtraError(package, EXTRA))


class CostMeter:
    """Measures the cost of learning, for all entities of a history."""

    def __init__(self, history: ZoneHistory) -> None:
        self._entities = len(history.entities)
        self._seconds = 0.0
        self.trainings = np.zeros(self._entities, np.int64)
        self.held_bytes = np.zeros(self._entities, np.int64)

    @contextmanager
    def measure_learning(self) -> Iterator[None]:
        """Count the processor time of the block."""
        started = time.process_time()
        try:
            yield
        finally:
            self._seconds += time.process_time() - started

    def add_seconds(self, seconds: float) -> None:
        """Count processor time that was measured elsewhere."""
        self._seconds += seconds

    def count_training(self, column: int) -> None:
        """Count a training of the model of one entity."""
        self.trainings[column] += 1

    def count_bytes(self, column: int, size: int) -> None:
        """Record the bytes of past data kept for one entity; the maximum counts."""
        self.held_bytes[column] = max(self.held_bytes[column], size)

    @property
    def costs(self) -> tuple[Cost, ...]:
        """The cost of each entity; time is divided evenly."""
        each = self._seconds / self._entities
        return tuple(
            Cost(each, int(trainings), int(held))
            for trainings, held in zip(self.trainings, self.held_bytes, strict=True)
        )
