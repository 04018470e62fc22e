"""Limits of a file's size once it is unpacked; a few kilobytes can stand for gigabytes."""

from __future__ import annotations

import zipfile
from pathlib import Path

from clearwatt.errors import DataError

MOST_CELLS = 20_000_000
"""Rows x columns of a file; a year of quarter-hours of 500 meters has 17.5 million."""
MOST_ROWS = 1_048_576
"""Rows that a sheet can have in Excel."""
MOST_UNPACKED = 500_000_000
"""Bytes of all parts of a workbook."""


def check_cells(place: str, rows: int, columns: int, *, others: int = 0) -> None:
    """Raise a DataError if a table, with the ``others`` cells of its file, has too many cells."""
    if rows * columns + others > MOST_CELLS:
        beside = f" beside {others} cells of other sheets" if others else ""
        raise DataError(
            f"{place} has {rows} rows x {columns} columns{beside}, more than {MOST_CELLS} cells; "
            "delete what is far outside its table, or split the file"
        )


def check_rows(place: str, rows: int) -> None:
    """Raise a DataError if a sheet has more rows than Excel can write."""
    if rows > MOST_ROWS:
        raise DataError(f"{place} has more than {MOST_ROWS} rows; save it again, or as .csv")


def check_unpacked(file: Path) -> None:
    """Raise a DataError if a workbook is too large once unpacked; BadZipFile if it is none."""
    with zipfile.ZipFile(file) as archive:
        size = sum(part.file_size for part in archive.infolist())
    if size > MOST_UNPACKED:
        raise DataError(
            f"{file.name} has {size // 1_000_000} MB unpacked, more than "
            f"{MOST_UNPACKED // 1_000_000} MB; split it, or save it as .csv"
        )
