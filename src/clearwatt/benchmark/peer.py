"""What a peer is: a way to forecast that people use, told in one small class."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import ClassVar

import numpy as np

from clearwatt.benchmark.history import Power, ZoneHistory
from clearwatt.errors import MissingExtraError

EXTRA = "benchmark"
MULTIPLY_ADDS = 6e9
"""Of a core in a second, roughly: what training costs, as time."""


@dataclass(frozen=True)
class Cost:
    """What the forecasts of one entity took.

    Args:
        seconds: processor time spent on learning.
        trainings: how often a model was trained; 0 for one that learns sample by sample.
        held_bytes: past data kept at the most, so as to go on learning; not the model itself.
    """

    seconds: float = 0.0
    trainings: int = 0
    held_bytes: int = 0


@dataclass(frozen=True, eq=False)
class Forecasts:
    """What a peer said, when it was due.

    Args:
        power: for every step of the stream, steps x entities.
        costs: of each entity.
        quantiles: by level, steps x entities; empty if the peer gives none.
    """

    power: Power
    costs: tuple[Cost, ...]
    quantiles: Mapping[float, Power] = field(default_factory=dict)


class Peer(ABC):
    """A way to forecast. Its fields are its settings; equal peers do the same.

    ``key`` is its name on the command line and ``label`` its name in tables. ``package`` is what
    must be installed for it. ``together`` tells whether the entities of a zone gain from being
    forecast in one go.
    """

    package: ClassVar[str | None] = None
    together: ClassVar[bool] = False

    @property
    @abstractmethod
    def key(self) -> str:
        """Its name on the command line."""

    @property
    @abstractmethod
    def label(self) -> str:
        """Its name in tables."""

    @abstractmethod
    def forecast(self, history: ZoneHistory) -> Forecasts:
        """Go through the stream; a step may be forecast from what `history` gives out for it."""

    @abstractmethod
    def seconds(self, history: ZoneHistory) -> float:
        """About how long that takes on one core, to tell the time left."""

    def missing(self) -> str | None:
        """Why it cannot run here, in a sentence; None if it can."""
        if self.package is None or find_spec(self.package) is not None:
            return None
        return str(MissingExtraError(self.package, EXTRA))


class Meter:
    """Adds up what learning takes, for all entities of a history."""

    def __init__(self, history: ZoneHistory) -> None:
        self._entities = len(history.entities)
        self._seconds = 0.0
        self.trainings = np.zeros(self._entities, np.int64)
        self.held_bytes = np.zeros(self._entities, np.int64)

    @contextmanager
    def learning(self) -> Iterator[None]:
        """Count the processor time of the block."""
        started = time.process_time()
        try:
            yield
        finally:
            self._seconds += time.process_time() - started

    def trained(self, column: int) -> None:
        """Count a training of the model of one entity."""
        self.trainings[column] += 1

    def holds(self, column: int, size: int) -> None:
        """Note how many bytes of past data are kept for one entity; the most of them counts."""
        self.held_bytes[column] = max(self.held_bytes[column], size)

    @property
    def costs(self) -> tuple[Cost, ...]:
        """Of each entity; time that was spent together is shared evenly."""
        each = self._seconds / self._entities
        return tuple(
            Cost(each, int(trainings), int(held))
            for trainings, held in zip(self.trainings, self.held_bytes, strict=True)
        )
