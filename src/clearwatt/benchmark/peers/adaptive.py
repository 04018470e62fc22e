"""The adaptive forecaster: slow networks, fast corrections, and trust that weighs them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from clearwatt.adaptive import AdaptiveForecaster, AdaptiveSettings
from clearwatt.benchmark.history import ZoneHistory
from clearwatt.benchmark.intervals import calibrate
from clearwatt.benchmark.peer import Forecasts, Meter, Peer
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

        `live` keeps to the delay by itself. It forecasts while it learns, so both are counted.
        """
        meter, known = Meter(history), history.known()
        start = len(known.y)
        with meter.learning():
            forecaster = AdaptiveForecaster.fit(
                known.x,
                known.y,
                history.at[:start],
                day=history.day,
                delay=history.delay,
                settings=self.settings,
                seed=history.seed,
            )
            fitted = forecaster.deployed.networks(known.x, history.at[:start])
            live = forecaster.live(history.x[start:], history.measured[start:], history.at[start:])
            quantiles = calibrate(history, levels=self.levels, fitted=fitted, live=live)
        for column in range(len(history.entities)):
            meter.trainings[column] = 1 + int(forecaster.trainings[column])
            meter.count_bytes(column, _bytes_of_one(forecaster, history) + quantiles.state_bytes)
        return Forecasts(live[-history.steps :], meter.costs, quantiles.by_level)

    def seconds(self, history: ZoneHistory) -> float:
        """Proportional to the number of weeks; it trains once a week."""
        weeks = history.steps / (7 * history.day)
        return 1.0 + 0.2 * weeks * len(history.entities)


def _bytes_of_one(forecaster: AdaptiveForecaster, history: ZoneHistory) -> int:
    """Bytes held for one entity; inputs that a zone shares count in full, as for all peers."""
    entities = len(history.entities)
    shared = forecaster.held * 4 * forecaster.state.frame.view.width
    return (forecaster.retained_bytes + (entities - 1) * shared) // entities
