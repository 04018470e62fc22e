"""The clock of an import: its step, readings beside it, and its gaps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from clearwatt.arrays import BoolArray
from clearwatt.data.data_faults import DataFault
from clearwatt.imports.log import ImportLog
from clearwatt.imports.readings import usual_step

_SPARSE = 100  # times as many steps as readings: a wrong year, not gaps


def on_one_clock(
    readings: Mapping[str, pd.Series],
    *,
    step: pd.Timedelta,
    told: pd.Timedelta | None,
    place: str,
    log: ImportLog,
) -> pd.DataFrame:
    """One column per entity on a uniform clock; NaN for gaps.

    Args:
        readings: power of each entity by instant.
        step: most frequent step of the files.
        told: the step to average to, if it was told.
        place: files, for messages.
        log: of the import.
    """
    _report_other_steps(readings, told or step, place, log)
    if told is not None:
        if told < step:
            wrong = f"the readings come every {_text(step)}; --step can only be longer"
            log.report(DataFault(place, wrong))
        readings = {name: _to_step(each, step, told) for name, each in readings.items()}
        log.decide("step", f"{_text(told)}", "told; readings are averaged")
    else:
        log.decide("step", _text(step), "most frequent time between readings")
    length = told or step
    if not any(map(len, readings.values())):
        log.report(DataFault(place, "no readings at all; check the files"))
        return pd.DataFrame()
    off = {name: _off_clock(each, readings, length) for name, each in readings.items()}
    if any(len(each) for each in off.values()):
        _report_off_clock(off, length, place, log)
        readings = {name: each.drop(off[name]) for name, each in readings.items()}
    filled = {name: each for name, each in readings.items() if len(each)}
    for name in readings.keys() - filled.keys():
        log.report(DataFault(place, "no reading at all; left out", name, repaired=True))
    first = min(each.index[0] for each in filled.values())
    last = max(each.index[-1] for each in filled.values())
    if (last - first) / length > _SPARSE * max(len(each) for each in filled.values()):
        wrong = f"readings from {first:%Y-%m-%d} to {last:%Y-%m-%d}, hardly any; check the years"
        log.report(DataFault(place, wrong))
        return pd.DataFrame()
    times = pd.date_range(first, last, freq=length, name="time")
    power = pd.DataFrame({name: each.reindex(times) for name, each in filled.items()})
    _report_gaps(power, length, place, log)
    return power.astype(np.float32)


def _report_other_steps(
    readings: Mapping[str, pd.Series], step: pd.Timedelta, place: str, log: ImportLog
) -> None:
    """Report entities whose readings come less often than the others'."""
    for name, each in readings.items():
        own = usual_step(pd.DatetimeIndex(each.index).asi8)
        if own is not None and own > step:
            minutes = own / pd.Timedelta(minutes=1)
            wrong = (
                f"readings every {_text(own)}, where the step is {_text(step)}; give --step "
                f"{minutes:g} to average the others, or import it apart with --leave-out"
            )
            log.report(DataFault(place, wrong, name))


def _to_step(readings: pd.Series, step: pd.Timedelta, told: pd.Timedelta) -> pd.Series:
    """Averages over intervals of the step told; of the same step, readings move to the nearest."""
    times = pd.DatetimeIndex(readings.index)
    grid = times.round(told) if told == step else times.floor(told)
    return readings.groupby(grid).mean().rename_axis("time")


def _off_clock(
    readings: pd.Series, everything: Mapping[str, pd.Series], step: pd.Timedelta
) -> pd.DatetimeIndex:
    """The times of readings that are not on the clock of the first entity's usual time."""
    times = pd.DatetimeIndex(readings.index)
    first = pd.DatetimeIndex(next(each.index for each in everything.values() if len(each)))
    phases, counts = np.unique(first.asi8 % step.value, return_counts=True)
    off = times.asi8 % step.value != phases[np.argmax(counts)]
    return pd.DatetimeIndex(times[off])


def _report_off_clock(
    off: Mapping[str, pd.DatetimeIndex], step: pd.Timedelta, place: str, log: ImportLog
) -> None:
    name, times = next((name, times) for name, times in off.items() if len(times))
    wrong = (
        f"not on the clock with a step of {_text(step)}; give --step (minutes) to average or move "
        "the readings to a clock"
    )
    count = sum(map(len, off.values()))
    log.report(DataFault(place, wrong, name, value=times[0].isoformat(), count=count))


def _report_gaps(power: pd.DataFrame, step: pd.Timedelta, place: str, log: ImportLog) -> None:
    """Report all gaps as one fault, with the place of the longest."""
    missing = power.isna().to_numpy()
    if not missing.any():
        return
    longest, start, column = max(
        ((*_longest_run(missing[:, at]), int(at)) for at in np.flatnonzero(missing.any(axis=0))),
        key=lambda found: found[0],
    )
    wrong = f"no reading; left empty (here begins the longest gap, of {_text(longest * step)})"
    first, name = power.index[start].isoformat(), str(power.columns[column])
    log.report(DataFault(place, wrong, name, None, first, int(missing.sum()), repaired=True))


def _longest_run(flags: BoolArray) -> tuple[int, int]:
    """Length and start of the longest run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    lengths = edges[1::2] - edges[::2]
    at = int(np.argmax(lengths))
    return int(lengths[at]), int(edges[2 * at])


def _text(step: pd.Timedelta) -> str:
    minutes = step / pd.Timedelta(minutes=1)
    if minutes >= 2880 and minutes % 1440 == 0:
        return f"{minutes / 1440:g} days"
    return f"{minutes / 60:g} h" if minutes >= 120 else f"{minutes:g} min"
