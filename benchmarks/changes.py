"""Days until forecasts have recovered from a change that is injected into real series.

    python benchmarks/changes.py gefcom2012-wind --entities wp1 --json
    python benchmarks/changes.py europe_wind_farm --entities wf1 wf3
    python benchmarks/changes.py gefcom2012-load --entities zone1 --quick

A change begins in the middle of the updating phase; the test phase is never read. Measurements
arrive a day late. An error is compared with that of the same model on the unchanged series on the
same days, times the factor of the change. "days" is the first day after the change from which on
the RMSE of a week is within 10 % of it (">N": not within N days), "ratio" that of all these days.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from clearwatt.adaptive import AdaptiveForecaster, AdaptiveSettings
from clearwatt.benchmark.peers.lightgbm import predict_power, train_booster
from clearwatt.data import load_dataset
from clearwatt.data.neighbours import with_neighbours
from clearwatt.experiment.protocol import ZonePhases, divide

WEEK = 7
WITHIN = 1.1
WINDOW = 3_000
DAYS, QUICK_DAYS = 56, 28
"""Days after a change that are looked at."""


class Series(NamedTuple):
    """One entity: inputs, power and steps, and where the change begins."""

    x: np.ndarray
    y: np.ndarray
    at: np.ndarray
    columns: Sequence[str]
    known: int
    """Rows of the warm-up whose measurements have arrived when the first step is forecast."""
    change: int
    day: int
    weekend: np.ndarray


class Change(NamedTuple):
    """A change of power from a row on, and by what usual errors grow with it."""

    apply: Callable[[Series], np.ndarray]
    factor: float = 1.0


def multiply(factor: float) -> Change:
    return Change(lambda series: factor * series.y[series.change :], factor)


def mirror(series: Series) -> np.ndarray:
    """Power mirrored at the mean of its hour: the weather acts with the opposite sign."""
    before, hours = slice(series.change), series.at % series.day
    means = [np.nanmean(series.y[before][hours[before] == hour]) for hour in range(series.day)]
    mirrored: np.ndarray = 2 * np.array(means)[hours[series.change :]] - series.y[series.change :]
    return mirrored


def shift(series: Series) -> np.ndarray:
    """Power an hour later."""
    hour = max(1, series.day // 24)
    return series.y[series.change - hour : len(series.y) - hour]


def weekend(series: Series) -> np.ndarray:
    """Saturdays and Sundays with 60 % of their power."""
    changed: np.ndarray = np.where(series.weekend, 0.6, 1.0) * series.y
    return changed[series.change :]


CHANGES = {
    "level x 3": multiply(3.0),
    "level x 0.4": multiply(0.4),
    "sign of the weather": Change(mirror),
    "an hour later": Change(shift),
    "weekends x 0.6": Change(weekend),
}


def adaptive_errors(
    series: Series, changed: Sequence[np.ndarray], *, sought: bool
) -> list[np.ndarray]:
    """Errors of live forecasts after the change, for each changed power."""
    settings = AdaptiveSettings() if sought else replace(AdaptiveSettings(), changes=None)
    known, start = series.known, series.change
    forecaster = AdaptiveForecaster.fit(
        series.x[:known],
        series.y[:known, None],
        series.at[:known],
        day=series.day,
        columns=series.columns,
        settings=settings,
    )
    forecaster.observe(series.x[known:start], series.y[known:start, None], series.at[known:start])
    packed = forecaster.pack()
    found = []
    for y in changed:
        again = AdaptiveForecaster.unpack(packed)
        live = again.live(series.x[start:], y[:, None], series.at[start:])[-len(y) :, 0]
        found.append(live - y)
    return found


def lightgbm_errors(
    series: Series, changed: Sequence[np.ndarray], *, window: int | None
) -> list[np.ndarray]:
    """Errors of LightGBM, trained each week on all that is known or on the last samples."""
    found = []
    for after in changed:
        y = np.concatenate([series.y[: series.change], after])
        power = np.empty(len(after))
        week = WEEK * series.day
        for low in range(0, len(after), week):
            end = int(np.searchsorted(series.at, series.at[series.change + low] - series.day))
            rows = np.flatnonzero(np.isfinite(y[: end + 1]))[-(window or len(y)) :]
            model = train_booster(series.x[rows].astype(np.float32), y[rows], seed=0)
            part = slice(series.change + low, min(series.change + low + week, len(y)))
            power[low : low + week] = predict_power(model, series.x[part].astype(np.float32))
        found.append(power - after)
    return found


def recovery(errors: np.ndarray, usual: np.ndarray, day: int) -> tuple[str, float]:
    """Days until a week's error is within 10 % of the usual one, and the ratio of all errors."""
    days = len(errors) // day

    def rmse(values: np.ndarray, low: int, high: int) -> float:
        return float(np.sqrt(np.nanmean(np.square(values[low * day : high * day]))))

    ratio = rmse(errors, 0, days) / rmse(usual, 0, days)
    for start in range(days - WEEK + 1):
        if rmse(errors, start, start + WEEK) <= WITHIN * rmse(usual, start, start + WEEK):
            return str(start), ratio
    return f">{days - WEEK}", ratio


