"""Baseline_L, the warm-up models unchanged; Baseline_U, trained on all but the test phase."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clearwatt.experiment.models import Place, TrainedNetwork, frozen_instance
from clearwatt.experiment.protocol import PhaseSamples
from clearwatt.experiment.records import BaselineKey, BaselineRecord, ComponentScore
from clearwatt.experiment.recovery import daily_rmse
from clearwatt.experiment.tasks import Context, Role, Task, by_zone
from clearwatt.experiment.trial import measured_rmse, round_daily

BASELINES: Mapping[BaselineKey, Role] = {"L": "plain", "U": "everything"}


@dataclass(frozen=True)
class BaselineTask(Task[list[BaselineRecord]]):
    """Score a baseline on the updating phase, for entities in the order of their zones."""

    baseline: BaselineKey
    places: tuple[Place, ...]

    def run(self, context: Context) -> list[BaselineRecord]:
        """One record per entity, without the test phase."""
        role = BASELINES[self.baseline]
        records = []
        for zone, columns in by_zone(self.places):
            own = context.zones[zone]
            representation = context.representations[zone, role]
            heads = [context.predictors[Place(zone, column), role] for column in columns]
            autoencoder, forecasts = forecast_phase(representation, heads, own.updating)
            for column, head, forecast in zip(columns, heads, forecasts.T, strict=True):
                name, measured = own.entities[column], own.updating.y[:, column]
                errors = own.updating.on_clock(measured - forecast)
                records.append(
                    BaselineRecord(
                        baseline=self.baseline,
                        entity=name,
                        kind=context.kinds[name],
                        zone=own.name,
                        autoencoder=ComponentScore(autoencoder),
                        predictor=ComponentScore(measured_rmse(measured, forecast)),
                        validation={
                            "autoencoder": representation.validation_rmse,
                            "predictor": head.validation_rmse,
                        },
                        daily=round_daily(daily_rmse(errors, context.day)),
                    )
                )
        return records

    def cost(self, context: Context) -> float:
        """Negligible."""
        return float(len(self.places))


def phase_errors(
    autoencoder: TrainedNetwork,
    predictors: list[TrainedNetwork],
    span: PhaseSamples,
    columns: list[int],
) -> tuple[float | None, list[float | None]]:
    """RMSE of the reconstruction, and of the forecasts of each predictor, over a phase."""
    reconstruction, forecasts = forecast_phase(autoencoder, predictors, span)
    return reconstruction, [
        measured_rmse(span.y[:, column], forecasts[:, at]) for at, column in enumerate(columns)
    ]


def forecast_phase(
    autoencoder: TrainedNetwork, predictors: list[TrainedNetwork], span: PhaseSamples
) -> tuple[float | None, npt.NDArray[np.float64]]:
    """RMSE of the reconstruction over a phase, and the forecasts (n x entities)."""
    models = frozen_instance(autoencoder, predictors)
    return measured_rmse(span.x, models.reconstruct(span.x)), models.predict(span.x)
