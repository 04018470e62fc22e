"""A small competition whose power follows the wind, with errors that last for hours."""

import numpy as np
import pandas as pd
import pytest

from clearwatt.data.catalogue import CATALOGUE, cache_folder
from clearwatt.data.weather_runs import WeatherRuns
from clearwatt.data.wind_competition import BLOCK, NAME, WindCompetition

BETWEEN = 84
"""Hours from one block to the next."""


def wind_task(*, days: int = 80, blocks: int = 4, farms: int = 2, seed: int = 0) -> WindCompetition:
    """Return a task with ``blocks`` blocks after ``days`` days."""
    rng = np.random.default_rng(seed)
    first = 24 * days
    hours = first + blocks * BETWEEN + BLOCK
    wind = 6 + 4 * persistent(rng, hours + BLOCK, farms, memory=0.97)
    errors = 0.15 * persistent(rng, hours, farms, memory=0.95)
    power = np.clip(wind[:hours] / 12 + errors, 0, 1)
    issues = first + BETWEEN * np.arange(blocks)
    measured = power.copy()
    for issue in issues:
        measured[issue + 1 : issue + 1 + BLOCK] = np.nan
    solution = np.stack([power[issue + 1 : issue + 1 + BLOCK] for issue in issues])
    benchmark = np.stack([np.repeat(power[[issue]], BLOCK, axis=0) for issue in issues])
    return WindCompetition(
        names=tuple(f"wp{farm}" for farm in range(farms)),
        start=pd.Timestamp("2009-07-01", tz="UTC"),
        measured=measured,
        runs=weather_runs(wind, hours, rng),
        issues=issues,
        solution=solution,
        benchmark=benchmark,
    )


def weather_runs(wind: np.ndarray, hours: int, rng: np.random.Generator) -> WeatherRuns:
    """Return runs every 12 hours whose errors grow with the lead."""
    issued = np.arange(0, hours, 12)
    lead = np.arange(1, BLOCK + 1)
    speed = wind[issued[:, None] + lead]
    speed = speed + 0.02 * lead[:, None] * rng.standard_normal(speed.shape)
    return WeatherRuns(issued, np.stack([speed, -speed, speed], axis=3))


def persistent(rng: np.random.Generator, length: int, width: int, *, memory: float) -> np.ndarray:
    """Return noise of deviation 1 that fades from step to step."""
    values = np.zeros((length, width))
    for step in range(1, length):
        shock = rng.standard_normal(width) * np.sqrt(1 - memory**2)
        values[step] = memory * values[step - 1] + shock
    return values


def skip_without_wheel() -> None:
    """Skip a test of the real competition where its files are not in the cache."""
    wheel = cache_folder() / "downloads" / CATALOGUE[NAME].wheel.file
    if not wheel.is_file():
        pytest.skip(f"{wheel} is not there; 'clearwatt data get {NAME}' downloads it")
