"""Final scores: the test phase is read, for the chosen trials and the baselines only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from clearwatt.errors import StateError
from clearwatt.experiment.baselines import BASELINES
from clearwatt.experiment.final_model import FinalModel, InstanceModel
from clearwatt.experiment.models import Place
from clearwatt.experiment.plan import places_of
from clearwatt.experiment.protocol import Division, ZonePhases
from clearwatt.experiment.records import BaselineRecord, TrialRecord
from clearwatt.experiment.selection import SELECTIONS, FinishedTrial, TrialSelection
from clearwatt.experiment.tasks import Context
from clearwatt.runs.folder import RunFolder
from clearwatt.training.fleet import one_thread

R = TypeVar("R", TrialRecord, BaselineRecord)
SERIES = "series"
"""Subfolder of the daily errors of chosen trials and baselines."""
_UPDATE_FIELDS = (
    "step",
    "accepted",
    "threshold_before",
    "threshold_after",
    "novel",
    "familiar",
    "replayed",
)


def score_trials(
    context: Context, division: Division, selection: TrialSelection, folder: RunFolder
) -> tuple[TrialRecord, ...]:
    """All trials; those that either selection chose are tested, with events and a series file."""
    places = {context.entity(place): place for place in places_of(context)}
    records = []
    for finished in selection.trials:
        by_error, by_live = (selection.is_chosen(finished, select) for select in SELECTIONS)
        trial = replace(finished.trial, chosen=by_error, chosen_live=by_live)
        if not (by_error or by_live):
            records.append(replace(trial, events=None))
            continue
        place = places[trial.entity]
        scored = _with_prediction_errors(trial, _model(finished, selection), division, place)
        folder.write(SERIES, finished.key, _series(context, trial, context.zones[place.zone]))
        records.append(replace(scored, series=f"{SERIES}/{finished.key}.json"))
    return tuple(records)


def score_baselines(
    context: Context, division: Division, records: Sequence[BaselineRecord], folder: RunFolder
) -> tuple[BaselineRecord, ...]:
    """The baselines with their prediction error and a series file."""
    by_name = {(record.baseline, record.entity): record for record in records}
    scored = []
    for name, role in BASELINES.items():
        for place in places_of(context):
            record = _with_prediction_errors(
                by_name[name, context.entity(place)],
                InstanceModel(
                    context.representations[place.zone, role], context.predictors[place, role]
                ),
                division,
                place,
            )
            key = folder.key("baseline", name, record.entity)
            about = {"baseline": name, "entity": record.entity}
            days = _days(context, context.zones[place.zone])
            folder.write(SERIES, key, {**about, "days": days, "live_rmse": record.daily})
            scored.append(replace(record, series=f"{SERIES}/{key}.json"))
    return tuple(scored)


def _model(finished: FinishedTrial, selection: TrialSelection) -> FinalModel:
    model = selection.model(finished)
    if model is None:
        raise StateError(
            f"the models of {finished.trial.instance} for {finished.trial.entity} are missing; "
            "start the run again to train them again"
        )
    return model


def _with_prediction_errors(record: R, model: FinalModel, division: Division, place: Place) -> R:
    with one_thread():
        errors = model.phase_errors(division.test[place.zone], place.column)
    return replace(
        record,
        autoencoder=replace(record.autoencoder, prediction_error=errors.autoencoder),
        predictor=replace(record.predictor, prediction_error=errors.predictor),
    )


def _series(context: Context, trial: TrialRecord, zone: ZonePhases) -> dict[str, Any]:
    """The daily error, and thresholds and buffers at each update."""
    return {
        "instance": trial.instance,
        "entity": trial.entity,
        "days": _days(context, zone),
        "live_rmse": trial.daily,
        "components": {
            name: _component_series(trial, name)
            for name in ("autoencoder", "predictor")
            if name in trial.thresholds
        },
    }


def _days(context: Context, zone: ZonePhases) -> list[str]:
    return [day.isoformat() for day in context.updating_times(zone)[:: context.day]]


def _component_series(trial: TrialRecord, name: str) -> dict[str, Any]:
    return {
        "threshold": trial.thresholds[name],
        "updates": [
            {
                "time": update.time.isoformat(),
                **{field: getattr(update, field) for field in _UPDATE_FIELDS},
            }
            for update in trial.updates
            if update.component == name
        ],
    }
