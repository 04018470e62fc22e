"""The updating phase of some entities, streamed by one approach, and its scores."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from clearwatt.clear.component import ClearSettings
from clearwatt.clear.forecaster import ClearForecaster
from clearwatt.clear.loop import Deployment
from clearwatt.clear.warm_up import InstanceNetworks, WarmUp, WarmUpModels
from clearwatt.experiment.architectures import Networks
from clearwatt.experiment.metrics import fitting_error, forgetting_ratio
from clearwatt.experiment.protocol import PhaseSamples, ZonePhases
from clearwatt.training.streams import drive


class Scores(NamedTuple):
    """Scores of one entity: of forecasts, and of the autoencoder (x)."""

    entity: str
    fitting: float
    forgetting: float
    fitting_x: float
    forgetting_x: float
    updates: int
    updates_x: int
    kilobytes: float


@dataclass(frozen=True)
class StreamSamples:
    """What is streamed: the warm-up and the samples after it, of some entities."""

    entities: Sequence[str]
    warm: PhaseSamples
    new: PhaseSamples

    @classmethod
    def of(cls, zone: ZonePhases, *, every: int, most: int | None = None) -> StreamSamples:
        """Each nth sample of a zone.

        Args:
            zone: Warm-up and updating phase.
            every: The n of that.
            most: Maximum number of samples of the updating phase.
        """
        return cls(
            zone.entities,
            _part(zone.warmup, slice(None, None, every)),
            _part(_part(zone.updating, slice(None, None, every)), slice(most)),
        )


@dataclass(eq=False)
class ScoredStream:
    """An approach after the warm-up; `learn` streams samples, `scores` evaluates it then."""

    samples: StreamSamples
    models: WarmUpModels
    settings: ClearSettings
    training: WarmUp
    events: list[Deployment] = field(default_factory=list)

    def __post_init__(self) -> None:
        warm = self.samples.warm
        self.forecaster = ClearForecaster.start(
            self.models,
            warm.x,
            warm.y,
            warm.at,
            settings=self.settings,
            warm_up=self.training,
            names=self.samples.entities,
        )
        self.instance = self.forecaster.instance
        self._before = self.instance.predict(warm.x), self.instance.reconstruct(warm.x)

    def freeze_autoencoders(self) -> None:
        """Let no input be novel."""
        for part in self.instance.autoencoders:
            part.threshold = math.inf

    def learn(self, rows: slice = slice(None)) -> None:
        """Learn from some of the new samples."""
        new = self.samples.new
        self.events += drive(self.forecaster.learn(new.x[rows], new.y[rows], new.at[rows]))

    def scores(self) -> Iterator[Scores]:
        """The scores of each entity, by the models in service now."""
        warm, new, instance = self.samples.warm, self.samples.new, self.instance
        forecasts = [instance.predict(span.x) for span in (warm, new)]
        for place, entity in enumerate(self.samples.entities):
            own = [each.event for each in self.events if each.event.entity in (None, entity)]
            last = {event.component: event.step for event in own if event.accepted}
            rebuilt = [instance.reconstruct(span.x, place) for span in (warm, new)]
            parts = (instance.autoencoder_of(place), instance.predictors[place])
            warm_power, new_power = (each[:, place] for each in forecasts)
            yield Scores(
                entity,
                fitting_error(new.y[:, place], new_power, last_update=last.get("predictor")),
                forgetting_ratio(warm.y[:, place], warm_power, self._before[0][:, place]),
                fitting_error(new.x, rebuilt[1], last_update=last.get("autoencoder")),
                forgetting_ratio(warm.x, rebuilt[0], self._before[1]),
                parts[1].updates,
                parts[0].updates,
                sum(part.retained_bytes for part in parts) / 1e3,
            )


def warm_models(
    samples: StreamSamples, networks: Networks, training: WarmUp, *, variational: bool
) -> WarmUpModels:
    """The models of the warm-up; of several shapes of networks, the first."""
    encoder = networks.representations(samples.warm.x.shape[1], variational=variational)[0]
    pair = InstanceNetworks(encoder, networks.predictors(encoder.latent)[0])
    return drive(training.models(pair, samples.warm.x, samples.warm.y))


def _part(span: PhaseSamples, rows: slice) -> PhaseSamples:
    return PhaseSamples(span.x[rows].copy(), span.y[rows].copy(), span.at[rows].copy())
