"""A small simulated grid by the hour, watched until its last days, and lies in these."""

from __future__ import annotations

import copy
from typing import NamedTuple

import numpy as np
import pandas as pd

from clearwatt.data import simulate_grid
from clearwatt.data.inputs import interpolate_weather
from clearwatt.data.suspicion import MeterWatch, Verdict

STEP, DAY = 3600, 24
BEGIN, DAYS = 50, 8
"""Day on which lies begin, at ten o'clock, and days until the end."""
KINDS = ("pv", "wind", "consumer", "residual")


class Grid(NamedTuple):
    """Names of the weather, times (n), inputs (n x d), power (n x e), a place of each kind."""

    columns: tuple[str, ...]
    times: np.ndarray
    x: np.ndarray
    power: np.ndarray
    places: dict[str, int]
    watch: MeterWatch
    """After the days before the lies."""

    @property
    def start(self) -> int:
        """First row of the lies."""
        return BEGIN * DAY + 10


def small_grid() -> Grid:
    """Thirteen meters, on which nothing is suspected before the lies."""
    simulated = simulate_grid(entities=24, steps=96 * (BEGIN + DAYS), seed=3, drifts=_no_drifts())
    chosen = simulated.entities[::2] + simulated.entities[1:2]
    power = simulated.power[[each.name for each in chosen]].resample("1h").mean()
    times = pd.DatetimeIndex(power.index)
    (weather,) = simulated.weather.values()
    values = interpolate_weather(weather, times)
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    x = ((values - low) / (high - low)).astype(np.float32)
    seconds = times.as_unit("s").asi8
    known = power.to_numpy(np.float32)
    kinds = [each.subtype if each.subtype in KINDS else each.kind.value for each in chosen]
    columns = tuple(map(str, weather.columns))
    watch = MeterWatch.start(columns, known.shape[1], step=STEP)
    cut = BEGIN * DAY
    assert watch.observe(seconds[:cut], x[:cut], known[:cut]) == []
    return Grid(columns, seconds, x, known, {kind: kinds.index(kind) for kind in KINDS}, watch)


def _no_drifts() -> dict[str, float]:
    names = ("capacity_added", "capacity_retired", "outage", "meter_rescaled", "behaviour")
    return dict.fromkeys(names, 0.0)


def lying(grid: Grid, kind: str, place: int) -> np.ndarray:
    """The readings of the last days, in which one meter lies in some way."""
    rng = np.random.default_rng(1)
    power = grid.power.copy()
    start = grid.start
    truth, past = power[start:, place].copy(), grid.power[:start, place]
    low, high = float(np.nanmin(past)), float(np.nanmax(past))
    power[start:, place] = {
        "sign": lambda: -truth,
        "thousand": lambda: 1000 * truth,
        "thousandth": lambda: truth / 1000,
        "hundredth": lambda: truth / 100,
        "shift": lambda: grid.power[start - 5 : -5, place],
        "replay": lambda: np.tile(past[-DAY:], DAYS)[: len(truth)],
        "mirror": lambda: high - truth,
        "frozen": lambda: (
            np.nanmean(past) + 0.02 * np.nanstd(past) * rng.standard_normal(len(truth))
        ),
        "random": lambda: rng.uniform(low, high, len(truth)),
        "clipped": lambda: np.minimum(truth, low + 0.4 * (high - low)),
        "ten": lambda: 10 * truth,
        "counter": lambda: np.abs(past).sum() + np.cumsum(truth),
        "daily counter": lambda: np.concatenate(
            [np.cumsum(day) / DAY for day in np.split(truth, np.arange(DAY - 10, len(truth), DAY))]
        ),
        "held": lambda: grid.power[np.arange(start, len(power)) // 3 * 3, place],
        "rounded": lambda: np.round(truth / (0.25 * high)) * 0.25 * high,
        "spikes": lambda: np.where(np.arange(len(truth)) % 10 == 9, 1.2 * high, truth),
        "zeros": lambda: np.where(np.arange(len(truth)) % 3 == 0, 0, truth),
    }[kind]()
    return power[BEGIN * DAY :]


def judge(grid: Grid, power: np.ndarray) -> list[Verdict]:
    """All verdicts on readings of the last days."""
    watch, cut = copy.deepcopy(grid.watch), BEGIN * DAY
    found = watch.observe(grid.times[cut:], grid.x[cut:], power)
    return found + watch.end_days_before(10**6)
