"""Figures over the whole span of a data set: power per entity, and absent or flagged readings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.arrays import BoolArray, Float32Array, Float64Array
from clearwatt.data.dataset import Dataset
from clearwatt.data.describe import Description
from clearwatt.data.quality import Reason
from clearwatt.data.schema import Drift
from clearwatt.report.drift_plots import drift_marks
from clearwatt.report.plots import (
    DAY_MILLISECONDS,
    Figure,
    Panel,
    axis_title,
    packed_array,
    plotly_text,
    plotly_time,
)

# Upper limit of the values in one figure; beyond it, days are averaged to weeks, months or more.
_MOST_VALUES = 200_000
_PERIODS = {1: "daily", 7: "weekly", 30: "monthly", 90: "quarterly", 365: "yearly"}


def quality_panel(description: Description) -> Panel:
    """A heat map of the share of absent or flagged readings, entity by week."""
    report = description.report
    periods = _Periods.of(report.times, len(report.entities), finest=7)
    reasons = [reason for reason in Reason if reason is not Reason.OK and report.count(reason)]
    masks = {"anything": report.codes != Reason.OK}
    masks |= {reason.label: report.codes == reason for reason in reasons}
    maps = [_heat_map(mask, periods, visible=at == 0) for at, mask in enumerate(masks.values())]
    layout = {
        "height": max(260, 120 + 12 * len(report.entities)),
        "xaxis": {"type": "date"},
        "yaxis": {
            "autorange": "reversed",
            "tickvals": list(range(len(report.entities))),
            "ticktext": [plotly_text(name) for name in report.entities],
            "tickfont": {"size": 9},
            "automargin": True,
            "showgrid": False,
        },
        "updatemenus": [_trace_menu(list(masks))],
    }
    title = f"Share of readings that are absent or flagged, {periods.adjective}"
    return Panel(title, {"data": maps, "layout": layout})


def _trace_menu(labels: list[str]) -> Figure:
    """A menu that shows one of several traces at a time."""
    buttons = [
        {
            "label": label,
            "method": "restyle",
            "args": [{"visible": [other == at for other in range(len(labels))]}],
        }
        for at, label in enumerate(labels)
    ]
    place = {"x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "pad": {"b": 8}}
    return {"buttons": buttons, **place}


def _heat_map(mask: BoolArray, periods: _Periods, *, visible: bool) -> Figure:
    share = 100 * periods.mean(mask.astype(np.float32), np.ones_like(mask))
    return {
        "type": "heatmap",
        "z": packed_array(share.T),
        **periods.axis,
        # Plotly centres a cell on its time; a period begins there.
        "x0": plotly_time(periods.start + pd.Timedelta(days=periods.days / 2)),
        "zmin": 0,
        "zmax": 100,
        # A few readings of a week are a light shade, a day of it is a warning colour.
        "colorscale": [
            [0, "var(--good)"],
            [0.05, "var(--some)"],
            [0.3, "var(--bad)"],
            [1, "var(--worst)"],
        ],
        "colorbar": {"title": {"text": "%"}, "thickness": 10},
        "hovertemplate": "%{y}<br>around %{x|%Y-%m-%d}<br>%{z:.1f} %<extra></extra>",
        "visible": visible,
    }


def span_figures(dataset: Dataset, unit: str) -> Mapping[str, Figure]:
    """Each entity's mean power over the whole span, with the drifts that affect it."""
    periods = _Periods.of(dataset.times, len(dataset.entities), finest=1)
    values = dataset.power.to_numpy()
    means = periods.mean(values, np.isfinite(values))
    return {
        entity.name: _span_figure(
            periods,
            means[:, at],
            drifts=[drift for drift in dataset.drifts if drift.entity in (None, entity.name)],
            unit=unit,
        )
        for at, entity in enumerate(dataset.entities)
    }


def _span_figure(
    periods: _Periods, means: Float64Array, *, drifts: list[Drift], unit: str
) -> Figure:
    # A drift that lasts from the first day has no start to mark.
    later = [drift for drift in drifts if drift.start >= periods.start + pd.Timedelta(days=1)]
    line = {
        "type": "scatter",
        "mode": "lines",
        **periods.axis,
        "y": packed_array(means),
        "line": {"color": "var(--power)", "width": 1.3},
        "hovertemplate": "%{x|%a %d %b %Y}<br>%{y:.4~g}<extra></extra>",
    }
    title = axis_title(f"{periods.adjective} mean power", unit)
    layout = {
        "height": 380,
        "xaxis": {"type": "date"},
        "yaxis": {"title": {"text": title}, "rangemode": "tozero"},
        **drift_marks(later),
    }
    return {"data": [line], "layout": layout}


@dataclass(frozen=True, eq=False)
class _Periods:
    """The span divided into periods of ``days``; ``first`` is the index at which each begins."""

    start: pd.Timestamp
    days: int
    first: npt.NDArray[np.intp]

    @classmethod
    def of(cls, times: pd.DatetimeIndex, rows: int, *, finest: int) -> _Periods:
        """The shortest periods of at least ``finest`` days whose figure stays small."""
        elapsed = times - times[0].floor("D")
        lengths = [days for days in _PERIODS if days >= finest]
        numbers = [elapsed // pd.Timedelta(days=days) for days in lengths]
        fits = [at for at, number in enumerate(numbers) if (number[-1] + 1) * rows <= _MOST_VALUES]
        at = fits[0] if fits else -1
        first = np.flatnonzero(np.diff(numbers[at].to_numpy(), prepend=-1))
        return cls(times[0].floor("D"), lengths[at], first)

    @property
    def adjective(self) -> str:
        """The adjective for one period, such as weekly."""
        return _PERIODS[self.days]

    @property
    def axis(self) -> Figure:
        """The periods as positions on a time axis."""
        return {"x0": plotly_time(self.start), "dx": self.days * DAY_MILLISECONDS}

    def mean(self, values: Float32Array, present: BoolArray) -> Float64Array:
        """The mean of the present values, ``periods x columns``; NaN where there are none."""
        counts = np.add.reduceat(present, self.first, axis=0, dtype=np.float64)
        sums = np.add.reduceat(np.where(present, values, 0), self.first, axis=0, dtype=np.float64)
        return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
