"""A week of winter and one of summer: an entity's power beside the weather it hangs on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.data.limits import subtype
from clearwatt.data.overview import day
from clearwatt.data.schema import Dataset, Entity, Kind
from clearwatt.data.traces import Figure, Panel, packed_array, stamp, text, titled

_WEEK = pd.Timedelta(days=7)
# Days of the year around which to look, and how far: late January is clear of the holidays.
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
    """One week to look at closely."""

    title: str
    start: pd.Timestamp
    end: pd.Timestamp


def weeks(dataset: Dataset) -> tuple[Week, ...]:
    """Choose a week of winter and one of summer, from Monday; the whole span if it is shorter."""
    times = dataset.times
    end = times[-1] + dataset.step
    mondays = pd.date_range(times[0].ceil("D"), end - _WEEK, freq="W-MON")
    if len(mondays) < 2:
        return (Week(f"{day(times[0])} to {day(times[-1])}", times[0], min(end, times[0] + _WEEK)),)
    missing = dataset.power.isna().mean(axis=1)
    found = (_best(mondays, missing, middle) for middle in (_WINTER, _SUMMER))
    starts = sorted(dict.fromkeys(found), key=lambda start: start.month in (6, 7, 8))
    return tuple(Week(f"{_season(start)} {day(start)}", start, start + _WEEK) for start in starts)


def _best(mondays: pd.DatetimeIndex, missing: pd.Series[float], middle: int) -> pd.Timestamp:
    """Take the week nearest to a day of the year, and of those near the one measured best."""
    away = np.abs(mondays.dayofyear.to_numpy() - middle)
    away = np.minimum(away, 365 - away)
    near = mondays[away <= away.min() + _NEAR]
    gaps = [float(missing.loc[start : start + _WEEK].mean()) for start in near]
    return pd.Timestamp(near[int(np.argmin(gaps))])


def _season(start: pd.Timestamp) -> str:
    name = {1: "Winter", 2: "Winter", 12: "Winter", 6: "Summer", 7: "Summer", 8: "Summer"}
    return f"{name.get(start.month, start.month_name())}, week of"


def week_panels(dataset: Dataset, entity: Entity, unit: str) -> list[Panel]:
    """Draw an entity's power and the weather it hangs on, a panel per week, on equal scales."""
    chosen = weeks(dataset)
    weather = dataset.weather[entity.zone]
    variable = key_weather(entity, [str(name) for name in weather.columns])
    power = dataset.power[entity.name]
    ranges = (
        _range(power.loc[week.start : week.end].to_numpy() for week in chosen),
        _range(weather.loc[week.start : week.end, variable].to_numpy() for week in chosen),
    )
    return [
        Panel(
            week.title, _week_figure(power, weather[variable], week=week, ranges=ranges, unit=unit)
        )
        for week in chosen
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
    label, _, _ = pretty(str(weather.name)).partition(" [")
    return {
        "data": [
            _line(inside[1], name=label, colour="var(--weather)", axis="y2"),
            _line(inside[0], name="power", colour="var(--power)", axis="y"),
        ],
        "layout": {
            "height": 260,
            "xaxis": {"type": "date", "tickformat": "%a %d"},
            "yaxis": {"title": {"text": titled("power", unit)}, "range": ranges[0]},
            "yaxis2": {
                "title": {"text": text(pretty(str(weather.name)))},
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


def key_weather(entity: Entity, variables: Sequence[str]) -> str:
    """Pick the variable that explains an entity best; the first where none is known to."""
    for wish in _wishes(entity):
        for variable in variables:
            if wish in variable.lower().replace("_", ""):
                return variable
    return variables[0]


def _wishes(entity: Entity) -> tuple[str, ...]:
    """Name what to look for, best first: sun, rain, temperature, or wind at hub height."""
    about = {entity.name.lower(), subtype(entity)}
    if entity.kind is Kind.RESIDUAL or any(_SOLAR.search(word) for word in about):
        return ("ghi", "shortwave", "radiation", "temp")
    if entity.kind is Kind.CONSUMER:
        return ("temp",)
    if subtype(entity) == "hydro":
        return ("precip", "temp")
    plain = not subtype(entity) or "wind" in subtype(entity)
    return ("windspeed100m", "windspeed", "wind", "temp") if plain else ("temp",)


def _line(series: pd.Series[float], *, name: str, colour: str, axis: str) -> Figure:
    step = series.index[1] - series.index[0] if len(series) > 1 else pd.Timedelta(hours=1)
    return {
        "type": "scatter",
        "mode": "lines",
        "x0": stamp(series.index[0]) if len(series) else None,
        "dx": step / pd.Timedelta(milliseconds=1),
        "y": packed_array(series.to_numpy(dtype=np.float32)),
        "name": text(name),
        "yaxis": axis,
        "line": {"color": colour, "width": 1.6},
        "hovertemplate": "%{x|%a %d %b %H:%M}<br>%{y:.4~g}",
    }


def _range(parts: Iterable[npt.NDArray[np.float32]]) -> list[float]:
    values = np.concatenate([np.asarray(part, dtype=np.float64) for part in parts])
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    low = min(low, 0.0) if low > -0.5 * high else low
    margin = 0.05 * (high - low) or 1.0
    return [low - (margin if low < 0 else 0), high + margin]


def pretty(variable: str) -> str:
    """Write a column name as a person would: ``wind_speed_100m_ms`` as wind speed 100m [m/s]."""
    words = variable.split("_")
    unit = _UNITS.get(words[-1].lower()) if len(words) > 1 else None
    name = " ".join(words[:-1] if unit else words)
    return f"{name} [{unit}]" if unit else name
