"""Dates and times in cells: their forms, and the order of day, month and year."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.imports import words

_MONTH_NAMES = (
    "january januar janner jaenner janvier enero gennaio styczen stycznia leden ledna januari "
    "janeiro",
    "february februar feber fevrier febrero febbraio luty lutego unor unora februari fevereiro",
    "march marz maerz mrz mars marzo marzec marca brezen brezna maart mrt marco marcius",
    "april avril abril aprile kwiecien kwietnia duben dubna aprilis",
    "may mai mayo maggio maj maja kveten kvetna mei maio majus",
    "june juni juin junio giugno czerwiec czerwca cerven cervna cvn junho junius",
    "july juli juillet julio luglio lipiec lipca cervenec cervence cvc julho julius",
    "august aout agosto sierpien sierpnia srpen srpna augustus augusti augusztus",
    "september septembre septiembre setiembre settembre wrzesien wrzesnia zari setembro szeptember",
    "october oktober octobre octubre ottobre pazdziernik pazdziernika rijen rijna outubro",
    "november novembre noviembre listopad listopada novembro",
    "december dezember decembre diciembre dicembre grudzien grudnia prosinec prosince dezembro",
)
"""Names of months, without accents, in the languages of the words, and rare abbreviations."""
_MONTHS = {
    name: number for number, names in enumerate(_MONTH_NAMES, start=1) for name in names.split()
}
_DATE = r"""
    (?: (?P<y1>\d{4}) (?P<s1>[-/.]) (?:(?<=\.)\ )? (?P<m1>\d{1,2})
        (?P=s1) (?:(?<=\.)\ )? (?P<d1>\d{1,2}) (?:\.(?=\ |$))?
      | (?P<y2>(?:19|20)\d{2}) (?P<m2>\d{2}) (?P<d2>\d{2})
      | (?P<a>\d{1,2}) (?P<s2>[-/.]) (?:(?<=\.)\ )? (?P<b>\d{1,2})
        (?P=s2) (?:(?<=\.)\ )? (?P<c>\d{4}|\d{2})
      | (?P<d3>\d{1,2}) [-\ .]\ ? (?P<name>[^\W\d_]{3,12}) \.? [-\ ] (?P<y3>\d{4}|\d{2})
      | (?P<y5>\d{4}) -?W (?P<week>\d{2}) -? (?P<weekday>[1-7])
      | (?P<name2>[^\W\d_]{3,12}) \.?\ (?P<d4>\d{1,2}),?\ (?P<y4>\d{4}) )
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
_SERIAL = r"(?:3[6-9]|4\d|5[0-4])\d{3}(?:[.,]\d+)?"
ORDERS = ("ymd", "dmy", "mdy")
SERIAL_HINT = (
    "there are numbers such as {}, which may be Excel's dates; format their column as date and "
    "time, and save the file again"
)


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
    """Whether a cell is a date, with or without a time of day, a range, or seconds since 1970."""
    plain = bool(_EPOCH.fullmatch(cell)) or _match_stamp(cell) is not None
    return plain or range_start(cell) is not None


@lru_cache(maxsize=10_000)
def has_time_of_day(cell: str) -> bool:
    """Whether a cell is a date with a time of day, or seconds since 1970."""
    found = _match_stamp(cell)
    return bool(_EPOCH.fullmatch(cell)) or (found is not None and found["hour"] is not None)


def range_start(cell: str) -> str | None:
    """The first time of a cell such as 01.05.2024 00:00 - 01.05.2024 00:15; None for others."""
    parts = re.split(r"\s+[-\u2013]\s+", cell)
    return parts[0] if len(parts) == 2 and all(map(has_time_of_day, parts)) else None


def is_swapped(cells: pd.Series) -> bool:
    """Whether Excel has read some dates of a column with day and month swapped.

    Dates with a day up to 12 became cells of dates, which begin with the year, and all others,
    which are no dates for it, stayed text.
    """
    parts = _extract(pd.Series(pd.unique(cells.astype(str))), _STAMP)
    dates, texts = parts[parts["y1"] != ""], parts[parts["a"] != ""]
    short = (texts["s2"] == "-") & (texts["c"].str.len() == 2)  # may begin with the year
    if dates.empty or texts.empty or short.any():
        return False
    kept = _numbers(texts["a"]), _numbers(texts["b"])
    return bool((_numbers(dates["d1"]) <= 12).all() and any((each > 12).all() for each in kept))


def _match_stamp(cell: str) -> re.Match[str] | None:
    """The parts of a date; None if a word in it is not the name of a month."""
    found = _STAMP.fullmatch(cell)
    name = None if found is None else found["name"] or found["name2"]
    return None if name and not _month(name) else found


def _month(name: str) -> int:
    """The number of the month with this name, or with names that begin so; 0 if not exactly one.

    A longer word is no month: the Finnish marraskuu is not March.
    """
    text = words.plain(name)
    if text in _MONTHS or len(text) < 3:
        return _MONTHS.get(text, 0)
    found = {number for each, number in _MONTHS.items() if each.startswith(text)}
    return found.pop() if len(found) == 1 else 0


@lru_cache(maxsize=10_000)
def looks_like_time(cell: str) -> bool:
    """Whether a cell is a time of day with hours and minutes."""
    return bool(_CLOCK.fullmatch(cell) and _TIME.fullmatch(cell))


def serial_hint(rows: Sequence[str]) -> str | None:
    """What to do about rows that begin with Excel's numbers of days since 1900; None if none do."""
    found = [each for row in rows if (each := re.match(rf"({_SERIAL})(?:[;,\t|]|$)", row))]
    return SERIAL_HINT.format(found[0][1]) if len(found) >= 3 else None


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


def known_order(cell: str) -> str | None:
    """Why the order of a date that leaves nothing open is known; None for one with numbers only."""
    found = _STAMP.fullmatch(cell.strip())
    if found is None or found["a"]:
        return None
    return "year" if found["y1"] or found["y2"] or found["y5"] else "name"


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
    names = parts["name"] + parts["name2"]
    named = names.map({name: str(_month(name) or "") for name in names.unique()})
    texts = {  # at most one of the terms is not empty
        "year": year + parts["y1"] + parts["y2"] + parts["y3"] + parts["y4"],
        "month": month + parts["m1"] + parts["m2"] + named,
        "day": day + parts["d1"] + parts["d2"] + parts["d3"] + parts["d4"],
    }
    numbers = pd.DataFrame({key: _numbers(text) for key, text in texts.items()})
    numbers["year"] = numbers["year"].where(~(numbers["year"] < 100), numbers["year"] + 2000)
    days = pd.to_datetime(numbers, errors="coerce")
    weeks = parts["y5"] + parts["week"] + parts["weekday"]
    if not (weeks != "").any():
        return days
    return days.where(weeks == "", pd.to_datetime(weeks, format="%G%V%u", errors="coerce"))


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
