"""Readings on one clock: instants, duplicates, one step, gaps, power in kW."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.arrays import Float64Array
from clearwatt.data.data_faults import DataFault
from clearwatt.imports.blocks import Block
from clearwatt.imports.local_time import Instants, to_utc, zone_of
from clearwatt.imports.log import ImportLog
from clearwatt.imports.recipe import Duplicates, Interval, Recipe
from clearwatt.imports.units import kilowatts_per

Nanoseconds = npt.NDArray[np.int64]
_FEW = 8  # steps
_SAME = 1e-9  # of the largest value; smaller differences come from rounding


@dataclass(frozen=True, eq=False)
class Sources:
    """The readings of one entity from all tables, k each: instant, power in kW, block and line."""

    times: Nanoseconds
    values: Float64Array
    block: Nanoseconds
    lines: Nanoseconds

    def take(self, rows: npt.NDArray[np.int64]) -> Sources:
        """The readings at these positions."""
        return Sources(self.times[rows], self.values[rows], self.block[rows], self.lines[rows])


def usual_step(ticks: Nanoseconds) -> pd.Timedelta | None:
    """The time between most readings; None if there are few, or none is usual."""
    values, counts = np.unique(np.diff(np.unique(ticks)), return_counts=True)
    if counts.sum() < _FEW or counts.max() < counts.sum() / 2:
        return None
    return pd.Timedelta(int(values[np.argmax(counts)]))


def written_step(block: Block) -> pd.Timedelta | None:
    """The most frequent time from one reading of a meter to the next; None with one reading."""
    ticks: list[Nanoseconds] = []
    for code in np.unique(block.series)[:50]:
        wall = np.unique(block.times.wall[block.series == code].astype("int64"))
        ticks.append(np.diff(wall))
    steps = np.concatenate(ticks) if ticks else np.array([], dtype=np.int64)
    if not len(steps):
        return None
    values, counts = np.unique(steps, return_counts=True)
    return pd.Timedelta(int(values[np.argmax(counts)]))


def gather(
    blocks: Sequence[Block],
    steps: Sequence[pd.Timedelta],
    *,
    interval: Interval,
    units: Sequence[Mapping[str, str]],
    names: Mapping[tuple[int, str], str],
    recipe: Recipe,
    log: ImportLog,
) -> dict[str, Sources]:
    """The readings of each entity, in kW at the starts of their intervals.

    Args:
        blocks: of all tables.
        steps: of each block.
        interval: the end of an interval that times mark.
        units: of each block, by meter.
        names: entity of each block's number and meter.
        recipe: with the time zone.
        log: of the import.
    """
    zone = None if recipe.timezone is None else zone_of(recipe.timezone)
    parts: dict[str, list[Sources]] = {}
    for number, (block, step) in enumerate(zip(blocks, steps, strict=True)):
        found = to_utc(
            block.times, block.series, zone=zone, interval=interval, step=step, autumn=recipe.autumn
        )
        _report_clock(block, found, recipe, log)
        ticks = found.times.astype("int64")
        usable = ~np.isnat(found.times) & ~found.unclear & ~found.misnamed
        for meter in block.meters:
            entity = names[number, meter.source]
            kept = usable[meter.rows] & ~np.isnan(meter.values)
            rows = meter.rows[kept]
            factor = kilowatts_per(units[number][meter.source], usual_step(ticks[rows]) or step)
            sign = -1.0 if {entity, meter.source} & set(recipe.negate) else 1.0
            parts.setdefault(entity, []).append(
                Sources(
                    ticks[rows],
                    meter.values[kept] * (factor * sign),
                    np.full(len(rows), number, dtype=np.int64),
                    block.lines[rows],
                )
            )
    return {entity: _join(each) for entity, each in parts.items()}


def _join(parts: Sequence[Sources]) -> Sources:
    columns = ([getattr(part, name) for part in parts] for name in Sources.__dataclass_fields__)
    return Sources(*(np.concatenate(column) for column in columns))


def _report_clock(block: Block, found: Instants, recipe: Recipe, log: ImportLog) -> None:
    """Report times that the clock of the zone does not have, or has twice."""
    place, column = block.table.place, block.table.header[block.columns.time]
    fixed = "if the clock never changes, give its offset, such as --timezone +01:00"

    def report(rows: npt.NDArray[np.bool_], wrong: str, *, repaired: bool) -> None:
        first = int(np.argmax(rows))
        value = str(pd.Timestamp(block.times.wall[first]))
        line, count = int(block.lines[first]), int(rows.sum())
        log.report(DataFault(place, wrong, column, line, value, count, repaired))

    if found.skipped.any() and _is_idle(block, found.skipped):
        wrong = "in the hour that the clock skips in spring; left out, as all is empty or 0 there"
        report(found.skipped, wrong, repaired=True)
    elif found.skipped.any():
        wrong = f"in the hour that the clock of {recipe.timezone} skips in spring; {fixed}"
        report(found.skipped, wrong, repaired=False)
    if found.once.any():
        wrong = "the hour of the autumn change is there only once; give --autumn"
        report(found.once, wrong, repaired=False)
        line = int(block.lines[int(np.argmax(found.once))])
        text = f"{place} has the hour of the autumn change only once, in row {line}; {fixed}"
        choices = {"first": "it is the first, in summer time", "second": "it is in winter time"}
        log.ask("autumn", text, choices)
    if found.unclear.any():
        wrong = (
            "the two hours of the autumn change cannot be told apart, as their rows are incomplete "
            "or out of order; sort them by time"
        )
        report(found.unclear, wrong, repaired=False)
    if found.misnamed.any():
        name = block.times.zone[int(np.argmax(found.misnamed))]
        wrong = (
            f"{name} is not what the clock of {recipe.timezone} is called then; {fixed}, otherwise "
            "correct --timezone or delete the abbreviation"
        )
        report(found.misnamed, wrong, repaired=False)


def _is_idle(block: Block, rows: npt.NDArray[np.bool_]) -> bool:
    """Whether every value in these rows is empty or 0."""
    return all(not np.nan_to_num(meter.values[rows[meter.rows]]).any() for meter in block.meters)


def unique_readings(
    sources: Mapping[str, Sources], blocks: Sequence[Block], recipe: Recipe, log: ImportLog
) -> dict[str, pd.Series]:
    """One reading per entity and instant, in the order of time; duplicates are reported."""
    places = [block.table.place for block in blocks]
    how = recipe.duplicates
    return {
        entity: _without_duplicates(entity, each, places, how, log)
        for entity, each in sources.items()
    }


def _without_duplicates(
    entity: str, found: Sources, places: Sequence[str], how: Duplicates | None, log: ImportLog
) -> pd.Series:
    order = np.argsort(found.times, kind="stable")
    times, values = found.times[order], found.values[order]
    again = np.zeros(len(times), dtype=bool)
    again[1:] = times[1:] == times[:-1]
    if again.any():
        group = np.cumsum(~again) - 1
        grouped = pd.Series(values).groupby(group)
        spread = (grouped.max() - grouped.min()).to_numpy()[group]
        differs = again & (spread > _SAME * np.abs(values).max())
        same = "a duplicate with the same value; used once"
        _report_rows(entity, found.take(order[again & ~differs]), places, same, log, repaired=True)
        if differs.any() and how is None:
            choices = {"first": "", "last": "corrections come later", "mean": ""}
            log.ask("duplicates", f"a time has different values, first for {entity}", choices)
        other = f"the {how} is used" if how else "give --duplicates first, last or mean"
        wrong = f"a duplicate with another value; {other}"
        _report_rows(
            entity, found.take(order[differs]), places, wrong, log, repaired=how is not None
        )
        values = grouped.agg(how or "last").to_numpy()
        times = times[~again]
    return pd.Series(values, index=pd.DatetimeIndex(times, tz="UTC", name="time"), name=entity)


def _report_rows(
    entity: str,
    found: Sources,
    places: Sequence[str],
    wrong: str,
    log: ImportLog,
    *,
    repaired: bool,
) -> None:
    """Report these readings of an entity, a fault for each file."""
    for number in np.unique(found.block):
        part = found.take(np.flatnonzero(found.block == number))
        first = int(np.argmin(part.lines))
        value = pd.Timestamp(int(part.times[first]), tz="UTC").isoformat()
        row, count = int(part.lines[first]), len(part.lines)
        log.report(DataFault(places[int(number)], wrong, entity, row, value, count, repaired))
