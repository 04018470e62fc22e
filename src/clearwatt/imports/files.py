"""Files of an export: text, Excel workbooks and Parquet, as tables."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from clearwatt.data.data_faults import DataFault
from clearwatt.errors import ClearwattError, DataError, MissingExtraError
from clearwatt.imports.day_rows import unfold_days
from clearwatt.imports.log import ImportLog
from clearwatt.imports.recipe import Recipe
from clearwatt.imports.sizes import check_cells, check_rows, check_unpacked
from clearwatt.imports.tables import Table, find_table, place_of
from clearwatt.imports.text_files import read_cells
from clearwatt.imports.units import split_unit

_WORKBOOKS = (".xlsx", ".xlsm")


def read_tables(files: Sequence[Path], recipe: Recipe, log: ImportLog) -> list[Table]:
    """All tables of all files."""
    found = (table for file in files for table in _read_file(file, recipe, log))
    return [unfold_days(table) for table in found]


def _read_file(file: Path, recipe: Recipe, log: ImportLog) -> list[Table]:
    if not file.is_file():
        raise DataError(f"{file} is not a file; check the name")
    suffix = file.suffix.lower()
    if suffix == ".parquet":
        return [_read_parquet(file)]
    if suffix in _WORKBOOKS:
        return _read_workbook(file, recipe, log)
    if suffix in {".xls", ".ods"}:
        raise DataError(f"{file}: {suffix} files are not read; save it as .xlsx or .csv")
    cells = read_cells(file, recipe, log)
    table = None if cells is None else find_table(cells, file, None, log)
    if table is None and not any(fault.place == file.name for fault in log.faults):
        wrong = "no table of times and numbers; check the file, or give --separator"
        log.report(DataFault(file.name, wrong, row=1))
    return [] if table is None else [table]


def _read_parquet(file: Path) -> Table:
    try:
        with pq.ParquetFile(file) as stored:
            check_cells(file.name, stored.metadata.num_rows, stored.metadata.num_columns)
        frame = pd.DataFrame(pq.read_table(file).to_pandas())
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{file}: not a readable Parquet file; write it again") from error
    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index()
    split = [split_unit(str(name)) for name in frame.columns]
    body = pd.DataFrame({at: _plain(frame.iloc[:, at]) for at in range(frame.shape[1])})
    body.index = pd.RangeIndex(1, len(body) + 1)
    return Table(file, None, tuple(n for n, _ in split), tuple(u for _, u in split), body)


def _plain(column: pd.Series) -> pd.Series:
    """Numbers as they are, everything else as text; missing text is empty."""
    if column.dtype.kind in "iuf":
        return column.reset_index(drop=True)
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        return _plain(column.dt.tz_convert("UTC").dt.strftime("%Y-%m-%d %H:%M:%SZ"))
    return column.astype(object).where(column.notna(), "").map(_cell).reset_index(drop=True)


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
            wrong = "the sheet has no table of times and numbers; left out"
            log.report(DataFault(place_of(file, name), wrong, row=1, repaired=True))
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
        cells = [_cell(value) for value in values]
        while cells and cells[-1] == "":
            cells.pop()
        rows.append(cells)
        if cells:
            height, width = number, max(width, len(cells))
            check_cells(place, height, width, others=others)
    return rows[:height]


def _cell(value: object) -> object:
    """A number as it is, anything else as text; a time of a workbook to the nearest second."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if isinstance(value, datetime.datetime):
        return pd.Timestamp(value).round("s").isoformat(sep=" ")
    if isinstance(value, datetime.timedelta):  # a time of day, 24:00 included
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return "" if value is None else str(value).strip()
