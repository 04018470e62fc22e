"""A finished run as frozen records, read from ``RUN/results.json`` and ``RUN/series/``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import pandas as pd

from clearwatt.data.schema import Drift
from clearwatt.errors import DataError

Json: TypeAlias = Mapping[str, object]
BaselineKey = Literal["L", "U"]


@dataclass(frozen=True, slots=True)
class Score:
    """The paper's figures of one component; ``None`` where a figure does not exist."""

    fitting_error: float | None
    prediction_error: float | None
    forgetting_ratio: float | None
    updates: int | None


@dataclass(frozen=True, slots=True)
class Recovery:
    """How long after one drift the daily live error was back; ``steps`` is ``None`` if never."""

    what: str
    steps: int | None


@dataclass(frozen=True, slots=True)
class Intervals:
    """How good the quantiles of a trial were; shares lie between 0 and 1, ``None`` is unknown.

    ``least_after_update`` is the lowest coverage of the 90 % interval in the days after an update.
    """

    coverage_90: float | None
    coverage_50: float | None
    width_90: float | None
    pinball: float | None
    crps: float | None
    after_updates: float | None
    after_drifts: float | None
    least_after_update: float | None


@dataclass(frozen=True, slots=True)
class Update:
    """One update of one component: what the pictures need of an update event.

    One that diverged was not ``accepted``: the model stayed as it was.
    """

    component: str
    step: int
    time: pd.Timestamp
    threshold_before: float
    threshold_after: float
    novel: int
    familiar: int
    accepted: bool


@dataclass(frozen=True, slots=True)
class Trial:
    """One chosen configuration of an instance on one entity.

    ``thresholds`` are those at the end, by component; ``daily`` is the live error day by day;
    ``intervals`` is ``None`` in runs of releases that gave none.
    """

    instance: str
    approach: str
    configuration: Json
    entity: str
    kind: str
    zone: str
    autoencoder: Score
    predictor: Score
    live_rmse: float | None
    live_mae: float | None
    recovery: tuple[Recovery, ...]
    retained_bytes: int
    update_seconds: float | None
    updates: tuple[Update, ...]
    thresholds: Mapping[str, float]
    daily: tuple[float | None, ...]
    intervals: Intervals | None = None


@dataclass(frozen=True, slots=True)
class Baseline:
    """A reference for one entity: L, the warm-up model, or U, trained on everything but the test.

    The validation errors are those on the fifth of its training data that was held out; ``daily``
    is the error day by day, empty in runs of releases that wrote none.
    """

    key: BaselineKey
    entity: str
    autoencoder: Score
    predictor: Score
    autoencoder_validation: float | None
    predictor_validation: float | None
    daily: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Member:
    """One entity of the experiment."""

    name: str
    kind: str
    zone: str


@dataclass(frozen=True, slots=True)
class Clock:
    """When the first sample was, and how long one step takes."""

    start: pd.Timestamp
    step: pd.Timedelta

    def at(self, step: int) -> pd.Timestamp:
        """The time of a step, counted from the first sample."""
        return self.start + step * self.step


@dataclass(frozen=True, slots=True)
class Results:
    """Everything a report is written from; ``trials`` holds the chosen ones only.

    ``spans`` are the first and the last time of each zone's updating phase; ``delay_steps``, until
    a measurement was known, is ``None`` in runs of releases that did not write it.
    """

    name: str
    preset: str | None
    data: str
    configuration: Json
    phases: Mapping[str, int]
    clock: Clock
    spans: Mapping[str, tuple[pd.Timestamp, pd.Timestamp]]
    delay_steps: int | None
    entities: tuple[Member, ...]
    drifts: tuple[Drift, ...]
    trials: tuple[Trial, ...]
    baselines: tuple[Baseline, ...]
    tried: int
    timing: Json

    @property
    def delay(self) -> pd.Timedelta | None:
        """How late measurements came."""
        return None if self.delay_steps is None else self.delay_steps * self.clock.step

    def span_of(self, entity: str) -> tuple[pd.Timestamp, pd.Timestamp]:
        """When the updating phase of an entity began, and its end."""
        (zone,) = (member.zone for member in self.entities if member.name == entity)
        first, last = self.spans[zone]
        return first, last + self.clock.step

    @property
    def instances(self) -> tuple[str, ...]:
        """The instances that were run."""
        return tuple(dict.fromkeys(trial.instance for trial in self.trials))

    def of(self, instance: str) -> tuple[Trial, ...]:
        """The chosen trials of an instance, one per entity."""
        return tuple(trial for trial in self.trials if trial.instance == instance)

    def about(self, entity: str) -> tuple[Trial, ...]:
        """The chosen trials of an entity, one per instance."""
        known = [member.name for member in self.entities]
        if entity not in known:
            shown = ", ".join(known[:8]) + (", …" if len(known) > 8 else "")
            raise DataError(f"{entity!r} is no entity of this experiment; choose one of {shown}")
        return tuple(trial for trial in self.trials if trial.entity == entity)
