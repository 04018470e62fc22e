"""Baseline_L, the warm-up models for ever; Baseline_U, models trained on all but the test phase."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from clearwatt.experiment.models import Candidate, Place, frozen
from clearwatt.experiment.protocol import Span
from clearwatt.experiment.tasks import Context, Role, Task, by_zone
from clearwatt.experiment.trial import ComponentScore, error_of

BASELINES: Mapping[Literal["L", "U"], Role] = {"L": "plain", "U": "everything"}


@dataclass(frozen=True)
class Baseline:
    """How a baseline did for one entity."""

    baseline: str
    entity: str
    kind: str
    zone: str
    autoencoder: ComponentScore
    predictor: ComponentScore
    validation: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """The record as plain values."""
        return asdict(self)


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
            autoencoder, powers = errors(representation, heads, own.updating, columns)
            for column, head, power in zip(columns, heads, powers, strict=True):
                name = own.entities[column]
                records.append(
                    Baseline(
                        baseline=self.baseline,
                        entity=name,
                        kind=context.kinds[name],
                        zone=own.name,
                        autoencoder=ComponentScore(autoencoder),
                        predictor=ComponentScore(power),
                        validation={
                            "autoencoder": representation.validation_rmse,
                            "predictor": head.validation_rmse,
                        },
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
    models = frozen(autoencoder, predictors)
    forecasts = models.predict(span.x)
    return error_of(span.x, models.reconstruct(span.x)), [
        error_of(span.y[:, column], forecasts[:, at]) for at, column in enumerate(columns)
    ]
