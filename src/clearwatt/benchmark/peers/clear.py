"""Instances of CLeaR: the paper's six, and those of users, in one fixed configuration each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from clearwatt.benchmark.history import ZoneHistory
from clearwatt.benchmark.intervals import CalibratedQuantiles, calibrate
from clearwatt.benchmark.peer import CostMeter, Forecasts, Peer
from clearwatt.clear.component import ClearSettings, Component
from clearwatt.clear.forecaster import ClearForecaster
from clearwatt.clear.loop import Deployment
from clearwatt.clear.warm_up import InstanceNetworks, WarmUp
from clearwatt.experiment.config import Experiment
from clearwatt.experiment.grid import INSTANCES, Configuration, approach_of
from clearwatt.experiment.live import ModelTimeline
from clearwatt.experiment.models import weight_count
from clearwatt.experiment.presets import preset
from clearwatt.experiment.tasks import training_cost
from clearwatt.intervals import LEVELS, WINDOW_DAYS
from clearwatt.own_code import short_name, source_versions
from clearwatt.runs.work import MULTIPLY_ADDS
from clearwatt.training.streams import drive

PRESET = "small"
"""The experiment's, with one architecture and one point of the grid."""
UPDATES = 10
"""A typical number of updates of a component, to estimate the time."""


def clear_experiment(*, autoencoder: str | None = None, predictor: str | None = None) -> Experiment:
    """The experiment whose values a peer has; networks of a user's own as "package.module:name"."""
    base = preset(PRESET)
    networks = replace(base.networks, autoencoder=autoencoder, predictor=predictor)
    return replace(base, instances=tuple(INSTANCES), networks=networks)


@dataclass(frozen=True)
class Clear(Peer):
    """An instance: an autoencoder of the zone and a predictor per entity.

    Args:
        instance: its key in the experiment, such as "Ra", or "package.module:name".
        experiment: networks, the one point of the grid and how models train. The novelty capacity
            is scaled to the length of the data, as there.
        levels: of the quantiles, calibrated around its forecasts.
    """

    instance: str
    experiment: Experiment = field(default_factory=clear_experiment)
    levels: tuple[float, ...] = LEVELS
    together: ClassVar[bool] = True

    @property
    def key(self) -> str:
        """Its name on the command line, and those of a user's own networks."""
        return "-".join(["clear", short_name(self.instance).lower(), *self._own_networks])

    @property
    def label(self) -> str:
        """Its name in tables."""
        return ", ".join(["CLeaR", approach_of(self.instance).strategy, *self._own_networks])

    @property
    def code_version(self) -> str:
        """Versions of the user's own strategy and networks."""
        return str(source_versions(self.instance, *self._own_paths) or "")

    @property
    def _own_paths(self) -> list[str]:
        networks = self.experiment.networks
        return [path for path in (networks.autoencoder, networks.predictor) if path is not None]

    @property
    def _own_networks(self) -> list[str]:
        return [short_name(path) for path in self._own_paths]

    def forecast(self, history: ZoneHistory) -> Forecasts:
        """Warm up on the samples known at the first forecast, then stream all later ones.

        The whole stream is given at once: a model that a measurement updated serves a delay later
        (`ModelTimeline`).
        """
        meter, known = CostMeter(history), history.known_samples()
        x, y = history.x[len(known.y) :], history.measured[len(known.y) :]
        with meter.measure_learning():
            warm_up = WarmUp(self.experiment.warmup, seed=history.seed)
            models = drive(warm_up.models(self._networks(known.x.shape[1]), known.x, known.y))
            forecaster = ClearForecaster.start(
                models,
                known.x,
                known.y,
                history.at[: len(known.y)],
                settings=self._settings(history),
                warm_up=warm_up,
                names=history.entities,
            )
            fitted = forecaster.deployed.forecast(known.x, history.at[: len(known.y)]).power
            deployed = drive(forecaster.learn(x, y, history.at[len(known.y) :]))
        owned = [
            [each for each in deployed if each.event.entity in (None, name)]
            for name in history.entities
        ]
        timelines = [
            ModelTimeline(models.autoencoder, head, own, history.clock, history.at[-len(x) :])
            for head, own in zip(models.predictors, owned, strict=True)
        ]
        power = np.empty((len(x), len(history.entities)))
        for column, timeline in enumerate(timelines):
            power[:, column] = timeline.forecasts(x)
        with meter.measure_learning():
            swaps = [swap for c, timeline in enumerate(timelines) for swap in timeline.swaps(c, x)]
            quantiles = calibrate(
                history, levels=self.levels, fitted=fitted, live=power, swaps=swaps
            )
        for column, own in enumerate(owned):
            meter.trainings[column] = 2 + len(own)
            instance = forecaster.instance
            parts = (instance.autoencoder_of(column), instance.predictors[column])
            held = sum(_peak_bytes(part, own) for part in parts)
            meter.count_bytes(column, held + _bytes_of_intervals(history, quantiles))
        return Forecasts(power[-history.steps :], meter.costs, quantiles.by_level)

    def seconds(self, history: ZoneHistory) -> float:
        """Weights times samples times epochs; early stopping takes about a quarter of them."""
        encoder, head = self._networks(history.x.shape[1])
        heads, updated = len(history.entities), 2 * self._configuration(history).novelty_capacity
        encoders = heads if self._configuration(history).strategy.synchronous else 1
        once = [weight_count(encoder), *[weight_count(head)] * heads]
        often = [*[weight_count(encoder)] * encoders, *[weight_count(head)] * heads]
        start = sum(training_cost(w, history.first, self.experiment.warmup) for w in once) / 4
        updates = sum(training_cost(w, updated, self.experiment.update) for w in often) * UPDATES
        return (start + updates) / MULTIPLY_ADDS

    def _networks(self, inputs: int) -> InstanceNetworks:
        networks = self.experiment.networks
        variational = self.experiment.grid.configurations(self.instance)[0].strategy.synchronous
        encoder = networks.representations(inputs, variational=variational)[0]
        return InstanceNetworks(encoder, networks.predictors(encoder.latent)[0])

    def _settings(self, history: ZoneHistory) -> ClearSettings:
        experiment = replace(self.experiment, seed=history.seed)
        return experiment.settings(self._configuration(history))

    def _configuration(self, history: ZoneHistory) -> Configuration:
        grid = self.experiment.grid.scale_to(history.test - history.first)
        return grid.configurations(self.instance)[0]


def _bytes_of_intervals(history: ZoneHistory, quantiles: CalibratedQuantiles) -> int:
    """Memory of the calibrator, and of the samples that a new model is tested on."""
    return quantiles.state_bytes + WINDOW_DAYS * history.day * history.sample_bytes


def _peak_bytes(part: Component, own: Sequence[Deployment]) -> int:
    """Most bytes of the past that a component held, usually just before an update."""
    events = [each.event for each in own if each.event.component == part.name]
    if part.history is not None:  # its samples contain the buffers'
        return max([part.retained_bytes, *(event.retained_bytes for event in events)])
    full = [
        event.retained_bytes + 4 * part.sample_width * (event.novel + event.familiar)
        for event in events
    ]
    return max([part.retained_bytes, *full])
