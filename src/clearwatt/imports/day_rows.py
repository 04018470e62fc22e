"""Tables with one row per day and one column per hour or quarter-hour."""

from __future__ import annotations

import re

import pandas as pd

from clearwatt.imports import words
from clearwatt.imports.tables import Table
from clearwatt.imports.time_text import looks_like_time

_LEAST = 23  # hours of the shortest day
_NUMBER = re.compile(r"(?:h|he|hr|hour|std|stunde|godz|godzina|heure)?[ ._-]*(\d{1,2}[ab]?)\.?")
_RANGE = re.compile(
    r"(\d{1,2}[:h]\d{2})(?::00)?\s*(?:-|\u2013|to|bis|do)\s*\d{1,2}[:h]\d{2}(?::00)?"
)


def unfold_days(table: Table) -> Table:
    """A table with one row per time, of one with a row per day; any other table as it is.

    Empty cells are left out: hours that a day does not have are empty.
    """
    clocks = {at: clock for at, name in enumerate(table.header) if (clock := _clock(name))}
    if len(clocks) < _LEAST:
        return table
    hours = list(clocks)
    if clocks[hours[-1]] == "00:00":  # after the others: the end of the day
        clocks[hours[-1]] = "24:00"
    others = [at for at in range(len(table.header)) if at not in clocks]
    others = [at for at in others if not words.has_word(table.header[at], words.TOTAL)]
    long = pd.concat(
        [
            table.body[others]
            .assign(clock=clocks[at], value=table.body[at])
            .set_axis(range(len(others) + 2), axis=1)
            for at in hours
        ]
    )
    value = len(others) + 1
    long = long[long[value] != ""].sort_index(kind="stable")
    units = {table.units[at] for at in hours}
    return Table(
        table.file,
        table.sheet,
        (*(table.header[at] for at in others), _title(table, hours), "value"),
        (*(table.units[at] for at in others), None, units.pop() if len(units) == 1 else None),
        long,
        table.above,
    )


def _clock(header: str) -> str | None:
    """The time of day, or the number of the hour, that a header names."""
    text = words.plain(header)
    if found := _RANGE.fullmatch(text) or _NUMBER.fullmatch(text):
        return found[1].upper()
    return re.sub(r"^(\d\d:\d\d):00$", r"\1", text) if looks_like_time(text) else None


def _title(table: Table, hours: list[int]) -> str:
    """The header of the times, which tells how they are meant."""
    if any(_RANGE.fullmatch(words.plain(table.header[at])) for at in hours):
        return "time from"
    if any(looks_like_time(table.header[at]) for at in hours):
        return "time of day"
    return "hour"
