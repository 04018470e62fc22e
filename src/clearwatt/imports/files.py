"""Files of an export: text, Excel workbooks and Parquet, packed or not, as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pandas as pd

from clearwatt.data.data_faults import DataFault
from clearwatt.errors import ClearwattError, DataError, MissingExtraError
from clearwatt.imports.archives import PACKED, unpack
from clearwatt.imports.cells import plain_cell
from clearwatt.imports.day_rows import unfold_days
from clearwatt.imports.log import ImportLog
from clearwatt.imports.parquet_files import read_parquet
from clearwatt.imports.recipe import Recipe
from clearwatt.imports.sizes import check_cells, check_packed_cells, check_rows, check_unpacked
from clearwatt.imports.tables import Table, find_table, place_of
from clearwatt.imports.text_files import count_cells, read_cells
from clearwatt.imports.time_text import serial_hint

_WORKBOOKS = (".xlsx", ".xlsm")
_UNREAD = (".xls", ".ods")
_NOT_TEXT = (".parquet", *_WORKBOOKS, *_UNREAD, *PACKED)
_TOP = 500
"""Rows of a sheet without a table that are looked at."""


def read_tables(files: Sequence[Path], recipe: Recipe, log: ImportLog) -> list[Table]:
    """All tables of all files."""
    found = (table for file in files for table in _read_file(file, recipe, log))
    return [unfold_days(table) for table in found]


def _read_file(file: Path, recipe: Recipe, log: ImportLog) -> list[Table]:
    if not file.is_file():
        raise DataError(f"{file} is not a file; check the name")
    suffix = file.suffix.lower()
    if suffix in PACKED:
        with unpack(file) as parts:
            _check_texts(parts, file, recipe)
            return [table for part in parts for table in _read_part(part, file, recipe, log)]
    return _read_plain(file, recipe, log)


def _check_texts(parts: Sequence[Path], archive: Path, recipe: Recipe) -> None:
    """Raise a DataError if the text files of an archive have too many cells together."""
    cells = 0
    for part in parts:
        if part.suffix.lower() not in _NOT_TEXT:
            cells += count_cells(part, recipe)
            check_packed_cells(archive.name, cells)


def _read_part(part: Path, archive: Path, recipe: Recipe, log: ImportLog) -> list[Table]:
    """The tables of a file in an archive, whose own archives are not unpacked."""
    if part.suffix.lower() in PACKED:
        raise DataError(f"{archive} has {part.name} in it, packed itself; unpack it yourself")
    try:
        return _read_plain(part, recipe, log)
    except DataError as error:
        raise DataError(str(error).replace(str(part), f"{archive}, {part.name}")) from error


def _read_plain(file: Path, recipe: Recipe, log: ImportLog) -> list[Table]:
    suffix = file.suffix.lower()
    if suffix == ".parquet":
        return [read_parquet(file)]
    if suffix in _WORKBOOKS:
        return _read_workbook(file, recipe, log)
    if suffix in _UNREAD:
        raise DataError(f"{file}: {suffix} files are not read; save it as .xlsx or .csv")
    cells = read_cells(file, recipe, log)
    table = None if cells is None else find_table(cells, file, None, log)
    if table is None and not any(fault.place == file.name for fault in log.faults):
        wrong = "no table of times and numbers; check the file, or give --separator"
        log.report(DataFault(file.name, wrong, row=1))
    return [] if table is None else [table]


def _read_workbook(file: Path, recipe: Recipe, log: ImportLog) -> list[Table]:
    sheets = dict(_sheets(file))
    if missing := [name for name in recipe.sheets if name not in sheets]:
        raise DataError(f"{file} has no sheet {missing[0]!r}; it has {', '.join(sheets)}")
    tables = []
    for name, cells in sheets.items():
        if recipe.sheets and name not in recipe.sheets:
            continue
        table = find_table(cells, file, name, log)
        if table is not None:
            tables.append(table)
        elif not any(fault.place == place_of(file, name) for fault in log.faults):
            hint = serial_hint([str(row[0]) for row in cells.head(_TOP).to_numpy() if len(row)])
            wrong = f"the sheet has no table of times and numbers; {hint or 'left out'}"
            fault = DataFault(place_of(file, name), wrong, row=1, repaired=hint is None)
            log.report(fault)
    if not tables:
        wrong = "no sheet has a table of times and numbers; check the file"
        log.report(DataFault(file.name, wrong))
    return tables


def _sheets(file: Path) -> Iterator[tuple[str, pd.DataFrame]]:
    """The visible sheets with their cells: text, or numbers."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise MissingExtraError("openpyxl", "excel") from error
    others = 0
    try:
        check_unpacked(file)
        book = load_workbook(file, read_only=True, data_only=True)
        try:
            for sheet in book.worksheets:
                if sheet.sheet_state == "visible":
                    sheet.reset_dimensions()  # the size that a sheet declares may be wrong
                    values = sheet.iter_rows(values_only=True)
                    rows = _rows(values, place_of(file, sheet.title), others=others)
                    cells = pd.DataFrame(rows, dtype=object).fillna("")
                    others += cells.size
                    yield sheet.title, cells
        finally:
            book.close()
    except ClearwattError:
        raise
    except Exception as error:  # openpyxl raises whatever its parsers raise
        raise DataError(f"{file}: not a readable Excel workbook; save it again") from error


def _rows(given: Iterable[Sequence[object]], place: str, *, others: int) -> list[list[object]]:
    """The rows of a sheet up to the last that is not empty, each up to its last such cell."""
    rows: list[list[object]] = []
    height = width = 0
    for number, values in enumerate(given, start=1):
        check_rows(place, number)
        cells = [plain_cell(value) for value in values]
        while cells and cells[-1] == "":
            cells.pop()
        rows.append(cells)
        if cells:
            height, width = number, max(width, len(cells))
            check_cells(place, height, width, others=others)
    return rows[:height]
