"""The results of a run: one typed document, written at its end and read by the report."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import pandas as pd
from pydantic import PlainSerializer, PlainValidator, TypeAdapter, ValidationError

from clearwatt.data.schema import Drift
from clearwatt.errors import ConfigurationError, DataError
from clearwatt.experiment.records import (
    BaselineRecord,
    DailyError,
    Selection,
    Timestamp,
    TrialRecord,
)
from clearwatt.runs.folder import RUN, write_json

RESULTS = "results.json"
FORMAT, VERSION = "clearwatt-experiment", 1
TRIALS = "trials"
"""Subfolder of finished trials."""
# Parsed JSON has no better type; it is checked as it becomes a record.
Document: TypeAlias = Mapping[str, Any]


def _drift(values: Document | Drift) -> Drift:
    if isinstance(values, Drift):
        return values
    end = values.get("end")
    return Drift(
        what=str(values["what"]),
        entity=values.get("entity"),
        start=pd.Timestamp(values["start"]),
        end=None if end is None else pd.Timestamp(end),
        strength=float(values["strength"]),
        description=str(values.get("description", "")),
    )


DriftRecord = Annotated[Drift, PlainValidator(_drift), PlainSerializer(Drift.to_dict)]


@dataclass(frozen=True)
class DataRecord:
    """The data set of a run."""

    name: str
    start: Timestamp
    step_minutes: float
    steps: int | None = None
    end: Timestamp | None = None
    entities: int | None = None
    zones: int | None = None
    sha256: str | None = None

    @property
    def step(self) -> pd.Timedelta:
        """Length of a step."""
        return pd.Timedelta(minutes=self.step_minutes)


@dataclass(frozen=True)
class ZoneRecord:
    """The phases of a zone: samples of each, first and last time of the updating phase."""

    name: str
    updating_start: Timestamp
    updating_end: Timestamp
    inputs: int | None = None
    warmup: int | None = None
    updating: int | None = None
    test: int | None = None


@dataclass(frozen=True)
class ExperimentEntity:
    """One entity of a run."""

    name: str
    kind: str
    zone: str


@dataclass(frozen=True)
class RunRecords:
    """Everything that a report is made from.

    Args:
        configuration: the experiment, without its data and its preset.
        data: the data set.
        phases: steps of each phase, in a zone without gaps.
        zones: the phases of each zone.
        drifts: changes of the data that are known.
        entities: who took part.
        trials: every configuration on every entity.
        baselines: both baselines for every entity.
        timing: processor time, in seconds.
        preset: name of the preset, if any.
        delay_steps: steps until a measurement was known; None in runs of older releases.
        select: the selection whose trials are the chosen ones.
        name: of the run's folder; not written.
    """

    configuration: Mapping[str, Any]
    data: DataRecord
    phases: Mapping[str, int]
    zones: tuple[ZoneRecord, ...]
    drifts: tuple[DriftRecord, ...]
    entities: tuple[ExperimentEntity, ...]
    trials: tuple[TrialRecord, ...]
    baselines: tuple[BaselineRecord, ...]
    timing: Mapping[str, float] = field(default_factory=dict)
    preset: str | None = None
    delay_steps: int | None = None
    select: Selection = "fe"
    name: str = ""

    @cached_property
    def chosen_trials(self) -> tuple[TrialRecord, ...]:
        """The chosen trial of each instance and entity."""
        return self.chosen_by(self.select)

    def chosen_by(self, select: Selection) -> tuple[TrialRecord, ...]:
        """The trial of each instance and entity that a selection chooses."""
        if select == "fe":
            return tuple(trial for trial in self.trials if trial.chosen)
        return tuple(trial for trial in self.trials if trial.chosen_live)

    @property
    def delay(self) -> pd.Timedelta | None:
        """Time until a measurement was known."""
        return None if self.delay_steps is None else self.delay_steps * self.data.step

    def updating_span(self, entity: str) -> tuple[pd.Timestamp, pd.Timestamp]:
        """Start and end of the updating phase of an entity."""
        (own,) = (each.zone for each in self.entities if each.name == entity)
        (zone,) = (each for each in self.zones if each.name == own)
        return zone.updating_start, zone.updating_end + self.data.step

    @property
    def instances(self) -> tuple[str, ...]:
        """The instances that were run."""
        return tuple(dict.fromkeys(trial.instance for trial in self.chosen_trials))

    def trials_of(self, instance: str) -> tuple[TrialRecord, ...]:
        """The chosen trials of an instance, one per entity."""
        return tuple(trial for trial in self.chosen_trials if trial.instance == instance)

    def trials_for(self, entity: str) -> tuple[TrialRecord, ...]:
        """The chosen trials for an entity, one per instance."""
        names = [each.name for each in self.entities]
        if entity not in names:
            some = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
            raise DataError(f"{entity!r} is no entity of this experiment; choose one of {some}")
        return tuple(trial for trial in self.chosen_trials if trial.entity == entity)


_RESULTS = TypeAdapter(RunRecords)
_TRIAL = TypeAdapter(TrialRecord)


def trial_document(trial: TrialRecord) -> dict[str, Any]:
    """A trial for JSON, with its daily error beside it."""
    return {"trial": _without_series(_TRIAL.dump_python(trial)), "daily": trial.daily}


def parse_trial(document: object) -> TrialRecord | None:
    """The opposite of `trial_document`; None if the document is missing or damaged."""
    try:
        if not isinstance(document, dict):
            return None
        return replace(_TRIAL.validate_python(document["trial"]), daily=tuple(document["daily"]))
    except (KeyError, TypeError, ValidationError):
        return None


def write_results(folder: Path, results: RunRecords) -> None:
    """Write the results of a run into its folder."""
    content = _RESULTS.dump_python(results)
    del content["name"]
    for part in ("trials", "baselines"):
        content[part] = [_without_series(each) for each in content[part]]
    write_json(folder / RESULTS, {"format": FORMAT, "version": VERSION, **content})


def _without_series(values: dict[str, Any]) -> dict[str, Any]:
    """A record without its daily error, which has a file of its own, if it was kept."""
    dropped = ("daily",) if values["series"] is not None else ("daily", "series")
    return {name: value for name, value in values.items() if name not in dropped}


def read_results(folder: str | Path, select: Selection | None = None) -> RunRecords:
    """The results of a finished run, with the daily errors of its chosen trials and baselines.

    Args:
        folder: what ``clearwatt experiment run --out`` wrote.
        select: the selection to use; None for that of the run.
    """
    folder = Path(folder)
    try:
        results = _RESULTS.validate_python(read_document(folder))
    except (ValidationError, KeyError, TypeError) as error:
        raise DataError(
            f"{folder / RESULTS} is damaged ({_first_mistake(error)}); delete that file and run "
            "'clearwatt experiment run' with the same options again: finished trials are kept"
        ) from error
    return replace(
        results,
        name=folder.resolve().name,
        select=select or results.select,
        trials=tuple(
            replace(each, daily=_daily(each, folder)) for each in _choose_live(results.trials)
        ),
        baselines=tuple(replace(each, daily=_daily(each, folder)) for each in results.baselines),
    )


def _choose_live(trials: Sequence[TrialRecord]) -> list[TrialRecord]:
    """The trials with the choice by live RMSE, which runs of older releases do not have."""
    if all(trial.chosen_live is not None for trial in trials):
        return list(trials)
    best: dict[tuple[str, str], TrialRecord] = {}
    for trial in trials:  # in the order of the grid: of equal errors the first is chosen
        rival = best.setdefault((trial.instance, trial.entity), trial)
        if trial.selection_error("live") < rival.selection_error("live"):
            best[trial.instance, trial.entity] = trial
    return [
        replace(trial, chosen_live=best[trial.instance, trial.entity] is trial) for trial in trials
    ]


def _first_mistake(error: ValidationError | KeyError | TypeError) -> str:
    if not isinstance(error, ValidationError):
        return f"{type(error).__name__}: {error}"
    first = error.errors()[0]
    return f"{', '.join(map(repr, first['loc']))}: {first['msg']}"


def _daily(record: TrialRecord | BaselineRecord, folder: Path) -> DailyError:
    """The daily error of a record; a run copied without its series still has its tables."""
    path = folder / record.series if record.series is not None else None
    return tuple(_load(path)["live_rmse"]) if path is not None and path.is_file() else ()


def read_document(folder: Path) -> Document:
    """The results of a finished run as they are on disk."""
    path = folder / RESULTS
    if not path.is_file():
        raise DataError(_absence(folder))
    document = _load(path)
    if document.get("format") != FORMAT or document.get("version") != VERSION:
        raise DataError(
            f"{path} has format {document.get('format')!r}, version {document.get('version')!r}; "
            f"this version of clearwatt reads {FORMAT!r}, version {VERSION}"
        )
    return document


def _load(path: Path) -> Document:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path} is not readable as JSON ({error}); run again") from error
    if not isinstance(document, dict):
        raise DataError(f"{path} holds no JSON object; run again")
    return document


def _absence(folder: Path) -> str:
    """Why a folder has no results, and what to do."""
    if not folder.is_dir():
        return f"{folder} does not exist; give the folder that 'clearwatt experiment run' wrote"
    if not (folder / RUN).is_file():
        return (
            f"{folder} is not an experiment, it holds no run.json; give the folder that "
            "'clearwatt experiment run' wrote"
        )
    return (
        f"{folder} is unfinished, {_missing_parts(folder)}; run 'clearwatt experiment run --out "
        f"{folder}' with the same options again to continue"
    )


def _missing_parts(folder: Path) -> str:
    """The missing parts of an unfinished run, by its description."""
    done = sum(1 for _ in (folder / TRIALS).glob("*.json"))
    try:
        total = _count_trials(_load(folder / RUN))
    except (KeyError, TypeError, AttributeError, ConfigurationError):
        return f"{done} trials are done"
    missing = max(0, total - done)
    return f"{missing} of {total} trials are missing" if missing else "its last scores are missing"


def _count_trials(about: Document) -> int:
    """Number of trials of a run: configurations times entities."""
    from clearwatt.experiment.grid import Grid  # imports torch, which reports do not need

    experiment = about["experiment"]
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in experiment["grid"].items()
    }
    grid = Grid(**values)
    configurations = sum(len(grid.trials(key)) for key in experiment["instances"])
    return configurations * int(about["data"]["entities"])
