"""ClearWatt's forecasts by lead in the competition."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from clearwatt.adaptive.leads import LeadForecaster, LeadSettings
from clearwatt.arrays import Float64Array
from clearwatt.benchmark.competition.peer import BlockForecaster, CompetitionPeer
from clearwatt.data.wind_competition import Knowledge


@dataclass(frozen=True)
class AdaptiveByLead(CompetitionPeer):
    """Forecasts by lead, learned further before each block.

    Args:
        settings: how they are learned.
    """

    settings: LeadSettings = field(default_factory=LeadSettings)
    seconds: ClassVar[float] = 60.0

    @property
    def key(self) -> str:
        """Its name on the command line."""
        return "clear-adaptive"

    @property
    def label(self) -> str:
        """Its name in tables."""
        return "ClearWatt, by lead"

    def start(self, *, seed: int) -> BlockForecaster:
        """A forecaster that warms up on everything before the first block."""
        return _LeadBlocks(LeadForecaster(self.settings, seed=seed))


class _LeadBlocks(BlockForecaster):
    def __init__(self, forecaster: LeadForecaster) -> None:
        self._forecaster = forecaster

    def forecast(self, known: Knowledge) -> Float64Array:
        """Learn from what was measured since the last block, then forecast."""
        self._forecaster.learn(known.measured, known.runs)
        return self._forecaster.forecast(known.measured, known.runs)
