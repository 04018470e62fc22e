"""The tables of a run: the paper's two, operation, intervals, each kind, one entity."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from clearwatt.experiment.intervals import IntervalScores, QuantileScores
from clearwatt.experiment.records import ADAPTIVE, BaselineRecord, ComponentScore, TrialRecord
from clearwatt.experiment.report.paper import VALIDATION
from clearwatt.experiment.report.selection_table import UNTESTED, tested_spread
from clearwatt.experiment.report.tables import (
    BASELINES,
    COMPONENT_METRICS,
    COMPONENTS,
    INTERVAL_METRICS,
    OPERATION_METRICS,
    Metric,
    Spread,
    Table,
    row_name,
)
from clearwatt.experiment.results import RunRecords
from clearwatt.report.formatting import format_duration
from clearwatt.strategies import ComponentName

KEPT = 0.8
"""Least coverage of the 90 % interval in the days after an update."""

_TITLES = {
    "autoencoder": "Autoencoder: reconstruction of the inputs",
    "predictor": "Predictor: power forecasts",
}


def component_table(results: RunRecords, component: ComponentName) -> Table:
    """One of the paper's two result tables."""
    rows: dict[str, Mapping[str, Spread]] = {}
    for key in BASELINES:
        scores = [
            _component_score(each, component) for each in results.baselines if each.baseline == key
        ]
        if scores:
            shared = component == "autoencoder" and len({e.zone for e in results.entities}) == 1
            rows[key] = _baseline_row(scores, shared=shared)
    for key in results.instances:
        rows[key] = _trials_row(results.trials_of(key), component)
    notes = (
        _validation_note(results, component),
        _adaptive_note(rows, component),
        _selection_note(results),
    )
    note = " ".join(filter(None, notes))
    return Table(component, _TITLES[component], COMPONENT_METRICS, rows, note)


def operation_table(results: RunRecords) -> Table:
    """The table of live errors, recovery from drifts and cost."""
    rows: dict[str, Mapping[str, Spread]] = {}
    frozen = [each.predictor.fitting_error for each in results.baselines if each.baseline == "L"]
    if frozen:
        # The live forecasts of a model that never changes are those of the final model.
        rows["L"] = {"live_rmse": Spread.of(frozen)}
    for key in results.instances:
        rows[key] = _operation_row(results.trials_of(key), day=_steps_per_day(results))
    note = (
        "Live: each forecast by the model in service when it was made, measurements arriving "
        f"{_delay_text(results)}. Days to recover: of the drifts recovered from. Update time "
        "depends on the machine."
    )
    if ADAPTIVE in rows:
        note += (
            f" {row_name(ADAPTIVE)}: our adaptive forecaster as a whole; its update time is not "
            "measured apart."
        )
    return Table("operation", "In operation", OPERATION_METRICS, rows, note)


def interval_table(results: RunRecords) -> Table | None:
    """The table of interval scores; ``None`` for a run without intervals."""
    rows: dict[str, Mapping[str, Spread]] = {}
    for key in results.instances:
        own = [trial.intervals for trial in results.trials_of(key) if trial.intervals is not None]
        if own:
            rows[key] = _interval_row(own)
    note = (
        f"Quantiles as they were given, measurements arriving {_delay_text(results)}; after: the "
        "three days after an update or a drift; 80 % kept: entities whose 90 % interval held at "
        "least 80 % of the readings in the three days after each of their updates. Widths and "
        "losses in scaled power."
    )
    return Table("intervals", "Intervals", INTERVAL_METRICS, rows, note) if rows else None


def kind_tables(results: RunRecords) -> dict[str, Table]:
    """The table of predictors for each kind of entity."""
    kinds = dict.fromkeys(member.kind for member in results.entities)
    return {kind: component_table(_results_of_kind(results, kind), "predictor") for kind in kinds}


def entity_table(results: RunRecords, entity: str) -> Table:
    """The table of one entity, with both components in each row."""
    trials = results.trials_for(entity)
    metrics = tuple(
        replace(metric, key=f"{component}.{metric.key}", short=f"{short} {metric.short}")
        for component, short in (("autoencoder", "AE"), ("predictor", "P"))
        for metric in COMPONENT_METRICS
    )
    scored: list[tuple[str, TrialRecord | BaselineRecord]] = [
        (each.baseline, each)
        for key in BASELINES
        for each in results.baselines
        if each.baseline == key and each.entity == entity
    ]
    scored += [(trial.instance, trial) for trial in trials]
    rows = {key: _entity_row(each) for key, each in scored}
    note = "AE: autoencoder, P: predictor."
    return Table("entity", f"{entity} alone", tuple(map(_whole_updates, metrics)), rows, note)


def _whole_updates(metric: Metric) -> Metric:
    """The metric; updates of one entity are whole numbers."""
    return replace(metric, decimals=0) if metric.key.endswith("updates") else metric


def _entity_row(scored: TrialRecord | BaselineRecord) -> dict[str, Spread]:
    make = _baseline_row if isinstance(scored, BaselineRecord) else _score_row
    return {
        f"{component}.{key}": spread
        for component in COMPONENTS
        for key, spread in make([_component_score(scored, component)]).items()
    }


