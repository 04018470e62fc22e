"""Dates and times in cells: their forms, and the order of day, month and year."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pandas as pd

_MONTH_NAMES = (
    "jan sty janv", "feb lut févr fév fevr", "mar mrz mär mars", "apr kwi avr avril", "may mai maj",
    "jun cze juin", "jul lip juil", "aug sie août aout", "sep sept wrz", "oct okt paź paz",
    "nov lis", "dec dez gru déc",
)  # fmt: skip
_MONTHS = {
    name: number for number, names in enumerate(_MONTH_NAMES, start=1) for name in names.split()
}
_DATE = r"""
    (?: (?P<y1>\d{4}) (?P<s1>[-/.]) (?P<m1>\d{1,2}) (?P=s1) (?P<d1>\d{1,2})
      | (?P<y2>(?:19|20)\d{2}) (?P<m2>\d{2}) (?P<d2>\d{2})
      | (?P<a>\d{1,2}) (?P<s2>[-/.]) (?P<b>\d{1,2}) (?P=s2) (?P<c>\d{4}|\d{2})
      | (?P<d3>\d{1,2}) [-\ .]\ ? (?P<name>[^\W\d_]{3,5}) \.? [-\ ] (?P<y3>\d{4}|\d{2}) )
"""
_HOURS = r"""
    (?P<hour>\d{1,2}) \ ? (?P<early>[AaBb](?![Mm]))?
    (?: [:h.] (?P<minute>\d{2}) (?: [:.] (?P<second>\d{2}) (?:[.,]\d+)? )?
      | (?P<compact>\d{2})(?:\d{2})? )?
    \ ? (?P<late>[AaBb](?![Mm.]))?
    \ ? (?P<half>[AaPp])?(?(half)\.?[Mm]\.?)
