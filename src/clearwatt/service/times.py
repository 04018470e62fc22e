"""Times of the API: RFC 3339 with a time zone in requests, UTC with a Z in answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache

import numpy as np

from clearwatt.arrays import Int64Array
from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.errors import DataError

Times = Int64Array
"""Seconds since 1970."""

EARLIEST = int(datetime(1990, 1, 1, tzinfo=UTC).timestamp())
"""Earliest time that the service accepts."""
LATEST = int(datetime(2200, 1, 1, tzinfo=UTC).timestamp())
FUTURE = SECONDS_PER_DAY
"""Maximum seconds from now of a reading's time; clocks of meters are off, but not by days."""

_RFC_3339 = re.compile(
    r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})", re.ASCII
)
_LOST_PLUS = re.compile(
    r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d{1,9})? \d{2}:\d{2}", re.ASCII
)
"""A time whose + an address has turned into a space."""
_REMEDY = "write it as in 2024-05-01T12:15:00Z or 2024-05-01T14:15:00+02:00"


def seconds(given: object) -> int:
    """Whole seconds since 1970 of an RFC 3339 time; fractions of a second are cut off."""
    return _parse(_text(given))[0]


def exact_seconds(given: object) -> int:
    """Like `seconds`; DataError if the time has fractions of a second."""
    whole, fraction = _parse(_text(given))
    if fraction:
        raise DataError(f"{given!r} has fractions of a second; readings lie on whole steps")
    return whole


def text(time: float) -> str:
    """A time as the API writes it; milliseconds only where there are any."""
    moment = datetime.fromtimestamp(time, UTC)
    precision = "milliseconds" if time != int(time) else "seconds"
    return moment.isoformat(timespec=precision).removesuffix("+00:00") + "Z"


def optional_text(time: float | None) -> str | None:
    """Like `text`; None stays None."""
    return None if time is None else text(time)


def texts(times: Times | Sequence[int]) -> list[str]:
    """Many whole seconds (n) as the API writes them."""
    stamps = np.asarray(times, np.int64).astype("datetime64[s]")
    return [f"{stamp}Z" for stamp in np.datetime_as_string(stamps)]


def _text(given: object) -> str:
    if isinstance(given, str):
        return given
    if isinstance(given, int | float) and not isinstance(given, bool):
        raise DataError(f"{given} is a number; {_REMEDY}, not as seconds since 1970")
    raise DataError(f"a time is text; {_REMEDY}")


@lru_cache(maxsize=65_536)  # batches repeat the same few times for many entities
def _parse(given: str) -> tuple[int, bool]:
    if _LOST_PLUS.fullmatch(given):
        raise DataError(
            f"{given!r} has a space before its offset; in an address a + means a space, so write "
            f"it as %2B ({given[::-1].replace(' ', 'B2%', 1)[::-1]}), or give UTC with a Z"
        )
    if not _RFC_3339.fullmatch(given):
        naive = _RFC_3339.fullmatch(given + "Z") is not None
        what = "has no time zone" if naive else "is not an RFC 3339 time"
        raise DataError(f"{given[:60]!r} {what}; {_REMEDY}")
    try:
        moment = datetime.fromisoformat(given.upper()).astimezone(UTC)
        return int(moment.timestamp() // 1), moment.microsecond != 0
    except (ValueError, OverflowError):
        raise DataError(f"{given!r} is no time of the calendar; {_REMEDY}") from None