def _component_score(
    scored: TrialRecord | BaselineRecord, component: ComponentName
) -> ComponentScore:
    return scored.autoencoder if component == "autoencoder" else scored.predictor


def _score_row(scores: Sequence[ComponentScore]) -> dict[str, Spread]:
    return {
        "fitting_error": Spread.of(score.fitting_error for score in scores),
        "prediction_error": Spread.of(score.prediction_error for score in scores),
        "forgetting_ratio": Spread.of(score.forgetting_ratio for score in scores),
        "updates": Spread.of(score.updates for score in scores),
    }


def _trials_row(trials: Sequence[TrialRecord], component: ComponentName) -> dict[str, Spread]:
    """The row of an instance, of the trials chosen for it."""
    return {
        **_score_row([_component_score(trial, component) for trial in trials]),
        "prediction_error": tested_spread(
            trials, lambda trial: _component_score(trial, component).prediction_error
        ),
    }


def _baseline_row(scores: Sequence[ComponentScore], *, shared: bool = False) -> dict[str, Spread]:
    """A row without updates; a model shared by all entities has no deviation."""
    row = _score_row(scores)
    errors = {key: row[key] for key in ("fitting_error", "prediction_error")}
    if not shared:
        return errors
    return {key: Spread(each.mean, None, each.count) for key, each in errors.items()}


def _operation_row(trials: Sequence[TrialRecord], *, day: float) -> dict[str, Spread]:
    spans = [recovery.steps for trial in trials for recovery in trial.recovery]
    recovered = [None if span is None else span / day for span in spans]
    share = 100 * sum(span is not None for span in spans) / len(spans) if spans else None
    return {
        "live_rmse": _spread(trials, lambda trial: trial.live.rmse),
        "live_mae": _spread(trials, lambda trial: trial.live.mae),
        "recovered": Spread(share, None, len(spans)),
        "recovery_days": Spread.of(recovered),
        "retained_megabytes": _spread(trials, lambda trial: trial.retained_bytes / 1e6),
        "held_samples": _spread(trials, lambda trial: trial.held_samples),
        "update_seconds": _spread(trials, lambda trial: trial.timing.update_seconds),
    }


def _interval_row(own: Sequence[IntervalScores]) -> dict[str, Spread]:
    def spread(value: Callable[[QuantileScores], float], part: str = "overall") -> Spread:
        scores: list[QuantileScores | None] = [getattr(each, part) for each in own]
        return Spread.of(None if score is None else value(score) for score in scores)

    def coverage_percent(score: QuantileScores) -> float:
        return 100 * score.coverage_90

    least = [each.least_after_update for each in own if each.least_after_update is not None]
    kept = 100 * sum(value >= KEPT for value in least) / len(least) if least else None
    return {
        "coverage_90": spread(coverage_percent),
        "coverage_50": spread(lambda score: 100 * score.coverage_50),
        "after_updates": spread(coverage_percent, "after_updates"),
        "after_drifts": spread(coverage_percent, "after_drifts"),
        "kept": Spread(kept, None, len(least)),
        "width_90": spread(lambda score: score.width_90),
        "pinball": spread(lambda score: score.pinball),
        "crps": spread(lambda score: score.crps),
    }


def _spread(trials: Sequence[TrialRecord], value: Callable[[TrialRecord], float | None]) -> Spread:
    return Spread.of(map(value, trials))


def _delay_text(results: RunRecords) -> str:
    return "late" if results.delay is None else f"{format_duration(results.delay)} late"


def _steps_per_day(results: RunRecords) -> float:
    return 86_400 / results.data.step.total_seconds()


def _results_of_kind(results: RunRecords, kind: str) -> RunRecords:
    names = {member.name for member in results.entities if member.kind == kind}
    return replace(
        results,
        entities=tuple(member for member in results.entities if member.name in names),
        trials=tuple(trial for trial in results.trials if trial.entity in names),
        baselines=tuple(each for each in results.baselines if each.entity in names),
    )


def _adaptive_note(rows: Mapping[str, Mapping[str, Spread]], component: ComponentName) -> str:
    """What the row of the adaptive forecaster is, if there is one."""
    if ADAPTIVE not in rows:
        return ""
    if component == "autoencoder":
        return f"{row_name(ADAPTIVE)}, our adaptive forecaster, has no autoencoder."
    return (
        f"{row_name(ADAPTIVE)}: the networks of our adaptive forecaster, without its terms from "
        "past power."
    )


def _selection_note(results: RunRecords) -> str:
    """How configurations were chosen, if not as in the paper."""
    if results.select == "fe":
        return ""
    note = "Configurations chosen by lowest live RMSE on the updating phase."
    untested = any(not trial.tested for trial in results.chosen_trials)
    return f"{note} {UNTESTED}" if untested else note


def _validation_note(results: RunRecords, component: ComponentName) -> str:
    parts = []
    for key in reversed(BASELINES):
        own = [each for each in results.baselines if each.baseline == key]
        mean = Spread.of(each.validation.get(component) for each in own).mean
        if mean is not None:
            paper = VALIDATION[component, key].mean
            parts.append(f"{row_name(key)} {mean:.3f} (paper {paper:.3f})")
    return f"Error on validation data: {', '.join(parts)}." if parts else ""
