"""Final scores: the test phase is read, for the chosen trials and the baselines only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from clearwatt.errors import StateError
from clearwatt.experiment.baselines import BASELINES, Baseline, errors
from clearwatt.experiment.models import Place
from clearwatt.experiment.plan import places_of
from clearwatt.experiment.protocol import Division, Zone
from clearwatt.experiment.selection import FinishedTrial, TrialSelection
from clearwatt.experiment.tasks import Context
from clearwatt.experiment.trial import ComponentScore, Trial
from clearwatt.runs.folder import RunFolder
from clearwatt.training.fleet import one_thread

Records = list[dict[str, Any]]
SERIES = "series"
"""Subfolder of the daily errors of chosen trials and baselines."""


def score_trials(
    context: Context, division: Division, selection: TrialSelection, folder: RunFolder
) -> Records:
    """All trials; the chosen ones with their prediction error, their events and a series file."""
    places = {context.entity(place): place for place in places_of(context)}
    records = []
    for finished, chosen in selection.trials:
        if not chosen:
            records.append({**finished.trial.to_dict(), "events": None})
            continue
        trial = _score(finished, selection, division, places[finished.trial.entity])
        zone = context.zones[places[finished.trial.entity].zone]
        folder.write(SERIES, finished.key, _series(context, finished, zone))
        records.append({**trial.to_dict(), "series": f"{SERIES}/{finished.key}.json"})
    return records


def score_baselines(
    context: Context, division: Division, records: Sequence[Baseline], folder: RunFolder
) -> Records:
    """The baselines with their prediction error and a series file."""
    found = {(record.baseline, record.entity): record for record in records}
    scores = []
    for name, role in BASELINES.items():
        for place in places_of(context):
            record = found[name, context.entity(place)]
            with one_thread():
                autoencoder, (power,) = errors(
                    context.representations[place.zone, role],
                    [context.predictors[place, role]],
                    division.test[place.zone],
                    [place.column],
                )
            scored = replace(
                record,
                autoencoder=_with_error(record.autoencoder, autoencoder),
                predictor=_with_error(record.predictor, power),
            )
            key = folder.key("baseline", name, record.entity)
            days = _days(context, context.zones[place.zone])
            about = {"baseline": name, "entity": record.entity}
            folder.write(SERIES, key, {**about, "days": days, "live_rmse": record.daily})
            scores.append({**scored.to_dict(), "series": f"{SERIES}/{key}.json"})
    return scores


def _score(
    finished: FinishedTrial, selection: TrialSelection, division: Division, place: Place
) -> Trial:
    models = selection.models(finished)
    if models is None:
        raise StateError(
            f"the models of {finished.trial.instance} for {finished.trial.entity} are gone; "
            "start the run again to make them anew"
        )
    encoder, head = models
    with one_thread():
        autoencoder, (power,) = errors(encoder, [head], division.test[place.zone], [place.column])
    trial = finished.trial
    return replace(
        trial,
        chosen=True,
        autoencoder=_with_error(trial.autoencoder, autoencoder),
        predictor=_with_error(trial.predictor, power),
    )


def _with_error(score: ComponentScore, error: float | None) -> ComponentScore:
    return replace(score, prediction_error=error)


def _series(context: Context, finished: FinishedTrial, zone: Zone) -> dict[str, Any]:
    """What plots need: the error of each day, thresholds and buffers at each update."""
    trial = finished.trial
    return {
        "instance": trial.instance,
        "entity": trial.entity,
        "days": _days(context, zone),
        "live_rmse": finished.daily,
        "components": {
            name: _component_series(trial, name) for name in ("autoencoder", "predictor")
        },
    }


def _days(context: Context, zone: Zone) -> list[str]:
    return [day.isoformat() for day in context.updating_times(zone)[:: context.day]]


def _component_series(trial: Trial, name: str) -> dict[str, Any]:
    keys = (
        "step",
        "time",
        "accepted",
        "threshold_before",
        "threshold_after",
        "novel",
        "familiar",
        "replayed",
    )
    own = [event for event in trial.events if event["component"] == name]
    return {
        "threshold": trial.thresholds[name],
        "updates": [{key: event[key] for key in keys} for event in own],
    }
