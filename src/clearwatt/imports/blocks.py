"""Blocks of readings: a table's times as written, and the values of each meter in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.arrays import BoolArray, Float64Array
from clearwatt.data.data_faults import DataFault
from clearwatt.imports import words
from clearwatt.imports.columns import Columns
from clearwatt.imports.hour_numbers import read_counted_hours
from clearwatt.imports.log import ImportLog
from clearwatt.imports.numbers import NumberFormat, looks_like_number, parse_numbers
from clearwatt.imports.recipe import Recipe
from clearwatt.imports.statuses import judge_statuses
from clearwatt.imports.tables import Table
from clearwatt.imports.time_text import WallTimes, is_swapped, parse_times
from clearwatt.imports.units import unit_of

Rows = npt.NDArray[np.int64]
_NOT_POWER = "other"


@dataclass(frozen=True, eq=False)
class Meter:
    """Values of one meter (k) in a table, their unit if it is written, and their rows in it."""

    source: str
    unit: str | None
    rows: Rows
    values: Float64Array


@dataclass(frozen=True, eq=False)
class Block:
    """Readings of one table.

    ``times`` (n) are as written, ``series`` (n) numbers the meter of each row in the long layout,
    ``lines`` (n) are the rows' numbers in the file.
    """

    table: Table
    columns: Columns
    times: WallTimes
    series: Rows
    lines: Rows
    meters: tuple[Meter, ...]


def read_block(
    table: Table,
    columns: Columns,
    *,
    order: str,
    form: NumberFormat,
    recipe: Recipe,
    log: ImportLog,
) -> Block:
    """The readings of a table; rows without a time are left out and reported."""
    clock = None if columns.clock is None else table.body[columns.clock]
    times = parse_times(table.body[columns.time], order, clock)
    if clock is not None and recipe.timezone is not None and _has_hour_numbers(clock):
        days = parse_times(table.body[columns.time], order)
        zone = recipe.timezone
        times = read_counted_hours(times, days, clock, timezone=zone, table=table, log=log)
    if is_swapped(table.body[columns.time]):
        wrong = (
            "some dates are text, all others have a day up to 12: Excel has read these with day "
            "and month swapped; export again, and import the file without opening it in Excel"
        )
        row, column = int(table.body.index[0]), table.header[columns.time]
        log.report(DataFault(table.place, wrong, column, row))
    _report_timeless(table, columns, times, log)
    rows = np.flatnonzero(~np.isnat(times.wall))
    values = _Values(table, columns, table.body.iloc[rows], form, recipe, log)
    if columns.layout == "wide":
        series, meters = np.zeros(len(rows), dtype=np.int64), values.wide_meters()
    else:
        series, meters = values.long_meters()
    meters = [meter for meter in meters if meter.source not in recipe.leave_out]
    lines = values.body.index.to_numpy(dtype=np.int64)
    return Block(table, columns, times.take(rows), series, lines, tuple(meters))


def _report_timeless(table: Table, columns: Columns, times: WallTimes, log: ImportLog) -> None:
    """Report rows without a time: totals and notes, which are left out, and others, faults."""
    last = int(np.flatnonzero(~np.isnat(times.wall)).max(initial=-1))
    for at in map(int, np.flatnonzero(np.isnat(times.wall))):
        cells = table.body.iloc[at]
        texts = [str(cell) for cell in cells if isinstance(cell, str) and cell]
        value = str(cells[columns.time]) or "empty"
        row, column = int(table.body.index[at]), table.header[columns.time]
        has_total = any(words.has_word(text, words.TOTAL) for text in texts)
        if has_total and any(_is_number(cell) for cell in cells):  # a header may say peak
            wrong, repaired = "a row of totals; left out", True
        elif at > last >= 0 and _is_note(cells):
            wrong, repaired = "a note below the table; left out", True
        else:
            wrong = "no time can be read here; correct or delete the row, or give --date-order"
            repaired = False
        log.report(DataFault(table.place, wrong, column, row, value, repaired=repaired))


def _is_number(cell: object) -> bool:
    if isinstance(cell, str):
        return looks_like_number(cell)
    return isinstance(cell, int | float | np.number) and not np.isnan(cell)


def _is_note(cells: pd.Series) -> bool:
    """Whether the only cell of a row that is not empty is a text with words."""
    filled = [str(cell) for cell in cells if cell != ""]
    return len(filled) == 1 and re.search(r"[^\W\d_]{3}", filled[0]) is not None


def _has_hour_numbers(clock: pd.Series) -> bool:
    """Whether hours are whole numbers, without minutes, in all rows that have one."""
    return bool(clock.astype(str).str.fullmatch(r"\d{0,2}").all())


def written_unit(text: str) -> str | None:
    """The unit that a block above a header states, as in "Unit: kWh"."""
    found = re.search(r"(?:unit|einheit|jednostka|unite)\w*\W{1,3}([kmg]?wh?)\b", words.plain(text))
    return unit_of(found[1]) if found else None


@dataclass(frozen=True, eq=False)
class _Values:
    """The rows of a table that have a time (n), and how to read their values."""

    table: Table
    columns: Columns
    body: pd.DataFrame
    form: NumberFormat
    recipe: Recipe
    log: ImportLog

    def wide_meters(self) -> list[Meter]:
        """The meters of the columns, without a column that is the sum of the others."""
        everything = np.arange(len(self.body), dtype=np.int64)
        meters = [
            Meter(name, unit, everything, self._without_bad(self._numbers(at)))
            for at in self.columns.values
            if (unit := self._row_unit(name := self.table.header[at], everything, at)) != _NOT_POWER
        ]
        totals = [meter for meter in meters if _is_total(meter, meters)]
        for meter in totals:
            wrong = "the column is the sum of the others; left out"
            row = int(self.table.body.index[0])
            self._report(DataFault(self.table.place, wrong, meter.source, row, repaired=True))
        return [meter for meter in meters if meter not in totals]

    def long_meters(self) -> tuple[Rows, list[Meter]]:
        """The number of the meter of each row (n), and the meters."""
        names, *others = (self.body[at].astype(str) for at in self.columns.names)
        for other in others:
            names = names + " " + other
        codes, unique = pd.factorize(names)
        series = np.asarray(codes, dtype=np.int64)
        values = self._without_bad(self._numbers(self.columns.values[0]))
        nameless = (names.str.strip() == "").to_numpy() & ~np.isnan(values)
        wrong = "a reading without the name of its meter; fill it or delete the row"
        self._report_cells(self.columns.names[0], nameless, wrong, repaired=False)
        order = np.argsort(series, kind="stable")
        parts = np.split(order, np.searchsorted(series[order], range(1, len(unique))))
        meters = [
            Meter(str(name), unit, rows, values[rows])
            for name, rows in zip(unique, parts, strict=True)
            if (unit := self._row_unit(str(name), rows, self.columns.values[0])) != _NOT_POWER
        ]
        totals = [meter for meter in meters if self._is_named_total(meter.source)]
        for meter in totals:
            wrong = "named as a total; left out. If it is a meter, give it a name with --rename"
            row, title = (
                int(self.body.index[meter.rows[0]]),
                self.table.title(self.columns.names[0]),
            )
            count = len(meter.rows)
            place = self.table.place
            self._report(DataFault(place, wrong, title, row, meter.source, count, repaired=True))
        return series, [each for each in meters if each.source.strip() and each not in totals]

    def _is_named_total(self, name: str) -> bool:
        return name not in self.recipe.names and words.is_word(name, words.TOTAL)

    def _report(self, fault: DataFault) -> None:
        self.log.report(fault)

    def _unit(self, column: int) -> str | None:
        unit = self.table.units[column]
        return written_unit(self.table.above) if unit is None else unit_of(unit)

    def _row_unit(self, name: str, rows: Rows, values: int) -> str | None:
        """The unit in the rows of a meter, or that of its column of values."""
        column = self.columns.unit
        cells = pd.Series(dtype=str) if column is None else self.body[column].iloc[rows]
        written = sorted(text for text in cells.astype(str).unique() if text)
        units = {unit_of(text) for text in written}
        if not written:
            return self._unit(values)
        if len(units) == 1 and (unit := units.pop()) is not None:
            return unit
        wrong = f"the unit is {', '.join(written)}, not one of power or energy; left out"
        row = int(self.body.index[rows[0]])
        self._report(DataFault(self.table.place, wrong, name, row, repaired=True))
        return _NOT_POWER

    def _without_bad(self, values: Float64Array) -> Float64Array:
        """Values (n) without those whose status says that they are wrong."""
        column = self.columns.status
        if column is None:
            return values
        found = judge_statuses(self.body[column], self.recipe, self.table.place, self.log)
        wrong = "the status says that the value is wrong; the reading is left out"
        self._report_cells(column, found.bad, wrong, repaired=True)
        wrong = "a status that is not known; the reading is used, --bad-status leaves it out"
        self._report_cells(column, found.unknown & ~np.isnan(values), wrong, repaired=True)
        return np.where(found.bad, np.nan, values)

    def _numbers(self, column: int) -> Float64Array:
        """The numbers of a column (n); cells that are not numbers are reported."""
        values, unreadable = parse_numbers(self.body[column], self.form)
        if self.recipe.unreadable == "empty":
            self._report_cells(column, unreadable, "not a number; left empty", repaired=True)
        elif unreadable.any():
            wrong = "not a number; correct the cells, or leave them empty with --unreadable empty"
            self._report_cells(column, unreadable, wrong, repaired=False)
            example = str(self.body[column].iloc[int(np.argmax(unreadable))])
            text = f"{self.table.place}: cells such as {example!r} are not numbers"
            self.log.ask("unreadable", text, {"empty": "such cells count as no reading"})
        return np.where(unreadable, np.nan, values)

    def _report_cells(self, column: int, cells: BoolArray, wrong: str, *, repaired: bool) -> None:
        """Report these cells (n) of a column, if there are any."""
        if not cells.any():
            return
        first = int(np.argmax(cells))
        row, value = int(self.body.index[first]), str(self.body[column].iloc[first])
        title, count = self.table.title(column), int(cells.sum())
        self._report(DataFault(self.table.place, wrong, title, row, value, count, repaired))


def _is_total(meter: Meter, meters: Sequence[Meter]) -> bool:
    """Whether a column is named as a total, and is the sum of the others."""
    others = [each.values for each in meters if each is not meter]
    if len(others) < 2 or not words.has_word(meter.source, words.TOTAL):
        return False
    near = np.isclose(np.nansum(others, axis=0), meter.values, rtol=1e-3, atol=1e-6)
    return bool((near | np.isnan(meter.values)).mean() > 0.95)
