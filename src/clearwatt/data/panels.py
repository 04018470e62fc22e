"""Pictures over the whole span: where readings are absent or bad, and what drifts when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.arrays import Float64Array
from clearwatt.data.describe import Description
from clearwatt.data.overview import day
from clearwatt.data.quality import Reason
from clearwatt.data.schema import Dataset, Drift
from clearwatt.data.traces import Figure, Panel, packed_array, stamp, text, titled

# Most values in the pictures over the whole span; beyond that days are averaged to weeks, months.
_MOST_VALUES = 200_000


def quality_panel(description: Description) -> Panel:
    """Draw how much is absent or flagged, entity by week: where to look before trusting it."""
    report = description.report
    blocks = _Blocks.of(report.times, len(report.entities), finest=7)
    reasons = [reason for reason in Reason if reason is not Reason.OK and report.count(reason)]
    views = [("anything", report.codes != Reason.OK)]
    views += [(reason.label, report.codes == reason) for reason in reasons]
    maps = [_heat(mask, blocks, shown=at == 0) for at, (_, mask) in enumerate(views)]
    layout = {
        "height": max(260, 120 + 12 * len(report.entities)),
        "xaxis": {"type": "date"},
        "yaxis": {
            "autorange": "reversed",
            "tickvals": list(range(len(report.entities))),
            "ticktext": [text(name) for name in report.entities],
            "tickfont": {"size": 9},
            "automargin": True,
            "showgrid": False,
        },
        "updatemenus": [_choice([label for label, _ in views])],
    }
    title = f"Share of readings that are absent or flagged, {blocks.adjective}"
    return Panel(title, {"data": maps, "layout": layout})


def _choice(labels: list[str]) -> Figure:
    """Offer one of several traces at a time."""
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


def _heat(mask: npt.NDArray[np.bool_], blocks: _Blocks, *, shown: bool) -> Figure:
    share = 100 * blocks.mean(mask.astype(np.float32), np.ones_like(mask))
    return {
        "type": "heatmap",
        "z": packed_array(share.T),
        **blocks.axis,
        # A cell is drawn around its place, a piece of the span begins there.
        "x0": stamp(blocks.start + pd.Timedelta(days=blocks.days / 2)),
        "zmin": 0,
        "zmax": 100,
        # A few readings of a week are a shade, a day of it is a warning.
        "colorscale": [
            [0, "var(--good)"],
            [0.05, "var(--some)"],
            [0.3, "var(--bad)"],
            [1, "var(--worst)"],
        ],
        "colorbar": {"title": {"text": "%"}, "thickness": 10},
        "hovertemplate": "%{y}<br>around %{x|%Y-%m-%d}<br>%{z:.1f} %<extra></extra>",
        "visible": shown,
    }


def drift_panel(description: Description) -> Panel:
    """Draw every known drift when it starts, a row for each kind of drift."""
    drifts = description.drifts
    bars = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [stamp(drift.start), stamp(drift.end)],
            "y": [_what(drift)] * 2,
            "line": {"color": "var(--weather)", "width": 6},
            "hoverinfo": "skip",
        }
        for drift in drifts
        if drift.end is not None
    ]
    marks = {
        "type": "scatter",
        "mode": "markers",
        "x": [stamp(drift.start) for drift in drifts],
        "y": [_what(drift) for drift in drifts],
        "text": [_told(drift) for drift in drifts],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"color": "var(--power)", "size": 9, "opacity": 0.7},
    }
    rows = len({drift.what for drift in drifts})
    layout = {
        "height": 90 + 30 * rows,
        "showlegend": False,
        "xaxis": {"type": "date", "range": [stamp(description.start), stamp(description.end)]},
        "yaxis": {
            "type": "category",
            "categoryarray": list(dict.fromkeys(map(_what, drifts))),
            "autorange": "reversed",
        },
    }
    return Panel("When each drift starts", {"data": [*bars, marks], "layout": layout})


def span_panels(dataset: Dataset, unit: str) -> Mapping[str, Figure]:
    """Draw each entity's mean power over the whole span with the drifts that strike it."""
    blocks = _Blocks.of(dataset.times, len(dataset.entities), finest=1)
    values = dataset.power.to_numpy()
    means = blocks.mean(values, np.isfinite(values))
    return {
        entity.name: _span_figure(
            blocks,
            means[:, at],
            drifts=[drift for drift in dataset.drifts if drift.entity in (None, entity.name)],
            unit=unit,
        )
        for at, entity in enumerate(dataset.entities)
    }


