"""Inputs of forecasts by lead: weather runs, neighbours, and what was measured last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from clearwatt.arrays import Float32Array, Float64Array, Int64Array
from clearwatt.clock import HOURS_PER_DAY, Steps
from clearwatt.data.weather_runs import WeatherRuns

NEIGHBOURING_STEPS = (-3, -2, -1, 1, 2, 3)
MEANS = (6, 12)
"""Steps before and after that means of the weather reach."""
EARLIER_RUNS = 3
RECENT_STEPS = (1, 3, 6, 24)
"""Lengths of the means of the last measurements."""
USUAL = 5.0
"""Usual size of a weather variable."""


@dataclass(frozen=True)
class InputScales:
    """How finely each group of inputs is resolved; 0 leaves it out.

    Args:
        own: Weather at the place of the entity.
        neighbouring: Its change to the steps before and after.
        means: Its mean over the hours around, less its present value.
        others: Weather at the other places.
        earlier: Change since earlier runs, at the place of the entity.
        hour: Time of day.
        lead: Days of lead.
        recent: Last measurements less their mean, fading with the lead.
    """

    own: float = 0.5
    neighbouring: float = 0.15
    means: float = 0.15
    others: float = 0.1
    earlier: float = 0.1
    hour: float = 0.1
    lead: float = 0.3
    recent: float = 1.0


def lead_inputs(
    runs: WeatherRuns,
    rows: Int64Array,
    recent: Float64Array,
    place: int,
    scales: InputScales,
    *,
    fade: float,
) -> Float32Array:
    """Inputs of an entity for all steps of some runs, `n x h x d`.

    Args:
        runs: Weather with `z` places.
        rows: Which of the runs, `n`.
        recent: Last measurements at each of these issues, less the entity's mean, `n x m`.
        place: Place of the entity.
        scales: Of the groups of inputs.
        fade: Steps of lead until what was measured last counts 1/e.
    """
    now = runs.values[rows] / USUAL
    own, others = now[:, :, place], np.delete(now, place, axis=2)
    steps, lead = runs.steps(rows), np.arange(1, runs.length + 1)
    day = 2 * np.pi * steps / HOURS_PER_DAY
    fading = np.exp(-lead / fade)[None, :, None]
    parts = [
        scales.own * own,
        scales.others * others.reshape(*steps.shape, -1),
        scales.hour * np.stack([np.sin(day), np.cos(day)], axis=2),
        scales.lead * np.broadcast_to(lead[:, None] / HOURS_PER_DAY, (*steps.shape, 1)),
        scales.recent * recent[:, None] * fading,
    ]
    place_runs = WeatherRuns(runs.issued, runs.values[:, :, [place]])
    around = {
        by: place_runs.shifted(rows, by)[:, :, 0] / USUAL - own
        for by in range(-max(MEANS), max(MEANS) + 1)
    }
    parts += [scales.neighbouring * np.nan_to_num(around[by]) for by in NEIGHBOURING_STEPS]
    parts += [scales.means * _mean_change(around, reach) for reach in MEANS]
    before = np.zeros_like(own)
    for back in range(1, EARLIER_RUNS + 1):
        # Where an earlier run does not reach, the next newer one stands for it.
        earlier = place_runs.earlier(rows, back)[:, :, 0] / USUAL
        before = np.where(np.isnan(earlier), before, earlier - own)
        parts.append(scales.earlier * before)
    return np.concatenate(parts, axis=2).astype(np.float32)


def recent_means(measured: Float64Array, issued: Steps) -> Float64Array:
    """Means of the last measurements at some steps, `n x m x e`; NaN where there is none.

    Args:
        measured: Power of all steps from 0 on, `steps x e`; NaN where there is none.
        issued: Steps, `n`.
    """
    first = max(0, int(issued.min()) - max(RECENT_STEPS) + 1)
    table = pd.DataFrame(measured[first:])
    means = [table.rolling(length, min_periods=1).mean() for length in RECENT_STEPS]
    return np.stack([mean.to_numpy(np.float64)[issued - first] for mean in means], axis=1)


def _mean_change(around: Mapping[int, Float64Array], reach: int) -> Float64Array:
    """Mean of the differences up to so many steps away; missing ones do not count."""
    sums, counts = np.zeros_like(around[0]), np.zeros(around[0].shape)
    for by in range(-reach, reach + 1):
        there = np.isfinite(around[by])
        sums[there] += around[by][there]
        counts += there
    return sums / np.maximum(counts, 1)
