"""The records of a run, as they are written to disk and read by the report.

Errors are on the scale that the models see. A field with a default is missing in runs of older
releases.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

import pandas as pd
from pydantic import BeforeValidator, PlainSerializer, PlainValidator

from clearwatt.experiment.intervals import IntervalScores
from clearwatt.experiment.metrics import LiveError

BaselineKey = Literal["L", "U"]
Selection = Literal["fe", "live"]
"""How the configuration of an entity is chosen: by lowest fitting error, or by lowest live RMSE.

Both are measured on the updating phase.
"""
ADAPTIVE = "A"
"""Key of our adaptive forecaster, a row beside the paper's instances."""


def _finite(value: object) -> object:
    """The value; None if it is a number that is not finite, which a mean cannot include."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _timestamp(value: object) -> pd.Timestamp:
    time = value if isinstance(value, pd.Timestamp) else pd.Timestamp(str(value))
    if not isinstance(time, pd.Timestamp):
        raise ValueError("it is not a time")
    return time


FiniteNumber = Annotated[float | None, BeforeValidator(_finite)]
"""A finite number; None where it does not exist."""
Timestamp = Annotated[
    pd.Timestamp, PlainValidator(_timestamp), PlainSerializer(lambda time: time.isoformat())
]
"""A time; on disk in ISO format."""
DailyError = tuple[FiniteNumber, ...]
"""RMSE of each day of the updating phase; None for a day without measurements."""


@dataclass(frozen=True)
class ComponentScore:
    """The paper's metrics of one component; None where a metric does not exist."""

    fitting_error: FiniteNumber
    prediction_error: FiniteNumber = None
    forgetting_ratio: FiniteNumber = None
    updates: int | None = 0


@dataclass(frozen=True)
class Recovery:
    """A known drift, its start (ISO time), and the steps for which the error stayed high.

    ``steps`` is None if the error never came back.
    """

    what: str
    start: str
    steps: int | None


@dataclass(frozen=True)
class UpdateRecord:
    """One update of one component: an `UpdateEvent` at its time, without its duration.

    An update that was not ``accepted`` left the model as it was.
    """

    component: str
    entity: int | str | None
    step: int
    trigger: str
    threshold_before: float
    threshold_after: float
    novel: int
    familiar: int
    replayed: int
    accepted: bool
    time: Timestamp
    epochs: int | None = None
    retained_bytes: int | None = None
    recent_novel: int | None = None
    recent_readings: int | None = None
    novelty_error_before: FiniteNumber = None
    novelty_error_after: FiniteNumber = None
    familiarity_error_before: FiniteNumber = None
    familiarity_error_after: FiniteNumber = None
    reason: str | None = None
    held_back: Mapping[str, object] | None = None


@dataclass(frozen=True)
class TrialTiming:
    """Processor time: of all updates, of each update, and of the trial as a whole.

    ``update_seconds`` is None where training was not timed apart from the rest.
    """

    update_seconds: float | None
    event_seconds: tuple[float, ...] = ()
    core_seconds: float | None = None


@dataclass(frozen=True)
class TrialRecord:
    """One configuration on one entity, and its scores. Only ``timing`` depends on the machine.

    ``chosen`` is the trial of lowest fitting error, ``chosen_live`` that of lowest live RMSE; the
    latter is missing in runs of older releases. Only these are tested; ``events`` of the others is
    None in the results. ``series`` is the file of the daily error, relative to the run.
    ``held_samples`` are the past samples held at the end, by the component that holds most.
    ``frozen_rmse`` is the error of the networks of the warm-up over the updating phase, where they
    are not those of a baseline.
    """

    instance: str
    approach: str
    configuration: Mapping[str, int | float]
    entity: str
    kind: str
    zone: str
    chosen: bool
    autoencoder: ComponentScore
    predictor: ComponentScore
    live: LiveError
    recovery: tuple[Recovery, ...]
    retained_bytes: int
    events: tuple[UpdateRecord, ...] | None
    thresholds: Mapping[str, float]
    timing: TrialTiming
    intervals: IntervalScores | None = None
    held_samples: int | None = None
    frozen_rmse: FiniteNumber = None
    chosen_live: bool | None = None
    series: str | None = None
    daily: DailyError = ()

    @property
    def tested(self) -> bool:
        """Whether it has been scored on the test phase."""
        return self.series is not None

    def selection_error(self, select: Selection) -> float:
        """The error of the updating phase that a selection minimises; infinite if there is none."""
        error = self.predictor.fitting_error if select == "fe" else self.live.rmse
        return math.inf if error is None or math.isnan(error) else error

    @property
    def updates(self) -> tuple[UpdateRecord, ...]:
        """The updates, in order."""
        return self.events or ()


@dataclass(frozen=True)
class BaselineRecord:
    """The scores of a baseline for one entity: L, the warm-up models, or U.

    Baseline_U is trained on everything but the test phase. ``validation`` has the RMSE of each
    component on the samples that were held out of its training.
    """

    baseline: BaselineKey
    entity: str
    kind: str
    zone: str
    autoencoder: ComponentScore
    predictor: ComponentScore
    validation: Mapping[str, FiniteNumber] = field(default_factory=dict)
    series: str | None = None
    daily: DailyError = ()
