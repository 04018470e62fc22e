"""Trials of our adaptive forecaster: one per entity, the entities of a zone streamed together."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass

import numpy as np

from clearwatt.adaptive import NetworkUpdate
from clearwatt.arrays import Float64Array
from clearwatt.errors import ConfigurationError
from clearwatt.experiment.adaptive_stream import (
    AdaptiveRun,
    clock_steps,
    estimate_seconds,
    run_adaptive,
)
from clearwatt.experiment.final_model import AdaptiveModel, TrialResult, with_core_seconds
from clearwatt.experiment.grid import AdaptiveConfiguration
from clearwatt.experiment.live_scores import LiveForecast, score_live
from clearwatt.experiment.models import Place
from clearwatt.experiment.records import (
    ADAPTIVE,
    ComponentScore,
    TrialRecord,
    TrialTiming,
    UpdateRecord,
)
from clearwatt.experiment.tasks import Context, Task
from clearwatt.experiment.trial import measured_rmse, score_component
from clearwatt.intervals import calibrate_stream
from clearwatt.runs.work import MULTIPLY_ADDS

LARGER_MEMORY = 2.2
"""How many times as long a stream takes with the memory of an experiment, measured on the demo."""


@dataclass(frozen=True)
class AdaptiveTask(Task[list[TrialResult]]):
    """The adaptive forecaster on entities of one zone."""

    configuration: AdaptiveConfiguration
    zone: int
    columns: tuple[int, ...]

    def run(self, context: Context) -> list[TrialResult]:
        """One result per entity."""
        started = time.process_time()
        trials = _ZoneTrials(context, self)
        results = [trials.result(index) for index in range(len(self.columns))]
        return with_core_seconds(results, time.process_time() - started)

    def cost(self, context: Context) -> float:
        """By the number of weeks and entities."""
        zone = context.zones[self.zone]
        seconds = estimate_seconds(len(zone.updating.at), len(self.columns), day=context.day)
        return LARGER_MEMORY * seconds * MULTIPLY_ADDS

    @property
    def trials(self) -> list[tuple[AdaptiveConfiguration, Place]]:
        """Configuration and place of each result."""
        return [(self.configuration, Place(self.zone, column)) for column in self.columns]


def check_adaptive(context: Context) -> None:
    """Refuse an experiment whose adaptive trials would fail, before anything is computed."""
    for configuration in context.experiment.adaptive_configurations:
        try:
            settings = configuration.settings
            settings.memory_for(settings.schedule(context.day, context.delay), entities=1)
        except ConfigurationError as error:
            raise ConfigurationError(f"{error}; or leave out {ADAPTIVE} (--instances)") from error
        for zone in context.zones:
            known = context.clock.count_known(zone.warmup.at, int(zone.updating.at[0]))
            measured = np.isfinite(zone.warmup.y[:known]).any(axis=0)
            if not measured.all():
                raise ConfigurationError(
                    f"{zone.entities[int(np.argmin(measured))]}: no measurement of the warm-up is "
                    f"known at the first forecast, with a delay of {context.delay} steps; give a "
                    f"shorter one, or leave out the entity (--without) or {ADAPTIVE} (--instances)"
                )


class _ZoneTrials:
    """The finished stream of a task, and the scores of its entities."""

    def __init__(self, context: Context, task: AdaptiveTask) -> None:
        self.context, self.task = context, task
        self.zone = context.zones[task.zone]
        self.names = [self.zone.entities[column] for column in task.columns]
        self.samples = self.zone.warmup.concatenate(self.zone.updating)
        self.steps = clock_steps(context.times[self.samples.at], context.day)
        self.run = self._stream()
        deployed, steps = self.run.forecaster.deployed, len(self.zone.updating.at)
        self.deployed = deployed
        self.initial, self.final = (
            [each.networks(span.x, span.at) for span in (self.zone.warmup, self.zone.updating)]
            for each in (self.run.initial, deployed)
        )
        self.power, self.quantiles = self.run.live[-steps:], self._quantiles()[-steps:]

    def _stream(self) -> AdaptiveRun:
        return run_adaptive(
            self.samples.x,
            self.samples.y[:, self.task.columns],
            self.steps,
            first=len(self.zone.warmup.at),
            clock=self.context.clock,
            settings=self.task.configuration.settings,
            names=self.names,
            seed=self.context.experiment.seed,
            columns=self.zone.columns or None,
        )

    def _quantiles(self) -> Float64Array:
        """Quantiles as they were given live, rows x entities x levels."""
        return calibrate_stream(
            self.run.fitted,
            self.run.live,
            self.samples.y[:, self.task.columns],
            at=self.samples.at,
            clock=self.context.clock,
            limits=[self.context.limits.get(name, (-np.inf, np.inf)) for name in self.names],
        ).values

    def result(self, index: int) -> TrialResult:
        """The trial of one entity."""
        name, context, configuration = self.names[index], self.context, self.task.configuration
        events = [
            change.event
            for change in self.run.changes
            if isinstance(change.event, NetworkUpdate) and change.event.entity == name
        ]
        accepted = [event for event in events if event.accepted]
        offset = int(self.steps[0] - self.samples.at[0])  # of the data set's clock
        forecast = LiveForecast(
            self.power[:, index],
            self.quantiles[:, index],
            [context.clock.known_from(event.step) - offset for event in accepted],
        )
        place = Place(self.task.zone, self.task.columns[index])
        scores = score_live(context, place, forecast)
        trial = TrialRecord(
            instance=configuration.instance,
            approach=configuration.approach,
            configuration=configuration.to_dict(),
            entity=name,
            kind=context.kinds[name],
            zone=self.zone.name,
            chosen=False,
            autoencoder=ComponentScore(None, updates=None),
            predictor=self._score_networks(index, accepted),
            live=scores.live,
            recovery=scores.recovery,
            retained_bytes=self.run.bytes_per_entity,
            events=tuple(self._update(event) for event in events),
            thresholds={"predictor": events[-1].threshold_after} if events else {},
            timing=TrialTiming(update_seconds=None),
            intervals=scores.intervals,
            held_samples=self.run.forecaster.held_samples,
            frozen_rmse=measured_rmse(
                self.zone.updating.y[:, place.column], self.initial[1][:, index]
            ),
            daily=scores.daily,
        )
        return TrialResult(configuration, trial, AdaptiveModel(self.deployed.select([index])))

    def _score_networks(self, index: int, accepted: list[NetworkUpdate]) -> ComponentScore:
        """FE and FR of the networks alone, as of an instance's predictor."""
        column = self.task.columns[index]
        return score_component(
            [span.y[:, column] for span in (self.zone.warmup, self.zone.updating)],
            [each[:, index] for each in self.final],
            initial=self.initial[0][:, index],
            steps=[self._samples_before(event.step) for event in accepted],
        )

    def _samples_before(self, step: int) -> int:
        """Samples of the updating phase before a step of the forecaster."""
        return int(np.searchsorted(self.steps[len(self.zone.warmup.at) :], step))

    def _update(self, event: NetworkUpdate) -> UpdateRecord:
        """The record of an update, with the time of the last sample that it learned."""
        at = self.zone.updating.at
        samples = self._samples_before(event.step)
        return UpdateRecord(
            component="predictor",
            entity=event.entity,
            step=samples,
            trigger=event.trigger,
            threshold_before=event.threshold_before,
            threshold_after=event.threshold_after,
            novel=event.novel,
            familiar=event.samples - event.novel,
            replayed=event.trained_on,
            accepted=event.accepted,
            time=self.context.times[at[max(0, samples - 1)]],
            epochs=event.epochs,
            novelty_error_before=event.novel_error_before,
            novelty_error_after=event.novel_error_after,
            familiarity_error_before=event.familiar_error_before,
            familiarity_error_after=event.familiar_error_after,
            reason=event.reason,
            held_back=None if event.held_back is None else asdict(event.held_back),
        )
