"""Drifts on a time axis: marks in a figure, and a chart of when each drift starts."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from clearwatt.data.schema import Drift
from clearwatt.report.formatting import format_day
from clearwatt.report.plots import Figure, Panel, plotly_text, plotly_time

# Drifts may start close together; their labels take turns on this many lines.
_LABEL_LEVELS = 5


def drift_panel(drifts: Sequence[Drift], *, start: pd.Timestamp, end: pd.Timestamp) -> Panel:
    """A chart of when each drift starts, one row per kind of drift."""
    bars = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [plotly_time(drift.start), plotly_time(drift.end)],
            "y": [_label(drift)] * 2,
            "line": {"color": "var(--weather)", "width": 6},
            "hoverinfo": "skip",
        }
        for drift in drifts
        if drift.end is not None
    ]
    marks = {
        "type": "scatter",
        "mode": "markers",
        "x": [plotly_time(drift.start) for drift in drifts],
        "y": [_label(drift) for drift in drifts],
        "text": [_hover_text(drift) for drift in drifts],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"color": "var(--power)", "size": 9, "opacity": 0.7},
    }
    rows = len({drift.what for drift in drifts})
    layout = {
        "height": 90 + 30 * rows,
        "showlegend": False,
        "xaxis": {"type": "date", "range": [plotly_time(start), plotly_time(end)]},
        "yaxis": {
            "type": "category",
            "categoryarray": list(dict.fromkeys(map(_label, drifts))),
            "autorange": "reversed",
        },
    }
    return Panel("When each drift starts", {"data": [*bars, marks], "layout": layout})


def drift_marks(drifts: Sequence[Drift]) -> Figure:
    """Layout entries that mark drifts on a time axis: lines, bands, labels and their margin."""
    return {
        "margin": {"t": 110 if drifts else 30},
        "shapes": [shape for drift in drifts for shape in _shapes(drift)],
        "annotations": [
            _annotation(drift, level=at % _LABEL_LEVELS) for at, drift in enumerate(drifts)
        ],
    }


def _shapes(drift: Drift) -> list[Figure]:
    """A line where the drift starts, and a band up to its end if it has one."""
    start = plotly_time(drift.start)
    common = {"yref": "paper", "y0": 0, "y1": 1, "line": {"color": "var(--mark)", "width": 1}}
    line: Figure = {**common, "type": "line", "x0": start, "x1": start}
    if drift.end is None:
        return [line]
    band = {"fillcolor": "var(--mark)", "opacity": 0.12, "line": {"width": 0}}
    return [line, {**common, **band, "type": "rect", "x0": start, "x1": plotly_time(drift.end)}]


def _annotation(drift: Drift, *, level: int) -> Figure:
    """The drift's label above the figure, on one of several lines."""
    return {
        "x": plotly_time(drift.start),
        "y": 1.02 + 0.06 * level,
        "yref": "paper",
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
        "text": f"▾ {_label(drift)}",
        "hovertext": _hover_text(drift),
        "font": {"size": 11, "color": "var(--mark)"},
    }


def _label(drift: Drift) -> str:
    return plotly_text(drift.what.replace("_", " "))


def _hover_text(drift: Drift) -> str:
    entity = plotly_text(drift.entity or "whole grid")
    until = "" if drift.end is None else f" to {format_day(drift.end)}"
    description = plotly_text(drift.description)
    return f"<b>{_label(drift)}</b>, {entity}<br>{format_day(drift.start)}{until}<br>{description}"
