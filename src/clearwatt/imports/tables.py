"""Tables in files: the header, the block above it, and the rows below it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.data.data_faults import DataFault
from clearwatt.imports import words
from clearwatt.imports.log import ImportLog
from clearwatt.imports.numbers import looks_like_number
from clearwatt.imports.time_text import looks_like_date, looks_like_time, range_start
from clearwatt.imports.units import is_other_unit, split_unit, unit_of

Texts = npt.NDArray[np.object_]
_SEARCH = 500
"""Rows in which the first reading is looked for."""


@dataclass(frozen=True, eq=False)
class Table:
    """One table of an export.

    ``body`` is n x c; its index is the row's number in the file, counted from 1. ``header`` and
    ``units`` (c) are as written, the header without its unit. ``above`` is the text of the block
    above the header. ``ranges`` is the column whose cells had the start and the end of an interval;
    they have the start.
    """

    file: Path
    sheet: str | None
    header: tuple[str, ...]
    units: tuple[str | None, ...]
    body: pd.DataFrame
    above: str = ""
    ranges: int | None = None

    @property
    def place(self) -> str:
        """File and sheet, for messages."""
        return place_of(self.file, self.sheet)

    def title(self, column: int) -> str:
        """The header of a column with its unit."""
        unit = self.units[column]
        return self.header[column] if unit is None else f"{self.header[column]} [{unit}]".strip()


def place_of(file: Path, sheet: str | None) -> str:
    """File and sheet, for messages."""
    return file.name if sheet is None else f"{file.name}, sheet '{sheet}'"


def find_table(cells: pd.DataFrame, file: Path, sheet: str | None, log: ImportLog) -> Table | None:
    """The table in the cells of a file or sheet, all rows; None if there is none.

    The body begins with the first of three rows that have a date in the same column.
    """
    place = place_of(file, sheet)
    top = cells.iloc[:_SEARCH].astype(str).to_numpy(dtype=object)
    first = _first_reading(top)
    if first is None:
        return None
    row, time_column = first
    titles = [at for at in range(row) if sum(map(bool, top[at])) > 1]
    if not titles:
        wrong = "no header row above the first reading; add one that names the columns"
        log.report(DataFault(place, wrong, row=row + 1))
        return None
    has_units = len(titles) > 1 and _is_units_row(top[titles[-1]], time_column)
    title_row = titles[-2] if has_units else titles[-1]
    names = [str(name).strip() for name in top[title_row]]
    if title_row != titles[0]:
        above_row = titles[titles.index(title_row) - 1]
        names = _with_groups(names, top[above_row])
        if not names[time_column] and above_row == title_row - 1:  # a cell merged over both rows
            names[time_column] = str(top[above_row][time_column]).strip()
    if has_units:
        names[time_column] = _with_mark(names[time_column], top[titles[-1]][time_column])
    header, units = _split_units(names, top[titles[-1]] if has_units else [""] * len(names))
    body = cells.iloc[row:].set_axis(range(row + 1, len(cells) + 1))
    body = body[(body != "").any(axis=1)]
    body = _without_headers(body, top[title_row], place, log)
    is_range = range_start(str(body.iloc[0, time_column]).strip()) is not None
    if is_range:
        body = body.copy()
        body[time_column] = [range_start(str(cell).strip()) or cell for cell in body[time_column]]
    above = "\n".join(" ".join(filter(None, map(str, top[at]))) for at in range(title_row))
    ranges = time_column if is_range else None
    table = Table(file, sheet, header, units, body, above, ranges)
    return _without_blank_columns(table, time_column, log)


def _without_headers(body: pd.DataFrame, titles: Texts, place: str, log: ImportLog) -> pd.DataFrame:
    """The rows without those that repeat the header, as where files were joined."""
    again = (body.iloc[:, 0] == titles[0]).to_numpy()
    again[again] = (body[again] == titles).all(axis=1).to_numpy()
    if again.any():
        row, count = int(body.index[int(np.argmax(again))]), int(again.sum())
        wrong = "the header again; left out"
        log.report(DataFault(place, wrong, row=row, count=count, repaired=True))
    kept: pd.DataFrame = body[~again]
    return kept


def _first_reading(top: Texts) -> tuple[int, int] | None:
    """Row and column of the first date that begins a table."""
    filled = [row for row in range(len(top)) if any(top[row])]
    for at, row in enumerate(filled):
        column = _date_column(top[row])
        following = (_date_column(top[each]) for each in filled[at + 1 : at + 3])
        if column is not None and all(each == column for each in following):
            return row, column
    return None


def _date_column(cells: Texts) -> int | None:
    """The first column with a date, in a row that has a value, too."""
    texts = [str(cell).strip() for cell in cells]
    dates = [column for column, text in enumerate(texts) if looks_like_date(text)]
    others = [text for text in texts if not (looks_like_date(text) or looks_like_time(text))]
    has_value = any(looks_like_number(text) for text in others) or not any(others)
    return dates[0] if dates and has_value else None


def _is_units_row(cells: Texts, time_column: int) -> bool:
    texts = [str(cell).strip(" []()") for at, cell in enumerate(cells) if at != time_column]
    named = [text for text in texts if text]
    return bool(named) and all(unit_of(text) or is_other_unit(text) for text in named)


def _with_groups(names: list[str], above: Texts) -> list[str]:
    """Names that occur several times, with the group above them, as in merged cells."""
    counts, group = Counter(names), ""
    if max((count for name, count in counts.items() if name), default=1) == 1:
        return names
    grouped = []
    for name, text in zip(names, above, strict=True):
        group = str(text).strip() or group
        grouped.append(f"{group} {name}".strip() if counts[name] > 1 and name else name)
    return grouped


def _with_mark(name: str, below: object) -> str:
    """The header of the times, with the end of the interval that the row of units names."""
    text = str(below).strip()
    marks = words.has_word(text, words.START) or words.has_word(text, words.END)
    return f"{name} {text}".strip() if marks else name


def _has_readings(table: Table, column: int, time_column: int) -> bool:
    """Whether a column is filled in a row with a date; a note below the table is no reading."""
    filled = table.body.iloc[:, column] != ""
    times = table.body.iloc[:, time_column][filled.to_numpy()]
    return any(looks_like_date(str(cell).strip()) for cell in times)


def _split_units(
    names: Sequence[str], below: Sequence[str] | Texts
) -> tuple[tuple[str, ...], tuple[str | None, ...]]:
    """Headers without units, and units, which may be in the row below the headers."""
    header: list[str] = []
    units: list[str | None] = []
    for name, text in zip(names, below, strict=True):
        title, unit = split_unit(" ".join(name.split()))
        under = str(text).strip(" []()")
        is_unit = bool(unit_of(under)) or is_other_unit(under)
        header.append(title or ("" if is_unit else under))
        units.append(under if unit is None and is_unit else unit)
    return tuple(header), tuple(units)


def _without_blank_columns(table: Table, time_column: int, log: ImportLog) -> Table | None:
    """The table without empty columns; columns of values need a name of their own."""
    named = [bool(name or unit) for name, unit in zip(table.header, table.units, strict=True)]
    keep = [at for at, name in enumerate(named) if name or _has_readings(table, at, time_column)]
    nameless = [at for at in keep if not named[at]]
    if nameless:
        wrong = (
            f"{len(nameless)} columns of values have no header; if a decimal comma is also the "
            "separator, export with another separator, otherwise add the headers"
        )
        log.report(DataFault(table.place, wrong, row=int(table.body.index[0])))
        return None
    titles = Counter(table.title(at) for at in keep)
    for title in (title for title, count in titles.items() if count > 1):
        wrong = "the column is there several times; give each a header of its own"
        row = int(table.body.index[0]) - 1
        log.report(DataFault(table.place, wrong, column=title, row=row, count=titles[title]))
    return Table(
        table.file,
        table.sheet,
        tuple(table.header[at] for at in keep),
        tuple(table.units[at] for at in keep),
        table.body.iloc[:, keep].set_axis(range(len(keep)), axis=1),
        table.above,
        None if table.ranges is None else keep.index(table.ranges),
    )
