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

from clearwatt.data.validation import data_error
from clearwatt.errors import DataError

_OFFSET = r"(?:[Tt ]\d\d(?::?\d\d){0,2}(?:[.,]\d+)?)\s*(Z|z|[+-]\d\d(?::?\d\d)?)\s*$"


def read_table(path: Path) -> pd.DataFrame:
    """The rows of a file in their order: index ``time`` in UTC, one float32 column per column."""
    raw = _read_parquet(path) if path.suffix == ".parquet" else _read_csv(path)
    if "time" not in raw.columns:
        found = ", ".join(map(str, raw.columns[:6]))
        raise DataError(
            f"{path}: no column 'time' (found: {found}); name the column of times 'time' and "
            "separate columns by commas"
        )
    if not len(raw):
        raise DataError(f"{path}, column 'time', row 1: no rows, an empty series; add readings")
    times = _utc(raw.pop("time"), path)
    columns = {column: _numbers(raw[column], times, path=path) for column in raw.columns}
    return pd.DataFrame(columns, index=times)


def read_text(path: Path) -> str:
    """The content of a UTF-8 text file, with or without a byte-order mark."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8") from error


def check_unique(columns: Sequence[str], path: Path) -> None:
    """Raise ``DataError`` for a header that names a column twice."""
    repeated = [column for column, count in Counter(columns).items() if count > 1]
    if repeated:
        raise DataError(
            f"{path}, column '{repeated[0]}', header row: the column is a duplicate; keep one"
        )


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            check_unique(file.schema_arrow.names, path)
            frame = pd.DataFrame(file.read().to_pandas())
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno:
            raise  # an error of the operating system, not a damaged file
        raise DataError(f"{path}: not a readable Parquet file; write it again") from error
    return frame.reset_index() if frame.index.name == "time" else frame


def _read_csv(path: Path) -> pd.DataFrame:
    header = next(csv.reader(read_text(path).splitlines()[:1]), [])
    check_unique(header, path)
    try:
        return pd.read_csv(path, dtype={"time": str}, encoding="utf-8-sig", low_memory=False)
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        reason = " ".join(str(error).split())
        raise DataError(
            f"{path}: not a readable CSV table ({reason}); correct or fill it"
        ) from error


def _numbers(cells: pd.Series, times: pd.DatetimeIndex, *, path: Path) -> np.ndarray:
    """A column as float32; ``DataError`` for text, dates and booleans."""
    numbers = pd.to_numeric(cells, errors="coerce")
    invalid = (numbers.isna() & cells.notna()).to_numpy()
    if cells.dtype.kind in "bmM":  # booleans, durations and dates would convert to numbers
        invalid = cells.notna().to_numpy()
    if invalid.any():
        row = int(np.argmax(invalid))
        wrong = (
            f"{str(cells.iloc[row])!r} is not a number; write numbers with a decimal point and "
            "leave the cell empty where there is no reading"
        )
        value = times[row].isoformat()
        raise data_error(str(path), cells.name, row=row + 1, value=value, wrong=wrong)
    with np.errstate(over="ignore"):  # an overflow becomes infinite, which is reported later
        return numbers.to_numpy(dtype=np.float32, na_value=np.nan)


def _utc(cells: pd.Series, path: Path) -> pd.DatetimeIndex:
    """The times in UTC; all must have an offset, of one time zone."""
    if isinstance(cells.dtype, pd.DatetimeTZDtype):
        times = pd.DatetimeIndex(cells)
    elif pd.api.types.is_datetime64_any_dtype(cells.dtype):
        raise _naive_time_error(path, row=1, value=cells.iloc[0])
    else:
        times = _parse_times(cells, path)
    if times.hasnans:
        raise _unreadable_time_error(path, row=int(np.argmax(times.isna())) + 1, value="empty")
    far = (times.year < pd.Timestamp.min.year + 1) | (times.year > pd.Timestamp.max.year - 1)
    if far.any():  # the range of nanosecond times
        row = int(np.argmax(far))
        raise _unreadable_time_error(path, row=row + 1, value=str(times[row]))
    return times.tz_convert("UTC").as_unit("ns").set_names("time")


def _parse_times(cells: pd.Series, path: Path) -> pd.DatetimeIndex:
    texts = cells.astype("string")
    blank = texts.isna().to_numpy()
    if blank.any():
        raise _unreadable_time_error(path, row=int(np.argmax(blank)) + 1, value="empty")
    times = pd.DatetimeIndex(pd.to_datetime(texts, utc=True, errors="coerce", format="ISO8601"))
    if times.hasnans:
        row = int(np.argmax(times.isna()))
        raise _unreadable_time_error(path, row=row + 1, value=repr(str(texts.iloc[row])))
    offsets = texts.str.extract(_OFFSET, expand=False)
    naive = offsets.isna().to_numpy()
    if naive.all():
        raise _naive_time_error(path, row=1, value=texts.iloc[0])
    if naive.any():
        row = int(np.argmax(naive))
        raise _mixed_zones_error(
            path, row=row + 1, value=texts.iloc[row], why="has no offset while others do"
        )
    _check_offsets(texts, times, offsets=offsets, path=path)
    return times


def _check_offsets(
    texts: pd.Series, times: pd.DatetimeIndex, *, offsets: pd.Series, path: Path
) -> None:
    """Require one offset, or offsets that follow the daylight saving of some time zone.

    Local times change their offset twice a year. Offsets are mixed only if no time zone has these
    offsets at these instants.
    """
    if offsets.nunique() == 1:
        return
    minutes = offsets.map({text: _minutes(text) for text in offsets.unique()}).to_numpy(int)
    changes = np.flatnonzero(np.diff(minutes))
    if not changes.size:  # "Z" and "+00:00"
        return
    # The rows around the first changes exclude nearly every zone; the others are compared fully.
    probe = np.unique(np.concatenate([[0, len(minutes) - 1], changes[:64], changes[:64] + 1]))
    for zone in sorted(zoneinfo.available_timezones()):
        if _has_offsets(times[probe], minutes[probe], zone) and _has_offsets(times, minutes, zone):
            return
    row = int(changes[0]) + 1
    why = f"changes the offset from {offsets.iloc[row - 1]} as no single time zone does"
    raise _mixed_zones_error(path, row=row + 1, value=texts.iloc[row], why=why)


def _has_offsets(times: pd.DatetimeIndex, minutes: np.ndarray, zone: str) -> bool:
    local = times.tz_convert(zoneinfo.ZoneInfo(zone)).tz_localize(None)
    return bool((((local - times.tz_localize(None)) // pd.Timedelta(minutes=1)) == minutes).all())


def _minutes(offset: str) -> int:
    if offset in {"Z", "z"}:
        return 0
    digits = offset[1:].replace(":", "").ljust(4, "0")
    return int(offset[0] + "1") * (60 * int(digits[:2]) + int(digits[2:]))


def _naive_time_error(path: Path, *, row: int, value: object) -> DataError:
    wrong = "a naive time, without time zone; store UTC, for example 2024-03-31T00:00:00+00:00"
    return data_error(str(path), "time", row=row, value=value, wrong=wrong)


def _mixed_zones_error(path: Path, *, row: int, value: object, why: str) -> DataError:
    wrong = f"mixed time zones, as it {why}; store every time in UTC"
    return data_error(str(path), "time", row=row, value=value, wrong=wrong)


def _unreadable_time_error(path: Path, *, row: int, value: str) -> DataError:
    wrong = "no time can be read here; write it as 2024-03-31T00:00:00+00:00"
    return data_error(str(path), "time", row=row, value=value, wrong=wrong)
