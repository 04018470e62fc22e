"""Plots that compare instances: stability against plasticity, kinds of entities, cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from clearwatt.experiment.records import ComponentScore, TrialRecord
from clearwatt.experiment.report.palette import colour
from clearwatt.experiment.report.tables import BASELINES, COMPONENT_METRICS, Metric, Table, row_name
from clearwatt.experiment.results import RunRecords
from clearwatt.own_code import short_name
from clearwatt.report.plots import Figure, Panel, plotly_text
from clearwatt.strategies import ComponentName

_AXES = COMPONENT_METRICS[:3]

# Ratio of largest to smallest value above which an axis is logarithmic.
_WIDE = 25

# Means lie close together; labels take turns on different sides to stay readable.
_LABELS = (
    "top right",
    "bottom right",
    "top left",
    "bottom left",
    "top center",
    "bottom center",
    "middle right",
    "middle left",
)


def stability_panels(results: RunRecords, table: Table, component: ComponentName) -> list[Panel]:
    """FE, PE and FR in pairs: a dot per entity, a label at the mean of an instance."""
    return [
        Panel(
            f"{across.heading} against {up.heading}",
            _scatter_figure(results, table, component, across=across, up=up),
        )
        for across, up in combinations(_AXES, 2)
    ]


def _scatter_figure(
    results: RunRecords, table: Table, component: ComponentName, *, across: Metric, up: Metric
) -> Figure:
    dots = [
        _trial_points(results.trials_of(row), component, across, up) for row in results.instances
    ]
    means = [
        _mean(table, row, across=across, up=up)
        for row in table.rows
        if None not in (table.mean(row, across.key), table.mean(row, up.key))
    ]
    scores = [_score(trial, component) for trial in results.chosen_trials]
    layout = {
        "height": 320,
        "showlegend": False,
        "xaxis": {"title": {"text": across.heading}, **_scale(scores, across)},
        "yaxis": {"title": {"text": up.heading}, **_scale(scores, up)},
    }
    return {"data": [*dots, *means], "layout": layout}


def _scale(scores: Sequence[ComponentScore], metric: Metric) -> Figure:
    """A logarithmic axis where values span decades and none is zero, else a linear one."""
    values = [value for score in scores if (value := _value(score, metric)) is not None]
    wide = bool(values) and min(values) > 0 and max(values) / min(values) > _WIDE
    return {"type": "log"} if wide else {"type": "linear"}


def _trial_points(
    trials: Sequence[TrialRecord], component: ComponentName, across: Metric, up: Metric
) -> Figure:
    scores = [_score(trial, component) for trial in trials]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [_value(score, across) for score in scores],
        "y": [_value(score, up) for score in scores],
        "text": [plotly_text(trial.entity) for trial in trials],
        "marker": {"color": colour(trials[0].instance), "size": 5, "opacity": 0.4},
        "hovertemplate": f"{row_name(trials[0].instance)}, %{{text}}<br>{across.short} %{{x:.4f}}"
        f"<br>{up.short} %{{y:.4f}}<extra></extra>",
    }


def _mean(table: Table, row: str, *, across: Metric, up: Metric) -> Figure:
    square = row in BASELINES
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": [table.mean(row, across.key)],
        "y": [table.mean(row, up.key)],
        "text": [f"<b>{short_name(row)}</b>"],
        "textposition": _LABELS[list(table.rows).index(row) % len(_LABELS)],
        "textfont": {"color": colour(row), "size": 13},
        "cliponaxis": False,
        "marker": {
            "color": colour(row),
            "size": 12,
            "symbol": "square" if square else "circle",
            "line": {"color": "var(--card)", "width": 1.5},
        },
        "hovertemplate": f"{row_name(row)}, mean<br>{across.short} %{{x:.4f}}<br>{up.short} "
        "%{y:.4f}<extra></extra>",
    }


def _score(trial: TrialRecord, component: ComponentName) -> ComponentScore:
    return trial.autoencoder if component == "autoencoder" else trial.predictor


def _value(score: ComponentScore, metric: Metric) -> float | None:
    return {
        "fitting_error": score.fitting_error,
        "prediction_error": score.prediction_error,
        "forgetting_ratio": score.forgetting_ratio,
    }[metric.key]


def kind_panels(kinds: Mapping[str, Table]) -> list[Panel]:
    """The predictor's metrics by kind of entity, one bar per row of the table."""
    rows = dict.fromkeys(row for table in kinds.values() for row in table.rows)
    return [
        Panel(
            f"{metric.heading}, by kind of entity",
            {
                "data": [_kind_bars(kinds, row, metric) for row in rows],
                "layout": {
                    "height": 340,
                    "barmode": "group",
                    "xaxis": {"type": "category"},
                    "yaxis": {"rangemode": "tozero"},
                    "showlegend": True,
                    "legend": {"orientation": "h", "y": -0.12, "font": {"size": 11}},
                },
            },
        )
        for metric in COMPONENT_METRICS
    ]


def _kind_bars(kinds: Mapping[str, Table], row: str, metric: Metric) -> Figure:
    spreads = [table.rows.get(row, {}).get(metric.key) for table in kinds.values()]
    return {
        "type": "bar",
        "name": short_name(row),
        "x": [plotly_text(kind) for kind in kinds],
        "y": [spread.mean if spread else None for spread in spreads],
        **_error_bars([spread.deviation if spread else None for spread in spreads]),
        "marker": {"color": colour(row)},
        "showlegend": any(spread and spread.mean is not None for spread in spreads),
        "hovertemplate": f"{row_name(row)}, %{{x}}<br>{metric.short} %{{y:.4f}}<extra></extra>",
    }


def cost_panels(operation: Table) -> list[Panel]:
    """The cost of each instance: past data retained, seconds of training, live error."""
    keys = ("retained_megabytes", "update_seconds", "live_rmse")
    metrics = [metric for metric in operation.metrics if metric.key in keys]
    return [
        Panel(f"{metric.heading}, mean over entities", _bars(operation, metric))
        for metric in metrics
    ]


def _bars(table: Table, metric: Metric) -> Figure:
    rows = [row for row in table.rows if table.mean(row, metric.key) is not None]
    bars = {
        "type": "bar",
        "x": [short_name(row) for row in rows],
        "y": [table.mean(row, metric.key) for row in rows],
        "text": [row_name(row) for row in rows],
        "textposition": "none",
        **_error_bars([table.rows[row][metric.key].deviation for row in rows]),
        "marker": {"color": [colour(row) for row in rows]},
        "hovertemplate": "%{text}<br>%{y:.4~g}<extra></extra>",
    }
    layout = {
        "height": 280,
        "showlegend": False,
        "xaxis": {"type": "category"},
        "yaxis": {"rangemode": "tozero"},
    }
    return {"data": [bars], "layout": layout}


def _error_bars(deviations: Sequence[float | None]) -> Figure:
    """Error bars; none where a single entity has no standard deviation."""
    if not any(deviations):
        return {}
    look = {"color": "var(--soft)", "thickness": 1, "width": 2}
    return {"error_y": {"type": "data", "array": list(deviations), **look}}
