"""The end of an experiment: the test phase is read, for the chosen trials and the baselines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from clearwatt.errors import StateError
from clearwatt.experiment.baselines import BASELINES, Baseline, errors
from clearwatt.experiment.finalists import Finalists, Finished
from clearwatt.experiment.folder import RunFolder
from clearwatt.experiment.models import Place
from clearwatt.experiment.plan import places_of
from clearwatt.experiment.protocol import Division, Zone
from clearwatt.experiment.tasks import Context
from clearwatt.experiment.trial import ComponentScore, Trial
from clearwatt.training.fleet import one_thread

Records = list[dict[str, Any]]


def tested_trials(
    context: Context, division: Division, finalists: Finalists, folder: RunFolder
) -> Records:
    """All trials; the chosen ones with their prediction error, their events and a series file."""
    places = {context.entity(place): place for place in places_of(context)}
    records = []
    for finished, chosen in finalists.trials:
        if not chosen:
            records.append({**finished.trial.to_dict(), "events": None})
            continue
        trial = _tested(finished, finalists, division, places[finished.trial.entity])
        zone = context.zones[places[finished.trial.entity].zone]
        folder.write_series(finished.key, _series(context, finished, zone))
        records.append({**trial.to_dict(), "series": f"series/{finished.key}.json"})
    return records


def tested_baselines(
    context: Context, division: Division, records: Sequence[Baseline], folder: RunFolder
) -> Records:
    """The baselines with their prediction error and a series file."""
    found = {(record.baseline, record.entity): record for record in records}
    tested = []
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
            folder.write_series(key, {**about, "days": days, "live_rmse": record.daily})
            tested.append({**scored.to_dict(), "series": f"series/{key}.json"})
    return tested


def _tested(finished: Finished, finalists: Finalists, division: Division, place: Place) -> Trial:
    models = finalists.models(finished)
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


def _series(context: Context, finished: Finished, zone: Zone) -> dict[str, Any]:
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
