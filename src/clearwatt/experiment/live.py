"""Live forecasts: each by the models in service when it was made, with delayed measurements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from clearwatt.arrays import Float32Array
from clearwatt.clear.component import Model
from clearwatt.clear.loop import Deployment, reconstructor
from clearwatt.clock import Clock, Steps
from clearwatt.intervals import ModelSwap, window_rows
from clearwatt.training.networks import Params

DAY_AHEAD = Clock(day=96, delay=96)
"""Quarter hours, measurements a day late."""


class ServicePeriod(NamedTuple):
    """Weights used from row ``start`` on; trained on samples before row ``known``."""

    start: int
    known: int
    encoder: Params
    head: Params


@dataclass(frozen=True, eq=False)
class ModelTimeline:
    """The models of one entity in the order of their service, those of the warm-up first.

    A forecast for step t uses measurements up to t - delay, so a model that was updated by the
    measurement of step s serves from s + delay on.

    Args:
        autoencoder: The warm-up's.
        predictor: The warm-up's, of this entity.
        deployments: Updates of the entity's components during the stream.
        clock: Steps per day, and delay of measurements.
        at: Step of each row of the stream; None if every step is a row.
    """

    autoencoder: Model
    predictor: Model
    deployments: Sequence[Deployment]
    clock: Clock = DAY_AHEAD
    at: Steps | None = None

    @property
    def periods(self) -> list[ServicePeriod]:
        """The period of each accepted update, after that of the warm-up's models."""
        encoder, head = self.autoencoder.params, self.predictor.params
        periods = [ServicePeriod(0, 0, encoder, head)]
        for event, params, _ in self.deployments:
            if event.component == "autoencoder":
                encoder = params
            else:
                head = params
            if event.accepted:  # its step counts the sample that triggered it
                start = self.clock.first_row_after(event.step - 1, self.at)
                periods.append(ServicePeriod(start, event.step, encoder, head))
        return periods

    def forecasts(self, x: Float32Array) -> Float32Array:
        """Forecasts (n) for the stream's inputs (n x d), each by the model in service."""
        forecasts = np.empty(len(x), np.float32)
        periods = self.periods
        ends = [*(period.start for period in periods[1:]), len(x)]
        for period, end in zip(periods, ends, strict=True):
            rows = slice(period.start, min(end, len(x)))
            if rows.stop > rows.start:
                forecasts[rows] = self._forecast(period, x[rows])
        return forecasts

    def swaps(self, column: int, x: Float32Array) -> Iterator[ModelSwap]:
        """Every new model of the entity with its forecasts of the days before.

        Args:
            column: Of the entity.
            x: The stream's inputs, n x d.
        """
        for period in self.periods[1:]:
            rows = window_rows(period.known, self.clock.day)
            forecasts = self._forecast(period, x[rows]).astype(np.float64)
            yield ModelSwap(period.start, period.known, column, forecasts)

    def _forecast(self, period: ServicePeriod, x: Float32Array) -> Float32Array:
        network = reconstructor(self.autoencoder.network)
        with torch.inference_mode():
            rows = torch.from_numpy(x)[None]
            latent = network.encode(period.encoder, rows)
            output = self.predictor.network.forward(period.head, latent)
        forecasts: Float32Array = output[0, :, 0].numpy()
        return forecasts
