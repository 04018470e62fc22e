"""The updating phase: instances are streamed together and scored one by one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from clearwatt.arrays import Float32Array, Float64Array
from clearwatt.clear.component import Component
from clearwatt.clear.forecaster import ClearForecaster
from clearwatt.clear.instance import Instance
from clearwatt.clear.loop import Deployment
from clearwatt.clear.warm_up import WarmUpModels
from clearwatt.experiment.final_model import InstanceModel, TrialResult, with_core_seconds
from clearwatt.experiment.grid import Configuration
from clearwatt.experiment.live import ModelTimeline
from clearwatt.experiment.live_scores import LiveForecast, score_live
from clearwatt.experiment.models import Place, TrainedNetwork, to_arrays, weight_count
from clearwatt.experiment.protocol import PhaseSamples, ZonePhases
from clearwatt.experiment.records import (
    ComponentScore,
    TrialRecord,
    TrialTiming,
    UpdateRecord,
)
from clearwatt.experiment.tasks import Context, NetworkRole, Task, columns_by_zone, training_cost
from clearwatt.experiment.trial import score_component
from clearwatt.intervals import calibrate_stream
from clearwatt.training.streams import Stream, drive, run_together

UPDATES = 10
"""A typical number of updates of a component, to estimate the time of a task."""


@dataclass(frozen=True)
class UpdatingTask(Task[list[TrialResult]]):
    """Configurations of one family on entities of any zones; all their updates train stacked."""

    configurations: tuple[Configuration, ...]
    places: tuple[Place, ...]

    def run(self, context: Context) -> list[TrialResult]:
        """One result per configuration and entity, in that order."""
        started = time.process_time()
        parts = [
            _ZoneStream(context, configuration, zone, tuple(columns))
            for configuration in self.configurations
            for zone, columns in columns_by_zone(self.places)
        ]
        deployed = drive(run_together([part.stream() for part in parts]), reuse=True)
        results = [
            result
            for part, own in zip(parts, deployed, strict=True)
            for result in part.results(own)
        ]
        return with_core_seconds(results, time.process_time() - started)

    def cost(self, context: Context) -> float:
        """Weights times samples times epochs of the expected updates."""
        total = 0.0
        for configuration in self.configurations:
            role = role_of(configuration)
            for zone, columns in columns_by_zone(self.places):
                encoder = weight_count(context.representations[zone, role].network)
                heads = [
                    weight_count(context.predictors[Place(zone, c), role].network) for c in columns
                ]
                total += updating_cost(context, configuration, encoder=encoder, heads=heads)
        return total

    @property
    def trials(self) -> list[tuple[Configuration, Place]]:
        """Configuration and place of each result."""
        return [(each, place) for each in self.configurations for place in self.places]


def updating_cost(
    context: Context, configuration: Configuration, *, encoder: int, heads: Sequence[int]
) -> float:
    """Multiply-adds of a typical number of updates of a zone's networks of these sizes."""
    training, samples = context.experiment.update, 2 * configuration.novelty_capacity
    own = role_of(configuration) == "variational"
    limited = own and not context.experiment.equal_epochs
    longest = training if limited else replace(training, work=None)
    encoders = (len(heads) if own else 1) * training_cost(encoder, samples, longest)
    return UPDATES * (encoders + sum(training_cost(each, samples, training) for each in heads))


def role_of(configuration: Configuration) -> NetworkRole:
    """The autoencoder of the warm-up that an instance starts from."""
    return "variational" if configuration.strategy.synchronous else "plain"


