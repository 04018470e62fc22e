"""A finished run whose figures are the paper's own means, so that what a report says is known."""

import json
from datetime import datetime, timedelta

from clearwatt.experiment.report import paper
from clearwatt.experiment.report.tables import INSTANCES

KINDS = {"pv_01": "generator", "household_01": "consumer", "village_01": "residual"}
# Means over the entities come out as the paper's; the deviation is a tenth of them.
FACTORS = {"pv_01": 0.9, "household_01": 1.0, "village_01": 1.1}
DAYS = 20
UPDATING = datetime.fromisoformat("2024-01-06T00:00:00+00:00")
STEPS = {"warmup": 96 * 5, "updating": 96 * DAYS, "test": 96 * 2}


def score(component, row, factor):
    table = paper.TABLES[component]
    means = {metric.key: table.mean(row, metric.key) for metric in table.metrics}
    figures = {key: None if mean is None else mean * factor for key, mean in means.items()}
    # Updates are whole; the tables' means of them are checked where they are made.
    updates = figures["updates"]
    return figures | {"updates": None if updates is None else round(updates)}


def event(component, entity, step):
    return {
        "component": component,
        "entity": entity,
        "step": step,
        "time": (UPDATING + step * timedelta(minutes=15)).isoformat(),
        "trigger": "prediction",
        "threshold_before": 0.2,
        "threshold_after": 0.1,
        "novel": 300,
        "familiar": 200,
        "replayed": 100,
        "accepted": True,
    }


def trial(instance, entity, *, chosen=True):
    factor = FACTORS[entity]
    steps = (("autoencoder", 300), ("predictor", 400), ("predictor", 900))
    return {
        "instance": instance,
        "approach": f"Approach{instance}",
        "configuration": {"alpha": 0.9, "novelty_capacity": 300},
        "entity": entity,
        "kind": KINDS[entity],
        "zone": "region",
        "chosen": chosen,
        "autoencoder": score("autoencoder", instance, factor),
        "predictor": score("predictor", instance, factor),
        "live": {"rmse": 0.1 * factor, "mae": 0.05 * factor},
        "recovery": [
            {"what": "outage", "start": "2024-01-10T00:00:00+00:00", "steps": 192},
            {"what": "tariff", "start": "2024-01-12T00:00:00+00:00", "steps": None},
        ],
        "retained_bytes": 2_000_000,
        "events": [event(part, entity, step) for part, step in steps],
        "thresholds": {"autoencoder": 0.1, "predictor": 0.1},
        "timing": {"update_seconds": 1.5},
        "series": f"series/{instance}-{entity}.json",
    }


def adaptive_trial(entity, *, live=0.06):
    """A trial of the adaptive forecaster: no autoencoder, no time of its own for updates."""
    factor = FACTORS[entity]
    figures = {"fitting_error": 0.08, "prediction_error": 0.09, "forgetting_ratio": 0.5}
    return trial("E", entity) | {
        "instance": "A",
        "approach": "Adaptive",
        "configuration": {},
        "autoencoder": dict.fromkeys([*figures, "updates"]),
        "predictor": {key: factor * each for key, each in figures.items()} | {"updates": 40},
        "live": {"rmse": live * factor, "mae": 0.5 * live * factor},
        "events": [event("predictor", entity, step) for step in (400, 900)],
        "thresholds": {"predictor": 0.1},
        "timing": {"update_seconds": None},
        "held_samples": 3000,
        "frozen_rmse": 0.12 * factor,
        "series": f"series/A-{entity}.json",
    }


def with_adaptive(document, *, live=0.06):
    """The run with a row of the adaptive forecaster as well."""
    own = [adaptive_trial(each["name"], live=live) for each in document["entities"]]
    return document | {"trials": [*document["trials"], *own]}


def baseline(key, entity):
    factor = FACTORS[entity]
    return {
        "baseline": key,
        "entity": entity,
        "kind": KINDS[entity],
        "zone": "region",
        "autoencoder": score("autoencoder", key, 1.0),
        "predictor": score("predictor", key, factor),
        "validation": {"autoencoder": 0.005, "predictor": 0.037 * factor},
        "series": f"series/{key}-{entity}.json",
    }


def drift(what, entity, end=None):
    return {
        "what": what,
        "entity": entity,
        "start": "2024-01-10T00:00:00+00:00",
        "end": end,
        "strength": 0.5,
        "description": f"{what} of {entity}",
    }


def run_document(instances=INSTANCES, entities=tuple(KINDS)):
    return {
        "format": "clearwatt-experiment",
        "version": 1,
        "configuration": {"seed": 3},
        "phases": STEPS,
        "delay_steps": 96,
        "zones": [
            {
                "name": "region",
                "updating_start": UPDATING.isoformat(),
                "updating_end": (UPDATING + timedelta(days=DAYS, minutes=-15)).isoformat(),
            }
        ],
        "data": {"name": "grid", "start": "2024-01-01T00:00:00+00:00", "step_minutes": 15},
        "drifts": [
            drift("outage", "village_01", "2024-01-11T00:00:00+00:00"),
            drift("nwp_change", None),
        ],
        "entities": [{"name": e, "kind": KINDS[e], "zone": "region"} for e in entities],
        "trials": [trial(i, e) for i in instances for e in entities],
        "baselines": [baseline(key, e) for key in "LU" for e in entities],
        "timing": {"seconds": 12.0},
    }


def write_run_folder(folder, document):
    """Write a run's folder with the series that trials and baselines name."""
    (folder / "series").mkdir(parents=True)
    (folder / "run.json").write_text("{}", encoding="utf-8")
    (folder / "results.json").write_text(json.dumps(document), encoding="utf-8")
    for each in [*document["trials"], *document["baselines"]]:
        if "series" not in each:
            continue
        daily = [None, *(0.1 + day / 100 for day in range(1, DAYS))]
        series = json.dumps({"live_rmse": daily})
        (folder / each["series"]).write_text(series, encoding="utf-8")
    return folder
