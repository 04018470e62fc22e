"""The results of a finished run as data frames."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from clearwatt.experiment.records import (
    BaselineRecord,
    ComponentScore,
    Selection,
    TrialRecord,
    UpdateRecord,
)
from clearwatt.experiment.results import RunRecords, read_results


@dataclass(frozen=True, eq=False)
class Results:
    """A finished run, one data frame for each kind of record. Errors are those that models see.

    Args:
        trials: one row per configuration and entity: ``instance``, ``entity``, hyperparameters,
            ``chosen`` (lowest FE), ``chosen_live`` (lowest live RMSE), the metrics of both
            components (``predictor_fitting_error``, ...), live errors, coverage, cost.
        baselines: the same metrics of Baseline_L and Baseline_U.
        updates: one row per update of a chosen trial: ``time``, ``component``, thresholds, samples.
        daily: live RMSE of each day of the updating phase, for chosen trials and baselines, whose
            ``instance`` is "L" or "U".
        recovery: one row per chosen trial and known drift; ``steps`` is missing if the error never
            came back.
        entities: names, kinds and zones.
    """

    trials: pd.DataFrame
    baselines: pd.DataFrame
    updates: pd.DataFrame
    daily: pd.DataFrame
    recovery: pd.DataFrame
    entities: pd.DataFrame

    @classmethod
    def load(cls, run: str | Path, *, select: Selection | None = None) -> Results:
        """Read the folder that ``clearwatt experiment run`` wrote.

        Args:
            run: the folder.
            select: the selection that decides which trials are the chosen ones of ``updates``,
                ``daily`` and ``recovery``: "fe" or "live"; None for that of the run.
        """
        records = read_results(run, select)
        chosen = records.chosen_trials
        return cls(
            trials=pd.DataFrame([_trial_row(trial) for trial in records.trials]),
            baselines=pd.DataFrame([_baseline_row(each) for each in records.baselines]),
            updates=pd.DataFrame(
                [_update_row(trial, each) for trial in chosen for each in trial.updates]
            ),
            daily=_daily_frame(records),
            recovery=pd.DataFrame(
                [
                    {
                        "instance": trial.instance,
                        "entity": trial.entity,
                        **asdict(each),
                        "start": pd.Timestamp(each.start),
                    }
                    for trial in chosen
                    for each in trial.recovery
                ]
            ),
            entities=pd.DataFrame([asdict(each) for each in records.entities]),
        )


def _trial_row(trial: TrialRecord) -> dict[str, Any]:
    overall = trial.intervals.overall if trial.intervals is not None else None
    return {
        "instance": trial.instance,
        "approach": trial.approach,
        "entity": trial.entity,
        "kind": trial.kind,
        "zone": trial.zone,
        "chosen": trial.chosen,
        "chosen_live": trial.chosen_live,
        **trial.configuration,
        **_component_columns("predictor", trial.predictor),
        **_component_columns("autoencoder", trial.autoencoder),
        "live_rmse": trial.live.rmse,
        "live_mae": trial.live.mae,
        "frozen_rmse": trial.frozen_rmse,
        "coverage_90": None if overall is None else overall.coverage_90,
        "crps": None if overall is None else overall.crps,
        "retained_bytes": trial.retained_bytes,
        "held_samples": trial.held_samples,
        "update_seconds": trial.timing.update_seconds,
        "core_seconds": trial.timing.core_seconds,
    }


def _baseline_row(record: BaselineRecord) -> dict[str, Any]:
    return {
        "baseline": record.baseline,
        "entity": record.entity,
        "kind": record.kind,
        "zone": record.zone,
        **_component_columns("predictor", record.predictor),
        **_component_columns("autoencoder", record.autoencoder),
        **{f"{name}_validation_rmse": value for name, value in record.validation.items()},
    }


def _component_columns(name: str, score: ComponentScore) -> dict[str, Any]:
    return {f"{name}_{metric}": value for metric, value in asdict(score).items()}


def _update_row(trial: TrialRecord, update: UpdateRecord) -> dict[str, Any]:
    """An update; one of a shared autoencoder is in the rows of each of its entities."""
    values = asdict(update)
    del values["entity"]
    return {"instance": trial.instance, "entity": trial.entity, **values}


def _daily_frame(records: RunRecords) -> pd.DataFrame:
    named: list[tuple[str, TrialRecord | BaselineRecord]] = [
        (trial.instance, trial) for trial in records.chosen_trials
    ]
    named += [(each.baseline, each) for each in records.baselines]
    parts = [
        pd.DataFrame(
            {
                "instance": instance,
                "entity": each.entity,
                "day": records.updating_span(each.entity)[0]
                + pd.to_timedelta(range(len(each.daily)), unit="D"),
                "live_rmse": pd.Series(each.daily, dtype=float),
            }
        )
        for instance, each in named
        if each.daily
    ]
    columns = ["instance", "entity", "day", "live_rmse"]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
