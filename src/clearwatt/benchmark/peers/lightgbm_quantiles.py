"""LightGBM with one model per quantile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clearwatt.benchmark.history import Power, ZoneHistory
from clearwatt.benchmark.peer import CostMeter, Forecasts, Peer
from clearwatt.benchmark.peers.lightgbm import WEEK, predict_power, train_booster
from clearwatt.intervals import LEVELS

MEDIAN = 0.5


@dataclass(frozen=True)
class LightGBMQuantiles(Peer):
    """Quantile regression on a window of the last samples; the median is the forecast.

    Args:
        days: days between two trainings.
        window: samples of the window.
    """

    days: int = WEEK
    window: int = 3_000
    package: ClassVar[str | None] = "lightgbm"

    @property
    def key(self) -> str:
        """Its name on the command line."""
        return "lightgbm-quantiles"

    @property
    def label(self) -> str:
        """Its name in tables."""
        return f"LightGBM, {len(LEVELS)} quantiles, every {self.days} days on {self.window:,}"

    def forecast(self, history: ZoneHistory) -> Forecasts:
        """Train and forecast every quantile, round by round."""
        meter = CostMeter(history)
        shape = (history.steps, len(history.entities), len(LEVELS))
        found: Power = np.empty(shape)
        for each in history.rounds(self.days * history.day):
            for column in range(len(history.entities)):
                x, y = (part[-self.window :] for part in each.known.of(column))
                meter.count_bytes(column, len(y) * history.sample_bytes)
                with meter.measure_learning():
                    models = [
                        train_booster(x, y, seed=history.seed, level=level) for level in LEVELS
                    ]
                meter.trainings[column] += len(models)
                for at, model in enumerate(models):
                    found[each.steps, column, at] = predict_power(model, each.x)
        found.sort(axis=2)  # quantiles of separate models may cross
        quantiles = {level: found[:, :, at] for at, level in enumerate(LEVELS)}
        return Forecasts(quantiles[MEDIAN], meter.costs, quantiles)

    def seconds(self, history: ZoneHistory) -> float:
        """One training per level and round."""
        trainings = len(LEVELS) * history.steps / (self.days * history.day)
        return max(1.0, trainings) * 0.15 * len(history.entities)
