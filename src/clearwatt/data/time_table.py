"""Reading a table of times and values, Parquet or CSV, as float32 columns with UTC times."""

from __future__ import annotations

import csv
import zoneinfo
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from clearwatt.arrays import BoolArray
from clearwatt.data.data_faults import DataFault, first_true, raise_first

_OFFSET = r"(?:[Tt ]\d\d(?::?\d\d){0,2}(?:[.,]\d+)?)\s*(Z|z|[+-]\d\d(?::?\d\d)?)\s*$"
_STORE_UTC = "store every time in UTC"
_NAIVE = "a naive time, without time zone; store UTC, for example 2024-03-31T00:00:00+00:00"
_UNREADABLE = "no time can be read here; write it as 2024-03-31T00:00:00+00:00"


def read_table(path: Path) -> pd.DataFrame:
    """The rows of a file in their order: index ``time`` in UTC, one float32 column per column."""
    table, faults = parse_table(path)
    raise_first(faults)
    return pd.DataFrame(table)


def parse_table(path: Path) -> tuple[pd.DataFrame | None, list[DataFault]]:
    """The rows of a file, None if a time is wrong, and all faults in its cells.

    A file without any table raises ``DataError``.
    """
    raw = _read_parquet(path) if path.suffix == ".parquet" else _read_csv(path)
    if "time" not in raw.columns:
        found = ", ".join(map(str, raw.columns[:6]))
        wrong = (
            f"no column 'time' (found: {found}); name the column of times 'time' and separate "
            "columns by commas"
        )
        raise DataFault(str(path), wrong).error()
    if not len(raw):
        wrong = "no rows, an empty series; add readings"
        raise DataFault(str(path), wrong, "time", 1).error()
    cells = raw.pop("time")
    times, faults = _utc(cells, path)
    columns = {}
    for column in raw.columns:
        columns[column], invalid = _numbers(raw[column])
        if invalid.any():
            row = first_true(invalid)
            label = str(cells.iloc[row]) if times is None else times[row].isoformat()
            faults.append(_number_fault(raw[column], invalid, label, path))
    return (None if times is None else pd.DataFrame(columns, index=times)), faults


