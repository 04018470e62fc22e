"""Registers of meters: running totals of energy instead of energy per interval."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd

from clearwatt.data.data_faults import DataFault
from clearwatt.imports.log import ImportLog
from clearwatt.imports.recipe import Recipe

_LEAST_SPAN = pd.Timedelta(days=1)
_FALLS = 0.005  # share of steps in which a register may fall, as after an exchange


def interval_readings(
    readings: Mapping[str, pd.Series],
    energy: Collection[str],
    *,
    step: pd.Timedelta,
    recipe: Recipe,
    log: ImportLog,
) -> dict[str, pd.Series]:
    """Readings per interval; values that look like a running total are asked about.

    Args:
        readings: of each entity, by instant; energy is divided by the step already.
        energy: the entities whose values are in a unit of energy.
        step: from one reading to the next.
        recipe: may say what the values are.
        log: of the import.
    """
    totals = [name for name in energy if _is_running_total(readings[name])]
    if totals and recipe.values is None:
        choices = {
            "register": "they are totals of a meter; their differences are used",
            "interval": "they are the energy of each interval",
        }
        log.ask("values", f"the values of {totals[0]} only ever grow", choices)
    if recipe.values != "register":
        return dict(readings)
    return {
        name: _differences(each, step, log) if name in energy else each
        for name, each in readings.items()
    }


def _is_running_total(readings: pd.Series) -> bool:
    """Whether values grow over a day or more, by far more than in one step."""
    if len(readings) < 24 or readings.index[-1] - readings.index[0] < _LEAST_SPAN:
        return False
    rises = np.diff(readings.to_numpy(dtype=np.float64))
    growth = float(readings.iloc[-1] - readings.iloc[0])
    return bool((rises < 0).mean() <= _FALLS and growth > 5 * np.median(np.abs(rises)) > 0)


def _differences(readings: pd.Series, step: pd.Timedelta, log: ImportLog) -> pd.Series:
    """What each interval adds to the total, at its start; none over a gap or a fall."""
    rises = readings.diff().shift(-1)
    times = pd.DatetimeIndex(readings.index)
    follows = np.append(np.diff(times.asi8) == step.value, False)
    falls = follows & (rises < 0).to_numpy()
    if falls.any():
        wrong = "the register falls, as after an exchange of the meter; no reading there"
        first = times[int(np.argmax(falls))].isoformat()
        fault = DataFault(
            "all files", wrong, str(readings.name), value=first, count=int(falls.sum()),
            repaired=True,
        )  # fmt: skip
        log.report(fault)
    return rises[follows & ~falls]
