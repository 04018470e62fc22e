"""Limits of a file's size once it is unpacked; a few kilobytes can stand for gigabytes."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path

from clearwatt.errors import DataError

MOST_CELLS = 20_000_000
"""Rows x columns of a file; a year of quarter-hours of 500 meters has 17.5 million."""
MOST_ROWS = 1_048_576
"""Rows that a sheet can have in Excel."""
MOST_UNPACKED = 500_000_000
"""Bytes of all parts of a workbook."""
MOST_MEMBERS = 10_000
"""Files and folders of an archive."""
MOST_DECODED = 1_000_000_000
"""Bytes of a Parquet file's columns once decoded (50 per cell of the largest), or of an archive."""


def check_cells(place: str, rows: int, columns: int, *, others: int = 0) -> None:
    """Raise a DataError if a table, with the ``others`` cells of its file, has too many cells."""
    if rows * columns + others > MOST_CELLS:
        beside = f" beside {others} cells of other sheets" if others else ""
        raise DataError(
            f"{place} has {rows} rows x {columns} columns{beside}, more than {MOST_CELLS} cells; "
            "delete what is far outside its table, or split the file"
        )


def check_lines(place: str, widths: Sequence[int]) -> None:
    """Raise a DataError if a few long lines, of all ``widths``, would make a huge table.

    A table that is large throughout is not refused.
    """
    width = max(widths, default=0)
    cells = width * len(widths)
    if cells > MOST_CELLS and cells > 2 * sum(widths):
        line = widths.index(width) + 1
        usual = sorted(widths)[len(widths) // 2]
        raise DataError(
            f"{place} has {width} cells in line {line}, most lines have {usual}; as a table these "
            f"would be {cells} cells, more than {MOST_CELLS}; correct or delete that line"
        )


def check_decoded(place: str, size: int) -> None:
    """Raise a DataError if a Parquet file's columns, or their decoded text, are too large."""
    if size > MOST_DECODED:
        raise DataError(
            f"{place} has more than {MOST_DECODED // 1_000_000} MB once decoded; split the file, "
            "or leave out columns of long text"
        )


def check_packed(place: str, size: int) -> None:
    """Raise a DataError if a packed file is too large once unpacked."""
    if size > MOST_DECODED:
        raise DataError(
            f"{place} has more than {MOST_DECODED // 1_000_000} MB unpacked; unpack it yourself, "
            "and import its files one after the other with --append"
        )


def check_members(place: str, count: int) -> None:
    """Raise a DataError if an archive has too many files in it."""
    if count > MOST_MEMBERS:
        raise DataError(
            f"{place} has {count} files and folders in it, more than {MOST_MEMBERS}; unpack it "
            "yourself, and import its files in parts with --append"
        )


def check_packed_cells(place: str, cells: int) -> None:
    """Raise a DataError if the text of an archive has too many cells."""
    if cells > MOST_CELLS:
        raise DataError(
            f"{place} has more than {MOST_CELLS} cells of text; unpack it yourself, and import its "
            "files one after the other with --append"
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