def read_text(path: Path) -> str:
    """The content of a UTF-8 text file, with or without a byte-order mark."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        wrong = f"not UTF-8 text (byte {error.start}); save it as UTF-8"
        raise DataFault(str(path), wrong).error() from error


def check_unique(columns: Sequence[str], path: Path) -> None:
    """Raise ``DataError`` for a header that names a column twice."""
    repeated = [column for column, count in Counter(columns).items() if count > 1]
    if repeated:
        wrong = "the column is a duplicate in the header row; keep one"
        raise DataFault(str(path), wrong, repeated[0]).error()


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            check_unique(file.schema_arrow.names, path)
            frame = pd.DataFrame(file.read().to_pandas())
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno:
            raise  # an error of the operating system, not a damaged file
        wrong = "not a readable Parquet file; write it again"
        raise DataFault(str(path), wrong).error() from error
    return frame.reset_index() if frame.index.name == "time" else frame


def _read_csv(path: Path) -> pd.DataFrame:
    header = next(csv.reader(read_text(path).splitlines()[:1]), [])
    check_unique(header, path)
    try:
        return pd.read_csv(path, dtype={"time": str}, encoding="utf-8-sig", low_memory=False)
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        reason = " ".join(str(error).split())
        wrong = f"not a readable CSV table ({reason}); correct or fill it"
        raise DataFault(str(path), wrong).error() from error


def _numbers(cells: pd.Series) -> tuple[np.ndarray, BoolArray]:
    """A column as float32, and which cells are text, dates or booleans."""
    numbers = pd.to_numeric(cells, errors="coerce")
    invalid = (numbers.isna() & cells.notna()).to_numpy()
    if cells.dtype.kind in "bmM":  # booleans, durations and dates would convert to numbers
        invalid = cells.notna().to_numpy()
    with np.errstate(over="ignore"):  # an overflow becomes infinite, which is reported later
        return numbers.to_numpy(dtype=np.float32, na_value=np.nan), invalid


def _number_fault(cells: pd.Series, invalid: BoolArray, time: str, path: Path) -> DataFault:
    row = first_true(invalid)
    wrong = (
        f"{str(cells.iloc[row])!r} is not a number; write numbers with a decimal point and "
        "leave the cell empty where there is no reading"
    )
    return DataFault(str(path), wrong, str(cells.name), row + 1, time, int(invalid.sum()))


def _utc(cells: pd.Series, path: Path) -> tuple[pd.DatetimeIndex | None, list[DataFault]]:
    """The times in UTC, or their faults; all must have an offset, of one time zone."""
    if pd.api.types.is_datetime64_dtype(cells.dtype):
        return None, [_time_fault(path, _NAIVE, np.ones(len(cells), dtype=np.bool_), cells)]
    if isinstance(cells.dtype, pd.DatetimeTZDtype):
        texts, times = cells, pd.DatetimeIndex(cells)
        faults = []
    else:
        texts = cells.astype("string")
        times = pd.DatetimeIndex(pd.to_datetime(texts, utc=True, errors="coerce", format="ISO8601"))
        faults = _text_faults(texts, times, path)
    years = times.year
    far = (years < pd.Timestamp.min.year + 1) | (years > pd.Timestamp.max.year - 1)
    unreadable = np.asarray(far, dtype=np.bool_) | np.asarray(times.isna(), dtype=np.bool_)
    if unreadable.any() and not faults:  # outside the range of nanosecond times, or empty
        faults = [_time_fault(path, _UNREADABLE, unreadable, texts)]
    if faults:
        return None, faults
    return times.tz_convert("UTC").as_unit("ns").set_names("time"), []


def _text_faults(texts: pd.Series, times: pd.DatetimeIndex, path: Path) -> list[DataFault]:
    """Faults of times that were read from text: unreadable, naive, of mixed zones."""
    unreadable = np.asarray(times.isna(), dtype=np.bool_)
    naive = texts.str.extract(_OFFSET, expand=False).isna().to_numpy() & ~unreadable
    mixed = f"mixed time zones, as it has no offset while others do; {_STORE_UTC}"
    kinds = ((_UNREADABLE, unreadable), (_NAIVE if (naive | unreadable).all() else mixed, naive))
    faults = [_time_fault(path, wrong, rows, texts) for wrong, rows in kinds if rows.any()]
    return faults or _offset_faults(texts, times, path)


def _offset_faults(texts: pd.Series, times: pd.DatetimeIndex, path: Path) -> list[DataFault]:
    """A fault unless there is one offset, or offsets follow the daylight saving of a time zone.

    Local times change their offset twice a year. Offsets are mixed only if no time zone has these
    offsets at these instants.
    """
    offsets = texts.str.extract(_OFFSET, expand=False)
    if offsets.nunique() == 1:
        return []
    minutes = offsets.map({text: _minutes(text) for text in offsets.unique()}).to_numpy(int)
    changes = np.flatnonzero(np.diff(minutes))
    if not changes.size:  # "Z" and "+00:00"
        return []
    # The rows around the first changes exclude nearly every zone; the others are compared fully.
    probe = np.unique(np.concatenate([[0, len(minutes) - 1], changes[:64], changes[:64] + 1]))
    for zone in sorted(zoneinfo.available_timezones()):
        if _has_offsets(times[probe], minutes[probe], zone) and _has_offsets(times, minutes, zone):
            return []
    row = int(changes[0]) + 1
    why = f"changes the offset from {offsets.iloc[row - 1]} as no single time zone does"
    wrong = f"mixed time zones, as it {why}; {_STORE_UTC}"
    rows = np.zeros(len(texts), dtype=np.bool_)
    rows[changes + 1] = True
    return [_time_fault(path, wrong, rows, texts)]


def _has_offsets(times: pd.DatetimeIndex, minutes: np.ndarray, zone: str) -> bool:
    local = times.tz_convert(zoneinfo.ZoneInfo(zone)).tz_localize(None)
    return bool((((local - times.tz_localize(None)) // pd.Timedelta(minutes=1)) == minutes).all())


def _minutes(offset: str) -> int:
    if offset in {"Z", "z"}:
        return 0
    digits = offset[1:].replace(":", "").ljust(4, "0")
    return int(offset[0] + "1") * (60 * int(digits[:2]) + int(digits[2:]))


def _time_fault(path: Path, wrong: str, rows: BoolArray, texts: pd.Series) -> DataFault:
    row = first_true(rows)
    value = "empty" if pd.isna(texts.iloc[row]) else str(texts.iloc[row])
    return DataFault(str(path), wrong, "time", row + 1, value, int(rows.sum()))
