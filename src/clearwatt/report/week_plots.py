"""A winter and a summer week of an entity: its power beside the weather it depends on most."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from clearwatt.arrays import Float32Array
from clearwatt.data.dataset import Dataset
from clearwatt.data.schema import Entity, Kind
from clearwatt.report.formatting import format_day
from clearwatt.report.plots import (
    Figure,
    Panel,
    axis_title,
    packed_array,
    plotly_text,
    plotly_time,
)

_WEEK = pd.Timedelta(days=7)
# Days of the year to search around, and how far from them; late January avoids the holidays.
_WINTER, _SUMMER, _NEAR = 22, 196, 14
_UNITS = {
    "c": "°C",
    "k": "K",
    "ms": "m/s",
    "kmh": "km/h",
    "wm2": "W/m²",
    "pct": "%",
    "hpa": "hPa",
    "mm": "mm",
}
_SOLAR = re.compile(r"\bpv|photovolt|solar")


@dataclass(frozen=True, slots=True)
class Week:
    """One week to plot."""

    title: str
    start: pd.Timestamp
    end: pd.Timestamp


def select_weeks(dataset: Dataset) -> tuple[Week, ...]:
    """A winter and a summer week from Monday on; the whole span if that is shorter."""
    times = dataset.times
    end = times[-1] + dataset.step
    mondays = pd.date_range(times[0].ceil("D"), end - _WEEK, freq="W-MON")
    if len(mondays) < 2:
        title = f"{format_day(times[0])} to {format_day(times[-1])}"
        return (Week(title, times[0], min(end, times[0] + _WEEK)),)
    missing = dataset.power.isna().mean(axis=1)
    candidates = (_best_monday(mondays, missing, middle) for middle in (_WINTER, _SUMMER))
    starts = sorted(dict.fromkeys(candidates), key=lambda start: start.month in (6, 7, 8))
    return tuple(
        Week(f"{_season(start)} {format_day(start)}", start, start + _WEEK) for start in starts
    )


def _best_monday(mondays: pd.DatetimeIndex, missing: pd.Series[float], middle: int) -> pd.Timestamp:
    """The Monday of the week with fewest gaps among those nearest to a day of the year."""
    away = np.abs(mondays.dayofyear.to_numpy() - middle)
    away = np.minimum(away, 365 - away)
    near = mondays[away <= away.min() + _NEAR]
    gaps = [float(missing.loc[start : start + _WEEK].mean()) for start in near]
    return pd.Timestamp(near[int(np.argmin(gaps))])


def _season(start: pd.Timestamp) -> str:
    name = {1: "Winter", 2: "Winter", 12: "Winter", 6: "Summer", 7: "Summer", 8: "Summer"}
    return f"{name.get(start.month, start.month_name())}, week of"


def week_panels(dataset: Dataset, entity: Entity, unit: str) -> list[Panel]:
    """An entity's power and its main weather variable, one panel per week, on equal scales."""
    weeks = select_weeks(dataset)
    weather = dataset.weather[entity.zone]
    variable = main_weather(entity, [str(name) for name in weather.columns])
    power = dataset.power[entity.name]
    ranges = (
        _range(power.loc[week.start : week.end].to_numpy() for week in weeks),
        _range(weather.loc[week.start : week.end, variable].to_numpy() for week in weeks),
    )
    return [
        Panel(
            week.title, _week_figure(power, weather[variable], week=week, ranges=ranges, unit=unit)
        )
        for week in weeks
    ]


def _week_figure(
    power: pd.Series[float],
    weather: pd.Series[float],
    *,
    week: Week,
    ranges: tuple[list[float], list[float]],
    unit: str,
) -> Figure:
    inside = [series.loc[week.start : week.end] for series in (power, weather)]
    title = variable_title(str(weather.name))
    label, _, _ = title.partition(" [")
    return {
        "data": [
            _line(inside[1], name=label, colour="var(--weather)", axis="y2"),
            _line(inside[0], name="power", colour="var(--power)", axis="y"),
        ],
        "layout": {
            "height": 260,
            "xaxis": {"type": "date", "tickformat": "%a %d"},
            "yaxis": {"title": {"text": axis_title("power", unit)}, "range": ranges[0]},
            "yaxis2": {
                "title": {"text": plotly_text(title)},
                "range": ranges[1],
                "overlaying": "y",
                "tickmode": "auto",
                "nticks": 6,
                "side": "right",
                "showgrid": False,
            },
            "legend": {"orientation": "h", "y": 1.15, "x": 0},
        },
    }


def main_weather(entity: Entity, variables: Sequence[str]) -> str:
    """The variable that explains an entity best; the first where no rule matches."""
    for pattern in _patterns(entity):
        for variable in variables:
            if pattern in variable.lower().replace("_", ""):
                return variable
    return variables[0]


def _patterns(entity: Entity) -> tuple[str, ...]:
    """Parts of variable names, best first: sun, rain, temperature, or wind at hub height."""
    words = {entity.name.lower(), entity.subtype}
    if entity.kind is Kind.RESIDUAL or any(_SOLAR.search(word) for word in words):
        return ("ghi", "shortwave", "radiation", "temp")
    if entity.kind is Kind.CONSUMER:
        return ("temp",)
    if entity.subtype == "hydro":
        return ("precip", "temp")
    windy = not entity.subtype or "wind" in entity.subtype
    return ("windspeed100m", "windspeed", "wind", "temp") if windy else ("temp",)


def _line(series: pd.Series[float], *, name: str, colour: str, axis: str) -> Figure:
    step = series.index[1] - series.index[0] if len(series) > 1 else pd.Timedelta(hours=1)
    return {
        "type": "scatter",
        "mode": "lines",
        "x0": plotly_time(series.index[0]) if len(series) else None,
        "dx": step / pd.Timedelta(milliseconds=1),
        "y": packed_array(series.to_numpy(dtype=np.float32)),
        "name": plotly_text(name),
        "yaxis": axis,
        "line": {"color": colour, "width": 1.6},
        "hovertemplate": "%{x|%a %d %b %H:%M}<br>%{y:.4~g}",
    }


def _range(parts: Iterable[Float32Array]) -> list[float]:
    """Axis limits around the finite values, from zero unless they are clearly negative."""
    values = np.concatenate([np.asarray(part, dtype=np.float64) for part in parts])
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    low = min(low, 0.0) if low > -0.5 * high else low
    margin = 0.05 * (high - low) or 1.0
    return [low - (margin if low < 0 else 0), high + margin]


def variable_title(variable: str) -> str:
    """A column name in words: ``wind_speed_100m_ms`` is wind speed 100m [m/s]."""
    words = variable.split("_")
    unit = _UNITS.get(words[-1].lower()) if len(words) > 1 else None
    name = " ".join(words[:-1] if unit else words)
    return f"{name} [{unit}]" if unit else name
