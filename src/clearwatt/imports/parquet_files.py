"""Parquet files of exports, measured before they are decoded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clearwatt.errors import DataError
from clearwatt.imports.cells import plain_cell
from clearwatt.imports.sizes import MOST_DECODED, check_cells, check_decoded
from clearwatt.imports.tables import Table
from clearwatt.imports.units import split_unit

_TEXT = "BYTE_ARRAY"
_NUMBER_BYTES = 8
_MOST_ROWS = 65_536
"""Rows of text that are measured at once."""


def read_parquet(file: Path) -> Table:
    """The table of a Parquet file; an index that is not a row number is its first column."""
    try:
        _check_size(file)
        frame = pd.DataFrame(pq.read_table(file).to_pandas())
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{file}: not a readable Parquet file; write it again") from error
    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index()
    split = [split_unit(str(name)) for name in frame.columns]
    body = pd.DataFrame({at: _plain(frame.iloc[:, at]) for at in range(frame.shape[1])})
    body.index = pd.RangeIndex(1, len(body) + 1)
    return Table(file, None, tuple(n for n, _ in split), tuple(u for _, u in split), body)


def _check_size(file: Path) -> None:
    """Raise a DataError if the file is too large once decoded.

    A text that is in the file once can be in a million rows, so that neither the size of the file
    nor the number of its cells is a limit.
    """
    with pq.ParquetFile(file) as stored:
        chunks = _chunks(stored)
        rows, columns = stored.metadata.num_rows, max(stored.metadata.num_columns, 1)
        values = sum(chunk.num_values for _, chunk in chunks)  # more than cells if there are lists
        check_cells(file.name, max(rows, values // columns), columns)
        check_decoded(file.name, sum(chunk.total_uncompressed_size for _, chunk in chunks))
        lengths = {each.path: each.length for each in stored.schema if each.length > 0}
    shared = [chunk.path_in_schema for _, chunk in chunks if _has_shared_texts(chunk)]
    decoded = 0
    with pq.ParquetFile(file, read_dictionary=shared) as stored:
        for group, chunk in _chunks(stored):
            if chunk.physical_type == _TEXT:
                for size in _text_sizes(stored, group, chunk):
                    decoded += size
                    check_decoded(file.name, decoded)
            else:
                decoded += chunk.num_values * lengths.get(chunk.path_in_schema, _NUMBER_BYTES)
                check_decoded(file.name, decoded)


def _chunks(stored: pq.ParquetFile) -> list[tuple[int, pq.ColumnChunkMetaData]]:
    """All column chunks, each with the number of its row group."""
    groups = [(at, stored.metadata.row_group(at)) for at in range(stored.metadata.num_row_groups)]
    return [(at, group.column(each)) for at, group in groups for each in range(group.num_columns)]


def _has_shared_texts(chunk: pq.ColumnChunkMetaData) -> bool:
    """Whether its texts can be read as references to a dictionary."""
    is_text = chunk.physical_type == _TEXT and "." not in chunk.path_in_schema
    return is_text and not any(name.startswith("DELTA") for name in chunk.encodings)


def _text_sizes(stored: pq.ParquetFile, group: int, chunk: pq.ColumnChunkMetaData) -> Iterator[int]:
    """Bytes of a chunk's texts, in parts that need little memory themselves.

    No text is longer than its chunk.
    """
    at_once = MOST_DECODED // max(chunk.total_uncompressed_size, 1)
    rows = _MOST_ROWS if _has_shared_texts(chunk) else max(1, min(at_once, _MOST_ROWS))
    columns = [chunk.path_in_schema]
    for batch in stored.iter_batches(rows, row_groups=[group], columns=columns):
        for column in batch.columns:
            if isinstance(column, pa.DictionaryArray):
                lengths = pc.binary_length(column.dictionary).take(column.indices)
                yield pc.sum(lengths).as_py() or 0
            else:
                yield column.nbytes


def _plain(column: pd.Series) -> pd.Series:
    """Numbers as they are, everything else as text; missing text is empty."""
    if column.dtype.kind in "iuf":
        return _plain_numbers(column.reset_index(drop=True))
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        return _plain(column.dt.tz_convert("UTC").dt.strftime("%Y-%m-%d %H:%M:%SZ"))
    return column.astype(object).where(column.notna(), "").map(plain_cell).reset_index(drop=True)


def _plain_numbers(column: pd.Series) -> pd.Series:
    """Numbers of NumPy's types, with NaN for gaps; whole numbers with gaps have empty cells.

    The nullable types of pandas and the types of Arrow have a value of their own for a gap.
    """
    if not isinstance(column.dtype, pd.api.extensions.ExtensionDtype):
        return column
    if column.dtype.kind == "f":
        return pd.Series(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if column.hasnans:  # as floats, the number of a meter would end in .0
        return column.astype(object).where(column.notna(), "")
    return pd.Series(column.to_numpy(dtype=np.uint64 if column.dtype.kind == "u" else np.int64))
