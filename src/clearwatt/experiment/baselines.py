"""Baseline_L, the warm-up models for ever; Baseline_U, models trained on all but the test phase."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from clearwatt.experiment.models import Candidate, Place, frozen
from clearwatt.experiment.protocol import Span
from clearwatt.experiment.recovery import daily_rmse
from clearwatt.experiment.tasks import Context, Role, Task, by_zone
from clearwatt.experiment.trial import ComponentScore, error_of, plain

BASELINES: Mapping[Literal["L", "U"], Role] = {"L": "plain", "U": "everything"}


@dataclass(frozen=True)
class Baseline:
    """How a baseline did for one entity; ``daily`` is its error of each day of updating."""

    baseline: str
    entity: str
    kind: str
    zone: str
    autoencoder: ComponentScore
    predictor: ComponentScore
    validation: dict[str, float]
    daily: list[float | None] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The record as plain values, but for the days."""
        values = asdict(self)
        del values["daily"]
        return values


@dataclass(frozen=True)
class BaselineTask(Task[list[Baseline]]):
    """Score a baseline on the updating phase, for entities that adjoin by zone."""

    baseline: Literal["L", "U"]
    places: tuple[Place, ...]

    def run(self, context: Context) -> list[Baseline]:
        """One record per entity; the test phase comes later."""
        role = BASELINES[self.baseline]
        records = []
        for zone, columns in by_zone(self.places):
            own = context.zones[zone]
            representation = context.representations[zone, role]
            heads = [context.predictors[Place(zone, column), role] for column in columns]
            autoencoder, forecasts = said(representation, heads, own.updating)
            for column, head, forecast in zip(columns, heads, forecasts.T, strict=True):
                name, measured = own.entities[column], own.updating.y[:, column]
                errors_over_time = own.updating.on_clock(measured - forecast)
                records.append(
                    Baseline(
                        baseline=self.baseline,
                        entity=name,
                        kind=context.kinds[name],
                        zone=own.name,
                        autoencoder=ComponentScore(autoencoder),
                        predictor=ComponentScore(error_of(measured, forecast)),
                        validation={
                            "autoencoder": representation.validation_rmse,
                            "predictor": head.validation_rmse,
                        },
                        daily=plain(daily_rmse(errors_over_time, context.day)),
                    )
                )
        return records

    def cost(self, context: Context) -> float:
        """Next to nothing."""
        return float(len(self.places))


def errors(
    autoencoder: Candidate, predictors: list[Candidate], span: Span, columns: list[int]
) -> tuple[float | None, list[float | None]]:
    """RMSE of the reconstruction and of each predictor's forecasts over a phase."""
    reconstruction, forecasts = said(autoencoder, predictors, span)
    return reconstruction, [
        error_of(span.y[:, column], forecasts[:, at]) for at, column in enumerate(columns)
    ]


def said(
    autoencoder: Candidate, predictors: list[Candidate], span: Span
) -> tuple[float | None, npt.NDArray[np.float64]]:
    """RMSE of the reconstruction over a phase, and the forecasts of each predictor."""
    models = frozen(autoencoder, predictors)
    return error_of(span.x, models.reconstruct(span.x)), models.predict(span.x)
