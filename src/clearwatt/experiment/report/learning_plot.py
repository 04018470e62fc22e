"""The picture of what learning changed: live error over time, frozen and learning."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from clearwatt.experiment.records import BaselineRecord, TrialRecord
from clearwatt.experiment.report.learning import compared_row
from clearwatt.experiment.report.palette import colour
from clearwatt.experiment.report.tables import row_name
from clearwatt.experiment.results import RunRecords
from clearwatt.report.plots import Figure, Panel, plotly_time

WEEK = 7
"""Days of a moving mean; single days show the weather, not the models."""
FROZEN = "never updated (Baseline_L)"


def learning_panels(results: RunRecords) -> list[Panel]:
    """Error of each week, mean over entities; empty if there is nothing to compare."""
    row = compared_row(results)
    frozen = [each for each in results.baselines if each.baseline == "L"]
    if row is None:
        return []
    lines = [
        _line(FROZEN, colour("L"), _weekly_error(results, frozen)),
        _line(
            f"learning ({row_name(row)})",
            colour(row),
            _weekly_error(results, results.trials_of(row)),
        ),
    ]
    if not all(line["y"] for line in lines):
        return []
    layout = {
        "height": 300,
        "showlegend": True,
        "legend": {"orientation": "h", "y": -0.15},
        "xaxis": {"type": "date"},
        "yaxis": {"title": {"text": "live RMSE"}, "rangemode": "tozero"},
    }
    return [
        Panel(
            f"What learning bought: live error over {WEEK} days, mean of all "
            "entities, as a share of capacity",
            {"data": lines, "layout": layout},
        )
    ]


def _weekly_error(
    results: RunRecords, records: Sequence[TrialRecord | BaselineRecord]
) -> pd.Series[float]:
    """Root of the mean square over entities and the last seven days, by day."""
    squares = [
        pd.Series(
            np.square(np.array(each.daily, dtype=float)),
            index=pd.date_range(
                results.updating_span(each.entity)[0], periods=len(each.daily), freq="D"
            ),
        )
        for each in records
        if each.daily
    ]
    if not squares:
        return pd.Series(dtype=float)
    means = pd.concat(squares, axis=1).mean(axis=1)
    return means.rolling(WEEK, min_periods=1).mean().dropna().pow(0.5)


def _line(name: str, shade: str, values: pd.Series[float]) -> Figure:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [plotly_time(time) for time in pd.DatetimeIndex(values.index)],
        "y": [round(float(value), 5) for value in values],
        "line": {"color": shade, "width": 2},
        "hovertemplate": "%{x|%Y-%m-%d}: %{y:.4f}",
    }
