"""When and in which weather forecasts were wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from clearwatt.arrays import BoolArray, Float64Array
from clearwatt.data.inputs import is_neighbour
from clearwatt.service.times import Times

PERIODS = (
    ("at night", 0, 6),
    ("in the morning", 6, 12),
    ("in the afternoon", 12, 18),
    ("in the evening", 18, 24),
)
"""Words and hours of local time."""
WORSE = 1.2
"""Ratio of the errors inside and outside from which on a circumstance is worth a sentence."""
FEWEST = 8
"""Samples that a circumstance needs inside and outside."""
ONE_SIDED = 0.3
"""Share of the mean error that the bias must have to be called too high or too low."""


class Circumstance(NamedTuple):
    """Where errors were largest, in words, with mean absolute errors inside and elsewhere."""

    words: str
    inside: float
    elsewhere: float

    @property
    def ratio(self) -> float:
        """How many times the error elsewhere."""
        return self.inside / self.elsewhere if self.elsewhere else np.inf


def bias_words(errors: Float64Array) -> str:
    """Whether forecasts were too high or too low, from errors (n): forecast less measured."""
    bias, size = float(errors.mean()), float(np.abs(errors).mean())
    if abs(bias) < ONE_SIDED * size:
        return "sometimes too high, sometimes too low"
    return "mostly too high" if bias > 0 else "mostly too low"


def worst_hours(times: Times, errors: Float64Array, timezone: str) -> Circumstance | None:
    """The part of the local day with the largest errors (n), if it stands out."""
    clock = pd.to_datetime(times, unit="s", utc=True).tz_convert(ZoneInfo(timezone))
    hours = clock.hour.to_numpy()
    return _worst(
        errors,
        (
            (f"{words} ({first} to {last} h)", (hours >= first) & (hours < last))
            for words, first, last in PERIODS
        ),
    )


def worst_weather(
    weather: Float64Array, variables: Sequence[str], errors: Float64Array
) -> Circumstance | None:
    """The third of one weather variable (n x variables) with the largest errors (n)."""
    return _worst(errors, _thirds(weather, variables))


def _thirds(weather: Float64Array, variables: Sequence[str]) -> Iterator[tuple[str, BoolArray]]:
    for column, name in enumerate(variables):
        values = weather[:, column]
        if is_neighbour(name) or not np.isfinite(values).all() or np.ptp(values) == 0:
            continue
        low, high = np.quantile(values, [1 / 3, 2 / 3])
        what = name.replace("_", " ")
        yield f"when {what} was above {high:.3g}", np.asarray(values > high, np.bool_)
        yield f"when {what} was below {low:.3g}", np.asarray(values < low, np.bool_)


def _worst(errors: Float64Array, groups: Iterator[tuple[str, BoolArray]]) -> Circumstance | None:
    sizes = np.abs(errors)
    found = [
        Circumstance(words, float(sizes[inside].mean()), float(sizes[~inside].mean()))
        for words, inside in groups
        if min(inside.sum(), (~inside).sum()) >= FEWEST
    ]
    worst = max(found, key=lambda each: each.ratio, default=None)
    return worst if worst is not None and worst.ratio >= WORSE else None
