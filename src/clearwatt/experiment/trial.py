"""The record of one trial: a configuration on an entity, with what came of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clearwatt.errors import DataError
from clearwatt.experiment.grid import Configuration
from clearwatt.experiment.intervals import IntervalScores
from clearwatt.experiment.metrics import fitting_error, forgetting_ratio, prediction_error
from clearwatt.experiment.models import Candidate


@dataclass(frozen=True)
class ComponentScore:
    """The paper's figures of one component; None where they cannot be told (yet)."""

    fitting_error: float | None
    prediction_error: float | None = None
    forgetting_ratio: float | None = None
    updates: int = 0


@dataclass(frozen=True)
class Live:
    """Errors of forecasts by the model deployed when they were made."""

    rmse: float
    mae: float


@dataclass(frozen=True)
class Recovery:
    """A known drift (its start as ISO time) and how many steps the error stayed high after it."""

    what: str
    start: str
    steps: int | None


@dataclass(frozen=True)
class Trial:
    """One configuration on one entity. All that is wall-clock is under ``timing``."""

    instance: str
    approach: str
    configuration: dict[str, float]
    entity: str
    kind: str
    zone: str
    chosen: bool
    autoencoder: ComponentScore
    predictor: ComponentScore
    live: Live
    recovery: tuple[Recovery, ...]
    retained_bytes: int
    events: tuple[dict[str, Any], ...]
    thresholds: dict[str, float]
    timing: dict[str, Any]
    intervals: IntervalScores | None = None
    """None in runs of releases that had none."""

    def to_dict(self) -> dict[str, Any]:
        """The trial as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Trial:
        """The trial back."""
        intervals = values.get("intervals")
        return cls(
            **{
                **values,
                "autoencoder": ComponentScore(**values["autoencoder"]),
                "predictor": ComponentScore(**values["predictor"]),
                "live": Live(**values["live"]),
                "recovery": tuple(Recovery(**each) for each in values["recovery"]),
                "events": tuple(values["events"]),
                "intervals": None if intervals is None else IntervalScores.from_dict(intervals),
            }
        )


@dataclass(frozen=True, eq=False)
class TrialResult:
    """A trial, its daily live error (NaN as None), and its final models, until one is chosen."""

    configuration: Configuration
    trial: Trial
    daily: list[float | None]
    autoencoder: Candidate
    predictor: Candidate


def score(
    targets: Sequence[npt.ArrayLike],
    outputs: Sequence[npt.ArrayLike],
    *,
    initial: npt.ArrayLike,
    steps: Sequence[int],
) -> ComponentScore:
    """FE and FR of a component.

    Args:
        targets: of the warm-up and of the updating phase.
        outputs: of the final model for the same.
        initial: outputs of the warm-up model for the warm-up.
        steps: of its updates.
    """
    last = max(steps, default=None)
    return ComponentScore(
        fitting_error=_known(lambda: fitting_error(targets[1], outputs[1], last_update=last)),
        forgetting_ratio=_known(lambda: forgetting_ratio(targets[0], outputs[0], initial)),
        updates=len(steps),
    )


def error_of(targets: npt.ArrayLike, outputs: npt.ArrayLike) -> float | None:
    """RMSE, or None where nothing was measured."""
    return _known(lambda: prediction_error(targets, outputs))


def plain(values: npt.NDArray[np.floating[Any]]) -> list[float | None]:
    """Numbers for JSON, which has no NaN."""
    return [float(f"{value:.6g}") if math.isfinite(value) else None for value in values.tolist()]


def _known(compute: Callable[[], float]) -> float | None:
    """The figure, or None where no sample was measured or it is not finite."""
    try:
        value = compute()
    except DataError:
        return None
    return value if math.isfinite(value) else None