"""
_ZONE = r"(?P<zone> Z | [+-]\d{2}(?::?\d{2})? | \(?[A-Z]{3,4}\)? )"
_STAMP = re.compile(rf"{_DATE} (?: (?:[T ,]\ ?|\ -\ )? {_HOURS} \ ?{_ZONE}? )?", re.VERBOSE)
_TIME = re.compile(rf"{_HOURS} \ ?{_ZONE}?", re.VERBOSE)
_CLOCK = re.compile(r"\d{1,2} ?[AaBb]?[:h]\d{2}.*|\d{1,2}\.\d{2}\.\d{2}")
_EPOCH = re.compile(r"1\d{9}(?:\.\d+)?|1\d{12}")
ORDERS = ("ymd", "dmy", "mdy")


@dataclass(frozen=True, eq=False)
class WallTimes:
    """Times as written, in any zone (n each).

    ``wall`` is NaT for cells that cannot be read. ``mark`` is A or B where the cell names one of
    the two hours of the autumn change, ``zone`` an offset or an abbreviation, or empty.
    """

    wall: npt.NDArray[np.datetime64]
    mark: npt.NDArray[np.str_]
    zone: npt.NDArray[np.str_]
    ends_at_24: bool = False

    def take(self, rows: npt.NDArray[np.int64]) -> WallTimes:
        """The times of these rows."""
        return WallTimes(self.wall[rows], self.mark[rows], self.zone[rows], self.ends_at_24)


@lru_cache(maxsize=10_000)
def looks_like_date(cell: str) -> bool:
    """Whether a cell is a date, with or without a time of day, or seconds since 1970."""
    return bool(_STAMP.fullmatch(cell) or _EPOCH.fullmatch(cell))


@lru_cache(maxsize=10_000)
def has_time_of_day(cell: str) -> bool:
    """Whether a cell is a date with a time of day, or seconds since 1970."""
    found = _STAMP.fullmatch(cell)
    return bool(_EPOCH.fullmatch(cell)) or (found is not None and found["hour"] is not None)


@lru_cache(maxsize=10_000)
def looks_like_time(cell: str) -> bool:
    """Whether a cell is a time of day with hours and minutes."""
    return bool(_CLOCK.fullmatch(cell) and _TIME.fullmatch(cell))


def possible_orders(cells: pd.Series) -> list[str]:
    """The orders of day, month and year in which all dates that can be read exist.

    A date that begins with the year, or has a month's name, leaves nothing open. Dates with dots
    begin with the day everywhere.
    """
    parts = _extract(pd.Series(pd.unique(cells)), _STAMP)
    numeric = parts[parts["a"] != ""]
    if numeric.empty:
        return ["ymd"]
    short = bool((numeric["c"].str.len() == 2).any())
    dots = bool((numeric["s2"] == ".").all())
    wanted = ["dmy"] if dots else list(ORDERS if short else ORDERS[1:])
    valid = {order: int(_days(numeric, order).notna().sum()) for order in wanted}
    return [order for order, count in valid.items() if count == max(valid.values())]


def parse_times(cells: pd.Series, order: str, clock: pd.Series | None = None) -> WallTimes:
    """The times of cells; ``clock`` has the time of day, or the number of the hour, if apart."""
    texts = cells.astype(str)
    if clock is not None:
        texts = texts.str.cat(clock.astype(str), sep="\n")
    codes, unique = pd.factorize(texts, use_na_sentinel=False)
    unique_texts = pd.Series(unique, dtype=str)
    parts = _extract(unique_texts, _STAMP) if clock is None else _joined_parts(unique_texts)
    return _wall_times(unique_texts, parts, order).take(np.asarray(codes, dtype=np.int64))


def _wall_times(texts: pd.Series, parts: pd.DataFrame, order: str) -> WallTimes:
    wall = _days(parts, order) + _offsets(parts)
    zone = parts["zone"].str.strip("()").to_numpy(dtype=str)
    epoch = texts.str.fullmatch(_EPOCH).to_numpy(dtype=bool)
    if epoch.any():
        seconds = pd.to_numeric(texts.where(epoch), errors="coerce")
        seconds = seconds.where(seconds < 1e12, seconds / 1000)
        wall = wall.where(~epoch, pd.to_datetime(seconds, unit="s"))
        zone = np.where(epoch, "Z", zone)
    mark = (parts["early"] + parts["late"]).str.upper().to_numpy(dtype=str)
    at_24 = bool(((parts["hour"] == "24") & wall.notna()).any())
    return WallTimes(wall.to_numpy(dtype="datetime64[ns]"), mark, zone, at_24)


def _joined_parts(texts: pd.Series) -> pd.DataFrame:
    """Parts of texts that are a date, a line break and a time of day."""
    split = texts.str.split("\n", n=1, expand=True)
    # A date cell of a workbook ends in midnight; the time of day is in the other cell.
    days = split[0].str.replace(r"[T ]00:00(:00)?$", "", regex=True)
    parts, hours = _extract(days, _STAMP), _extract(split[1], _TIME)
    whole = (parts["hour"] == "") & (hours["hour"] != "")
    parts[list(hours.columns)] = hours
    return parts.where(whole, "")


def _extract(texts: pd.Series, pattern: re.Pattern[str]) -> pd.DataFrame:
    """The named groups of the cells that match as a whole; the others are empty."""
    names = list(pattern.groupindex)
    empty = dict.fromkeys(names, "")
    matches = (pattern.fullmatch(str(text).strip()) for text in texts)
    rows = [found.groupdict("") if found else empty for found in matches]
    return pd.DataFrame(rows, index=texts.index, columns=names, dtype=str)


def _days(parts: pd.DataFrame, order: str) -> pd.Series:
    """Midnight of each date; NaT for a date that does not exist."""
    a, b, c = (parts[name] for name in "abc")
    year, month, day = {"ymd": (a, b, c), "dmy": (c, b, a), "mdy": (c, a, b)}[order]
    named = parts["name"].str.lower().map(_MONTHS).fillna(0).astype(int).astype(str)
    texts = {  # at most one of the terms is not empty
        "year": year + parts["y1"] + parts["y2"] + parts["y3"],
        "month": month + parts["m1"] + parts["m2"] + named.where(named != "0", ""),
        "day": day + parts["d1"] + parts["d2"] + parts["d3"],
    }
    numbers = pd.DataFrame({key: _numbers(text) for key, text in texts.items()})
    numbers["year"] = numbers["year"].where(~(numbers["year"] < 100), numbers["year"] + 2000)
    return pd.to_datetime(numbers, errors="coerce")


def _offsets(parts: pd.DataFrame) -> pd.Series:
    """Time since midnight; NaT for a time that does not exist. Hour 24 is the next midnight."""
    hour = _numbers(parts["hour"]).fillna(0)
    minute = _numbers(parts["minute"] + parts["compact"]).fillna(0)
    second = _numbers(parts["second"]).fillna(0)
    half = parts["half"].str.lower()
    wrong = (half != "") & ((hour < 1) | (hour > 12))
    hour = hour.where(half == "", hour % 12 + 12 * (half == "p"))
    wrong |= (hour > 24) | (minute > 59) | (second > 59) | ((hour == 24) & (minute + second > 0))
    total = pd.to_timedelta(hour * 3600 + minute * 60 + second, unit="s")
    return total.where(~wrong)


def _numbers(texts: pd.Series) -> pd.Series:
    return pd.to_numeric(texts, errors="coerce").astype(float)