class _ZoneStream:
    """One configuration on some entities of one zone."""

    def __init__(
        self, context: Context, configuration: Configuration, zone: int, columns: tuple[int, ...]
    ) -> None:
        role = role_of(configuration)
        self.context, self.configuration = context, configuration
        self.places = [Place(zone, column) for column in columns]
        self.zone: ZonePhases = context.zones[zone]
        self.names = [self.zone.entities[column] for column in columns]
        self.models = WarmUpModels(
            context.representations[zone, role].model,
            [context.predictors[Place(zone, c), role].model for c in columns],
        )
        self.warm_y, self.new_y = (
            np.ascontiguousarray(span.y[:, columns])
            for span in (self.zone.warmup, self.zone.updating)
        )
        self.forecaster = ClearForecaster.start(
            self.models,
            self.zone.warmup.x,
            self.warm_y,
            self.zone.warmup.at,
            settings=context.experiment.settings(configuration),
            warm_up=context.warmup(role),
            names=self.names,
        )
        self.initial_power = self._forecast(self.zone.warmup)
        self.initial_inputs = self.instance.reconstruct(self.zone.warmup.x)

    @property
    def instance(self) -> Instance:
        return self.forecaster.instance

    def stream(self) -> Stream[tuple[Deployment, ...]]:
        """Stream the updating phase."""
        updating = self.zone.updating
        return self.forecaster.learn(updating.x, self.new_y, updating.at)

    def _forecast(self, span: PhaseSamples) -> Float64Array:
        return self.forecaster.deployed.forecast(span.x, span.at).power

    def results(self, deployed: Sequence[Deployment]) -> list[TrialResult]:
        """Score every entity."""
        spans = (self.zone.warmup, self.zone.updating)
        power = [self._forecast(span) for span in spans]
        reconstructed: dict[int, ComponentScore] = {}
        results = []
        owned = [[d for d in deployed if d.event.entity in (None, name)] for name in self.names]
        updating = self.zone.updating
        timelines = [
            ModelTimeline(self.models.autoencoder, head, own, self.context.clock, updating.at)
            for head, own in zip(self.models.predictors, owned, strict=True)
        ]
        live = np.stack([timeline.forecasts(updating.x) for timeline in timelines], axis=1)
        quantiles = self._quantiles(live, timelines)
        for index, (own, timeline) in enumerate(zip(owned, timelines, strict=True)):
            encoder = self.instance.autoencoder_of(index)
            if id(encoder) not in reconstructed:  # a shared one is scored once
                reconstructed[id(encoder)] = self._reconstruction(index, own)
            predictor = score_component(
                [self.warm_y[:, index], self.new_y[:, index]],
                [each[:, index] for each in power],
                initial=self.initial_power[:, index],
                steps=_steps(own, "predictor"),
            )
            served = [period.start for period in timeline.periods[1:]]
            forecast = LiveForecast(
                live[:, index],
                quantiles[:, index],
                [int(updating.at[row]) for row in served if row < len(updating.at)],
            )
            scores = (reconstructed[id(encoder)], predictor)
            results.append(self._result(index, own, forecast, scores))
        return results

    def _reconstruction(self, index: int, own: Sequence[Deployment]) -> ComponentScore:
        inputs = [self.zone.warmup.x, self.zone.updating.x]
        return score_component(
            inputs,
            [self.instance.reconstruct(x, index) for x in inputs],
            initial=self.initial_inputs,
            steps=_steps(own, "autoencoder"),
        )

    def _result(
        self,
        index: int,
        own: Sequence[Deployment],
        forecast: LiveForecast,
        scores: tuple[ComponentScore, ComponentScore],
    ) -> TrialResult:
        name, context = self.names[index], self.context
        encoder, head = self.instance.autoencoder_of(index), self.instance.predictors[index]
        live = score_live(context, self.places[index], forecast)
        trial = TrialRecord(
            instance=self.configuration.instance,
            approach=self.configuration.approach.strategy,
            configuration=self.configuration.to_dict(),
            entity=name,
            kind=context.kinds[name],
            zone=self.zone.name,
            chosen=False,
            autoencoder=scores[0],
            predictor=scores[1],
            live=live.live,
            recovery=live.recovery,
            retained_bytes=encoder.retained_bytes + head.retained_bytes,
            events=tuple(self._update(each) for each in own),
            thresholds={"autoencoder": encoder.threshold, "predictor": head.threshold},
            timing=TrialTiming(
                update_seconds=sum(each.event.seconds for each in own),
                event_seconds=tuple(each.event.seconds for each in own),
            ),
            intervals=live.intervals,
            held_samples=max(len(each.all_samples.rows) for each in (encoder, head)),
            daily=live.daily,
        )
        model = InstanceModel(_candidate(encoder), _candidate(head))
        return TrialResult(self.configuration, trial, model)

    def _quantiles(self, live: Float32Array, timelines: Sequence[ModelTimeline]) -> Float64Array:
        """Quantiles of the updating phase, as they were given live: n x entities x levels."""
        steps = [span.at for span in (self.zone.warmup, self.zone.updating)]
        return calibrate_stream(
            self.initial_power,
            live,
            np.concatenate([self.warm_y, self.new_y]),
            at=np.concatenate(steps),
            clock=self.context.clock,
            limits=[self.context.limits.get(name, (-np.inf, np.inf)) for name in self.names],
            swaps=[
                swap
                for index, timeline in enumerate(timelines)
                for swap in timeline.swaps(index, self.zone.updating.x)
            ],
        ).values

    def _update(self, deployment: Deployment) -> UpdateRecord:
        """The record of an update, with its time."""
        values = asdict(deployment.event)
        del values["seconds"]
        at = self.zone.updating.at[deployment.event.step - 1]
        return UpdateRecord(**values, time=self.context.times[at])


def _steps(own: Sequence[Deployment], component: str) -> list[int]:
    """Steps of a component's accepted updates."""
    accepted = [each.event for each in own if each.event.accepted]
    return [event.step for event in accepted if event.component == component]


def _candidate(component: Component) -> TrainedNetwork:
    return TrainedNetwork(component.network, to_arrays(component.params), float("inf"))
