"""Reading a run's folder; what is wrong with it is told in one sentence."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from clearwatt.data.schema import Drift
from clearwatt.errors import ConfigurationError, DataError
from clearwatt.experiment.layout import RESULTS, RESULTS_FORMAT, TRIALS, VERSION
from clearwatt.experiment.report.record import (
    Baseline,
    Clock,
    Intervals,
    Member,
    Recovery,
    Results,
    Score,
    Trial,
    Update,
)
from clearwatt.runs.folder import RUN

# Parsed JSON has no better type; every value is checked as it becomes part of a record.
Json: TypeAlias = Mapping[str, Any]


def read_run(folder: str | Path) -> Results:
    """Read a finished run.

    Args:
        folder: what ``clearwatt experiment run --out`` wrote.
    """
    folder = Path(folder)
    document = read_results(folder)
    try:
        return _results(document, folder)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            f"{folder / RESULTS} is damaged ({type(error).__name__}: {error}); delete that "
            "file and run 'clearwatt experiment run' with the same options again: finished trials "
            "are kept"
        ) from error


def read_results(folder: Path) -> Json:
    """The results of a finished run as they are on disk."""
    path = folder / RESULTS
    if not path.is_file():
        raise DataError(_why_absent(folder))
    document = _load(path)
    if document.get("format") != RESULTS_FORMAT or document.get("version") != VERSION:
        raise DataError(
            f"{path} has format {document.get('format')!r}, version {document.get('version')!r}; "
            f"this version of clearwatt reads {RESULTS_FORMAT!r}, version {VERSION}"
        )
    return document


def _why_absent(folder: Path) -> str:
    if not folder.is_dir():
        return f"{folder} does not exist; give the folder that 'clearwatt experiment run' wrote"
    if not (folder / RUN).is_file():
        return (
            f"{folder} is not an experiment, it holds no run.json; give the folder that "
            "'clearwatt experiment run' wrote"
        )
    return (
        f"{folder} is unfinished, {_missing(folder)}; run 'clearwatt experiment run --out "
        f"{folder}' with the same options again to continue"
    )


def _missing(folder: Path) -> str:
    """Say what an unfinished run lacks, as far as its own description tells."""
    done = sum(1 for _ in (folder / TRIALS).glob("*.json"))
    try:
        total = _trials(_load(folder / RUN))
    except (KeyError, TypeError, AttributeError, ConfigurationError):
        return f"{done} trials are done"
    missing = max(0, total - done)
    return f"{missing} of {total} trials are missing" if missing else "its last scores are missing"


def _trials(about: Json) -> int:
    """How many trials a run is: configurations times entities."""
    from clearwatt.experiment.grid import Grid  # brings the strategies, which reports do not need

    experiment = about["experiment"]
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in experiment["grid"].items()
    }
    grid = Grid(**values)
    configurations = sum(len(grid.configurations(key)) for key in experiment["instances"])
    return configurations * int(about["data"]["entities"])


def _load(path: Path) -> Json:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path} is not readable as JSON ({error}); run again") from error
    if not isinstance(document, dict):
        raise DataError(f"{path} holds no JSON object; run again")
    return document


def _results(document: Json, folder: Path) -> Results:
    trials = document["trials"]
    return Results(
        name=folder.resolve().name,
        preset=document.get("preset"),
        data=str(document["data"]["name"]),
        configuration=document["configuration"],
        phases={str(name): int(length) for name, length in document["phases"].items()},
        clock=_clock(document["data"]),
        spans={str(zone["name"]): _span(zone) for zone in document["zones"]},
        delay_steps=document.get("delay_steps"),
        entities=tuple(
            Member(str(each["name"]), str(each["kind"]), str(each["zone"]))
            for each in document["entities"]
        ),
        drifts=tuple(_drift(each) for each in document["drifts"]),
        trials=tuple(_trial(each, folder) for each in trials if each["chosen"]),
        baselines=tuple(_baseline(each, folder) for each in document["baselines"]),
        tried=len(trials),
        timing=document.get("timing", {}),
    )


def _clock(document: Json) -> Clock:
    step = pd.Timedelta(minutes=float(document["step_minutes"]))
    return Clock(pd.Timestamp(document["start"]), step)


def _span(document: Json) -> tuple[pd.Timestamp, pd.Timestamp]:
    return pd.Timestamp(document["updating_start"]), pd.Timestamp(document["updating_end"])


def _drift(document: Json) -> Drift:
    end = document.get("end")
    return Drift(
        what=str(document["what"]),
        entity=document.get("entity"),
        start=pd.Timestamp(document["start"]),
        end=None if end is None else pd.Timestamp(end),
        strength=float(document["strength"]),
        description=str(document.get("description", "")),
    )


def _trial(document: Json, folder: Path) -> Trial:
    return Trial(
        instance=str(document["instance"]),
        approach=str(document["approach"]),
        configuration=document["configuration"],
        entity=str(document["entity"]),
        kind=str(document["kind"]),
        zone=str(document["zone"]),
        autoencoder=_score(document["autoencoder"]),
        predictor=_score(document["predictor"]),
        live_rmse=_known(document["live"]["rmse"]),
        live_mae=_known(document["live"]["mae"]),
        recovery=tuple(Recovery(str(e["what"]), e["steps"]) for e in document["recovery"]),
        retained_bytes=int(document["retained_bytes"]),
        update_seconds=_known(document["timing"]["update_seconds"]),
        updates=tuple(_updates(document["events"])),
        thresholds={str(k): float(v) for k, v in document["thresholds"].items()},
        daily=_daily(document, folder),
        intervals=_intervals(document.get("intervals")),
    )


def _intervals(document: Json | None) -> Intervals | None:
    if document is None:
        return None
    overall, updates, drifts = (
        document[part] or {} for part in ("overall", "after_updates", "after_drifts")
    )
    names = ("coverage_90", "coverage_50", "width_90", "pinball", "crps")
    return Intervals(
        **{name: _known(overall.get(name)) for name in names},
        after_updates=_known(updates.get("coverage_90")),
        after_drifts=_known(drifts.get("coverage_90")),
        least_after_update=_known(document["least_after_update"]),
    )


def _daily(document: Json, folder: Path) -> tuple[float | None, ...]:
    """The live error day by day; a run copied without its series still has its tables."""
    path = folder / str(document["series"])
    return tuple(map(_known, _load(path)["live_rmse"])) if path.is_file() else ()


def _score(document: Json) -> Score:
    updates = document.get("updates")
    return Score(
        fitting_error=_known(document["fitting_error"]),
        prediction_error=_known(document["prediction_error"]),
        forgetting_ratio=_known(document.get("forgetting_ratio")),
        updates=None if updates is None else int(updates),
    )


def _updates(events: Iterable[Json]) -> Iterable[Update]:
    for event in events:
        yield Update(
            component=str(event["component"]),
            step=int(event["step"]),
            time=pd.Timestamp(event["time"]),
            threshold_before=float(event["threshold_before"]),
            threshold_after=float(event["threshold_after"]),
            novel=int(event["novel"]),
            familiar=int(event["familiar"]),
            accepted=bool(event["accepted"]),
        )


def _baseline(document: Json, folder: Path) -> Baseline:
    validation = document.get("validation") or {}
    return Baseline(
        key="L" if document["baseline"] == "L" else "U",
        entity=str(document["entity"]),
        autoencoder=_score(document["autoencoder"]),
        predictor=_score(document["predictor"]),
        autoencoder_validation=_known(validation.get("autoencoder")),
        predictor_validation=_known(validation.get("predictor")),
        daily=_daily(document, folder) if "series" in document else (),
    )


def _known(value: float | None) -> float | None:
    """A finite number, or none: a ratio to an error of zero is no figure to average."""
    if value is None or not math.isfinite(float(value)):
        return None
    return float(value)