def series_of(zone: ZonePhases, place: int, *, day: int, days: int, first_weekday: int) -> Series:
    x, y, at = zone.warmup.concatenate(zone.updating)
    first = len(zone.warmup.at)
    change = (first + len(at)) // 2
    change += int(-at[change] % day)
    end = min(len(at), change + days * day)
    known = int(np.searchsorted(at, at[first] - day, side="right"))
    weekday = (first_weekday + (at - at[0]) // day) % WEEK
    return Series(
        x[:end].astype(np.float64),
        y[:end, place],
        at[:end],
        zone.columns,
        known,
        change,
        day,
        weekday[:end] >= 5,
    )


def compare(series: Series, names: Sequence[str]) -> dict[str, dict[str, tuple[str, float]]]:
    """Recovery by change and model."""
    powers = [series.y[series.change :], *(CHANGES[name].apply(series) for name in names)]
    models = {
        "adaptive": adaptive_errors(series, powers, sought=True),
        "adaptive, no changes sought": adaptive_errors(series, powers, sought=False),
        "LightGBM, all": lightgbm_errors(series, powers, window=None),
        "LightGBM, last 3,000": lightgbm_errors(series, powers, window=WINDOW),
    }
    return {
        name: {
            model: recovery(errors[place + 1], CHANGES[name].factor * errors[0], series.day)
            for model, errors in models.items()
        }
        for place, name in enumerate(names)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", help="name of the catalogue, or folder")
    parser.add_argument("--entities", nargs="+", help="names (default: the first)")
    parser.add_argument("--changes", nargs="+", choices=CHANGES, default=list(CHANGES))
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_DAYS} days instead of {DAYS}")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args()
    path = Path(options.data)
    dataset = load_dataset(path if path.is_dir() else options.data)
    day = round(24 * 3600 / dataset.step.total_seconds())
    days = QUICK_DAYS if options.quick else DAYS
    report = {}
    with threadpool_limits(1):
        for name in options.entities or list(dataset.names)[:1]:
            (zone,) = divide(with_neighbours(dataset), None, [name]).zones
            weekday = int(dataset.times[0].dayofweek)
            series = series_of(zone, 0, day=day, days=days, first_weekday=weekday)
            report[name] = compare(series, options.changes)
    if options.json:
        print(json.dumps(report, indent=1))
        return
    for name, found in report.items():
        table = Table("", *next(iter(found.values())), title=f"{name}: days (ratio of errors)")
        for change, models in found.items():
            table.add_row(change, *(f"{since} ({ratio:.2f})" for since, ratio in models.values()))
        Console(width=110).print(table)


if __name__ == "__main__":
    main()
