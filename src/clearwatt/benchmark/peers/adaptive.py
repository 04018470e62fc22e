"""The adaptive forecaster: slow networks, fast corrections, and trust that weighs them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from clearwatt.adaptive import AdaptiveSettings
from clearwatt.benchmark.history import ZoneHistory
from clearwatt.benchmark.intervals import calibrate
from clearwatt.benchmark.peer import CostMeter, Forecasts, Peer
from clearwatt.experiment.adaptive_stream import clock_steps, estimate_seconds, run_adaptive
from clearwatt.intervals import LEVELS


@dataclass(frozen=True)
class Adaptive(Peer):
    """The adaptive forecaster with its defaults.

    Args:
        settings: how it learns.
        levels: of the quantiles, calibrated around its forecasts.
    """

    settings: AdaptiveSettings = field(default_factory=AdaptiveSettings)
    levels: tuple[float, ...] = LEVELS
    together: ClassVar[bool] = True

    @property
    def key(self) -> str:
        """Its name on the command line."""
        return "clear-adaptive"

    @property
    def label(self) -> str:
        """Its name in tables."""
        return "ClearWatt, adaptive"

    def forecast(self, history: ZoneHistory) -> Forecasts:
        """Warm up on the samples known at the first forecast, then stream all later ones.

        It forecasts while it learns, so both are counted.
        """
        meter = CostMeter(history)
        with meter.measure_learning():
            run = run_adaptive(
                history.wide,
                history.measured,
                clock_steps(history.times, history.day),
                first=history.first,
                clock=history.clock,
                settings=self.settings,
                names=history.entities,
                columns=history.columns,
                seed=history.seed,
            )
            quantiles = calibrate(history, levels=self.levels, fitted=run.fitted, live=run.live)
        for column in range(len(history.entities)):
            meter.trainings[column] = 1 + int(run.forecaster.trainings[column])
            meter.count_bytes(column, run.bytes_per_entity + quantiles.state_bytes)
        return Forecasts(run.live[-history.steps :], meter.costs, quantiles.by_level)

    def seconds(self, history: ZoneHistory) -> float:
        """Proportional to the number of weeks."""
        return estimate_seconds(history.steps, len(history.entities), day=history.day)
