"""Plots of one entity over time: its error, updates and drifts; thresholds and buffers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pandas as pd

from clearwatt.data.schema import Drift
from clearwatt.experiment.records import TrialRecord, UpdateRecord
from clearwatt.experiment.report.palette import colour
from clearwatt.experiment.report.tables import COMPONENTS, row_name
from clearwatt.experiment.results import RunRecords
from clearwatt.report.drift_plots import drift_marks
from clearwatt.report.plots import DAY_MILLISECONDS, Figure, packed_array, plotly_time

_SYMBOLS = {"autoencoder": "circle-open", "predictor": "circle"}


def error_figure(results: RunRecords, entity: str) -> Figure:
    """The daily live error above the times of each instance's updates."""
    trials = results.trials_for(entity)
    drifts = _drifts_while_updating(results, entity)
    frozen = [each for each in results.baselines if each.baseline == "L" and each.entity == entity]
    start, _ = results.updating_span(entity)
    lines = [_error_line(each.baseline, each.daily, start) for each in frozen if each.daily]
    lines += [_error_line(each.instance, each.daily, start) for each in trials if each.daily]
    marks = [_marks(trial, component) for trial in trials for component in COMPONENTS]
    layout = {
        "height": 400 + 24 * len(trials),
        "legend": {"orientation": "h", "y": -0.1},
        "xaxis": {"type": "date", "range": _updating_range(results, entity), "anchor": "y2"},
        "yaxis": {
            "title": {"text": "daily live RMSE"},
            "domain": [0.36, 1],
            "rangemode": "tozero",
        },
        "yaxis2": {
            "type": "category",
            "categoryarray": [row_name(trial.instance) for trial in trials],
            "autorange": "reversed",
            "dtick": 1,
            "domain": [0, 0.31],
        },
        **drift_marks(drifts),
    }
    return {"data": [*lines, *marks], "layout": layout}


def state_figure(results: RunRecords, entity: str) -> Figure:
    """The thresholds, and the content of the buffers between updates."""
    trials = results.trials_for(entity)
    rows = list(product(("threshold", "novel", "familiar"), reversed(COMPONENTS)))
    data = [
        _state_line(results, trial, component=component, quantity=quantity, row=at)
        for at, (quantity, component) in enumerate(rows)
        for trial in trials
        if component in trial.thresholds
    ]
    titles = [f"{what}<br>{component}" for what, component in rows]
    layout: Figure = {
        "height": 130 * len(titles) + 60,
        "margin": {"l": 80},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        "xaxis": {
            "type": "date",
            "range": _updating_range(results, entity),
            "anchor": _axis(len(titles) - 1),
        },
    }
    for row, title in enumerate(titles):
        top = 1 - row / len(titles)
        layout[f"yaxis{row + 1 if row else ''}"] = {
            "title": {"text": title, "font": {"size": 11}},
            "domain": [top - 0.85 / len(titles), top],
            "rangemode": "tozero",
        }
    return {"data": data, "layout": layout}


def _error_line(row: str, daily: Sequence[float | None], start: pd.Timestamp) -> Figure:
    values = np.array([np.nan if each is None else each for each in daily])
    return {
        "type": "scatter",
        "mode": "lines",
        "name": row_name(row),
        "legendgroup": row,
        "x0": plotly_time(start),
        "dx": DAY_MILLISECONDS,
        "y": packed_array(values),
        "line": {"color": colour(row), "width": 1.3},
        "hovertemplate": "%{x|%Y-%m-%d}: %{y:.4f}",
    }


def _marks(trial: TrialRecord, component: str) -> Figure:
    updates = [update for update in trial.updates if update.component == component]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": row_name(trial.instance),
        "legendgroup": trial.instance,
        "showlegend": not trial.daily and component == "predictor",
        "x": [plotly_time(update.time) for update in updates],
        "y": [row_name(trial.instance)] * len(updates),
        "yaxis": "y2",
        "text": [_hover_text(update) for update in updates],
        "marker": {
            "color": colour(trial.instance),
            "size": 11 if component == "autoencoder" else 7,
            "symbol": [_SYMBOLS[component] if update.accepted else "x" for update in updates],
        },
        "hovertemplate": "%{text}<extra></extra>",
    }


def _hover_text(update: UpdateRecord) -> str:
    what = "updated" if update.accepted else "not updated, its training diverged,"
    return (
        f"{update.component} {what} after {update.step:,} samples<br>{update.novel:,} novel, "
        f"{update.familiar:,} familiar<br>threshold {update.threshold_before:.4f} to "
        f"{update.threshold_after:.4f}"
    )


def _state_line(
    results: RunRecords, trial: TrialRecord, *, component: str, quantity: str, row: int
) -> Figure:
    updates = [update for update in trial.updates if update.component == component]
    start, end = results.updating_span(trial.entity)
    times = [start, *(update.time for update in updates)]
    if quantity == "threshold":
        last = trial.thresholds[component]
        values = [*(update.threshold_before for update in updates), last, last]
        times.append(end)
    else:
        times, values = _buffer_content(times, updates, quantity)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": row_name(trial.instance),
        "legendgroup": trial.instance,
        "showlegend": row == 0,
        "x": [plotly_time(time) for time in times],
        "y": [float(f"{value:.5g}") for value in values],
        "yaxis": _axis(row),
        "line": {
            "color": colour(trial.instance),
            "width": 1.3,
            "shape": "hv" if quantity == "threshold" else "linear",
        },
        "hovertemplate": "%{x|%Y-%m-%d}: %{y:.4~g}",
    }


def _buffer_content(
    times: Sequence[pd.Timestamp], updates: Sequence[UpdateRecord], quantity: str
) -> tuple[list[pd.Timestamp], list[float]]:
    """Times and content of a buffer, which grows until an update empties it."""
    counts = [update.novel if quantity == "novel" else update.familiar for update in updates]
    contents = [value for count in counts for value in (float(count), 0.0)]
    return [times[0], *(time for time in times[1:] for _ in range(2))], [0.0, *contents]


def _axis(row: int) -> str:
    return f"y{row + 1}" if row else "y"


def _updating_range(results: RunRecords, entity: str) -> list[str]:
    return [plotly_time(time) for time in results.updating_span(entity)]


def _drifts_while_updating(results: RunRecords, entity: str) -> list[Drift]:
    """The drifts of an entity that start in its updating phase."""
    first, last = results.updating_span(entity)
    return [
        drift
        for drift in results.drifts
        if drift.entity in (None, entity) and first <= drift.start < last
    ]