def _span_figure(blocks: _Blocks, means: Float64Array, *, drifts: list[Drift], unit: str) -> Figure:
    # What lasts from the first day to the last has no moment to mark.
    dated = [drift for drift in drifts if drift.start >= blocks.start + pd.Timedelta(days=1)]
    shapes: list[Figure] = []
    for drift in dated:
        shapes += drift_shapes(drift)
    line = {
        "type": "scatter",
        "mode": "lines",
        **blocks.axis,
        "y": packed_array(means),
        "line": {"color": "var(--power)", "width": 1.3},
        "hovertemplate": "%{x|%a %d %b %Y}<br>%{y:.4~g}<extra></extra>",
    }
    power = titled(f"{blocks.adjective} mean power", unit)
    layout = {
        "height": 380,
        "margin": {"t": 110 if dated else 30},
        "xaxis": {"type": "date"},
        "yaxis": {"title": {"text": power}, "rangemode": "tozero"},
        "shapes": shapes,
        "annotations": [drift_note(drift, level=at % 5) for at, drift in enumerate(dated)],
    }
    return {"data": [line], "layout": layout}


def drift_shapes(drift: Drift) -> list[Figure]:
    """Mark a drift on a time axis: a line where it starts, a band if it ends."""
    start = stamp(drift.start)
    common = {"yref": "paper", "y0": 0, "y1": 1, "line": {"color": "var(--mark)", "width": 1}}
    line: Figure = {**common, "type": "line", "x0": start, "x1": start}
    if drift.end is None:
        return [line]
    rest = {"fillcolor": "var(--mark)", "opacity": 0.12, "line": {"width": 0}}
    return [line, {**common, **rest, "type": "rect", "x0": start, "x1": stamp(drift.end)}]


def drift_note(drift: Drift, *, level: int) -> Figure:
    """Name a drift above the picture; drifts close together take levels in turn."""
    return {
        "x": stamp(drift.start),
        "y": 1.02 + 0.06 * level,
        "yref": "paper",
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
        "text": f"▾ {_what(drift)}",
        "hovertext": _told(drift),
        "font": {"size": 11, "color": "var(--mark)"},
    }


def _what(drift: Drift) -> str:
    return text(drift.what.replace("_", " "))


def _told(drift: Drift) -> str:
    whom = text(drift.entity or "whole grid")
    until = "" if drift.end is None else f" to {day(drift.end)}"
    about = text(drift.description)
    return f"<b>{_what(drift)}</b>, {whom}<br>{day(drift.start)}{until}<br>{about}"


_ADJECTIVES = {1: "daily", 7: "weekly", 30: "monthly", 90: "quarterly", 365: "yearly"}


@dataclass(frozen=True, eq=False)
class _Blocks:
    """The span cut into pieces of ``days``: the index at which each begins."""

    start: pd.Timestamp
    days: int
    first: npt.NDArray[np.intp]

    @classmethod
    def of(cls, times: pd.DatetimeIndex, rows: int, *, finest: int) -> _Blocks:
        """Cut into days, weeks or longer, so that ``rows`` of them stay a small picture."""
        since = times - times[0].floor("D")
        sizes = [days for days in _ADJECTIVES if days >= finest]
        blocks = [since // pd.Timedelta(days=days) for days in sizes]
        fits = [at for at, number in enumerate(blocks) if (number[-1] + 1) * rows <= _MOST_VALUES]
        at = fits[0] if fits else -1
        first = np.flatnonzero(np.diff(blocks[at].to_numpy(), prepend=-1))
        return cls(times[0].floor("D"), sizes[at], first)

    @property
    def adjective(self) -> str:
        """Say what one piece is."""
        return _ADJECTIVES[self.days]

    @property
    def axis(self) -> Figure:
        """Place the pieces on a time axis."""
        return {"x0": stamp(self.start), "dx": self.days * 86_400_000}

    def mean(self, values: npt.NDArray[np.float32], known: npt.NDArray[np.bool_]) -> Float64Array:
        """Average the known values of each piece, ``pieces x columns``; NaN without any."""
        counts = np.add.reduceat(known, self.first, axis=0, dtype=np.float64)
        sums = np.add.reduceat(np.where(known, values, 0), self.first, axis=0, dtype=np.float64)
        return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
