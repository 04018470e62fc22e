"""The interface of a peer in the competition, and the simplest peers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from clearwatt.arrays import Float64Array
from clearwatt.benchmark.peer import NamedPeer
from clearwatt.data.wind_competition import BLOCK, Knowledge


class BlockForecaster(ABC):
    """Forecasts the blocks one after the other; it may learn between them."""

    @abstractmethod
    def forecast(self, known: Knowledge) -> Float64Array:
        """Forecast of the block after the issue, `48 x e`."""


class CompetitionPeer(NamedPeer):
    """A way to forecast the blocks. Its fields are its settings.

    ``seconds`` is about the time that all blocks take.
    """

    seconds: ClassVar[float] = 0.1

    @abstractmethod
    def start(self, *, seed: int) -> BlockForecaster:
        """A forecaster that has seen nothing yet."""


@dataclass(frozen=True)
class BlockPersistence(CompetitionPeer):
    """Persistence: the last measurement, for all 48 hours."""

    @property
    def key(self) -> str:
        """Its name on the command line."""
        return "last-value"

    @property
    def label(self) -> str:
        """Its name in tables."""
        return "persistence of the last value"

    def start(self, *, seed: int) -> BlockForecaster:
        """A forecaster without state."""
        return _LastValueForecaster()


class _LastValueForecaster(BlockForecaster):
    def forecast(self, known: Knowledge) -> Float64Array:
        """The last measurement of each farm, repeated."""
        last = pd.DataFrame(known.measured).ffill().to_numpy(np.float64)[-1]
        return np.repeat(last[None], BLOCK, axis=0)
