"""Baseline_L, the warm-up models unchanged; Baseline_U, trained on all but the test phase."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clearwatt.experiment.final_model import forecast_phase
from clearwatt.experiment.models import Place
from clearwatt.experiment.records import BaselineKey, BaselineRecord, ComponentScore
from clearwatt.experiment.recovery import daily_rmse
from clearwatt.experiment.tasks import Context, NetworkRole, Task, columns_by_zone
from clearwatt.experiment.trial import measured_rmse, round_daily

BASELINES: Mapping[BaselineKey, NetworkRole] = {"L": "plain", "U": "everything"}


@dataclass(frozen=True)
class BaselineTask(Task[list[BaselineRecord]]):
    """Score a baseline on the updating phase, for entities in the order of their zones."""

    baseline: BaselineKey
    places: tuple[Place, ...]

    def run(self, context: Context) -> list[BaselineRecord]:
        """One record per entity, without the test phase."""
        role = BASELINES[self.baseline]
        records = []
        for zone, columns in columns_by_zone(self.places):
            own = context.zones[zone]
            representation = context.representations[zone, role]
            heads = [context.predictors[Place(zone, column), role] for column in columns]
            autoencoder, forecasts = forecast_phase(representation, heads, own.updating)
            for column, head, forecast in zip(columns, heads, forecasts.T, strict=True):
                name, measured = own.entities[column], own.updating.y[:, column]
                errors = own.updating.spread_over_clock(measured - forecast)
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
