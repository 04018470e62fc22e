"""Events as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator

from clearwatt.service.api.schemas.history import EventAnswer

COLUMNS = ("seq", "at", "kind", "zone", "entity", "time", "actor", "message", "key", "details")


def lines(events: Iterable[EventAnswer]) -> Iterator[str]:
    """The header and one line per event."""
    yield _line(COLUMNS)
    for event in events:
        row = {**event.model_dump(), "details": json.dumps(event.details)}
        yield _line(_escape(row[name]) for name in COLUMNS)


def _line(cells: Iterable[str]) -> str:
    text = io.StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue()


def _escape(value: object) -> str:
    """Text that a spreadsheet does not interpret as a formula."""
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
