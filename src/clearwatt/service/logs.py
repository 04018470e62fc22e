"""Structured logs: one line of JSON per record, without secrets."""

from __future__ import annotations

import json
import logging
import math
import re
import sys
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

HIDDEN = "***"
_SECRET_NAMES = re.compile(r"authori[sz]ation|token|secret|passw(or)?d|cookie|api_?key", re.I)
_SECRETS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?i)\b(bearer|basic)\s+[^\s\"',;]+"), rf"\1 {HIDDEN}"),
    (re.compile(r"\bcw_([A-Za-z0-9-]+)_[^\s\"'&,;]+"), rf"cw_\1_{HIDDEN}"),
    # The last "@" before the host ends the password, which may contain others.
    (re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@\"']*):[^\s\"']*@"), rf"\1:{HIDDEN}@"),
    (
        re.compile(
            r"(?i)\b(password|passwd|pwd|secret|token)(\"?'?\s*[=:]\s*)('[^']*'|\"[^\"]*\"|[^\s&,;]+)"
        ),
        rf"\1\2{HIDDEN}",
    ),
)
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {
    "message",
    "asctime",
    "taskName",
    "color_message",
}
_UVICORN = ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi")
_FRAMES = 8
REPEATED = 20
"""Equal warnings or errors that are written in a window."""
WINDOW = 60.0
_LONGEST_KEY, _MOST_KEYS = 200, 1000


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON: ts, level, event, logger, and the fields given as ``extra``.

    An exception has its type, its message and its stack positions: no source text, no values.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line, with secrets replaced."""
        fields = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            **_event_fields(record),
        }
        if record.exc_info and record.exc_info[1] is not None:
            fields |= _failure(record.exc_info[1])
        fields["ts"] = str(fields["ts"]).replace("+00:00", "Z")
        return json.dumps(_clean(fields), allow_nan=False)


class RepetitionFilter(logging.Filter):
    """Counts a warning or error that repeats instead of writing it again and again.

    Of equal ones, `REPEATED` in a window are written. The first one after the window has the
    number that was left out as the field ``repeated``.

    Args:
        window: seconds.
    """

    def __init__(self, window: float = WINDOW) -> None:
        super().__init__()
        self._window = window
        self._seen: dict[tuple[str, int, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to write the record."""
        if record.levelno < logging.WARNING:
            return True
        key = (record.name, record.levelno, str(record.msg)[:_LONGEST_KEY])
        start, count = self._seen.get(key, (record.created, 0))
        if record.created - start >= self._window:
            if count > REPEATED:
                record.repeated = count - REPEATED
            start, count = record.created, 0
        if len(self._seen) >= _MOST_KEYS and key not in self._seen:
            self._seen.clear()
        self._seen[key] = start, count + 1
        return count < REPEATED


def configure_logging(level: str = "info", *, stream: TextIO | None = None) -> None:
    """Send every record of this process through `JsonFormatter`, uvicorn's and warnings included.

    Args:
        level: the lowest level that is written: debug, info, warning or error.
        stream: where to; standard error by default.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    handler.addFilter(RepetitionFilter())
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name in _UVICORN:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.setLevel(logging.NOTSET)
        logger.propagate = True
    # httpx logs each request at "info", with its whole address.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    logging.captureWarnings(True)


def redact(text: str) -> str:
    """The text without tokens, passwords and the content of Authorization headers."""
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return text


def _event_fields(record: logging.LogRecord) -> dict[str, object]:
    if record.name == "uvicorn.access" and isinstance(record.args, tuple) and len(record.args) == 5:
        client, method, path, _, status = record.args
        return {
            "event": "request",
            "client": client,
            "method": method,
            "path": path,
            "status": status,
        }
    extra = {name: value for name, value in vars(record).items() if name not in _STANDARD}
    try:
        event = record.getMessage()
    except (TypeError, ValueError):
        # Arguments that do not fit their message must not cost the record.
        event = str(record.msg)
    return {"event": event, **extra}


def _failure(error: BaseException) -> dict[str, object]:
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    where = [f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in frames]
    return {"error": f"{type(error).__name__}: {error}", "where": where}


def _clean(value: object, name: str = "") -> object:
    """The value for JSON; secrets are replaced, by the name of the field or by a pattern."""
    if name and _SECRET_NAMES.search(name) and isinstance(value, (str, bytes)):
        return HIDDEN
    if isinstance(value, Mapping):
        return {redact(str(key)): _clean(each, str(key)) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_clean(each, name) for each in value]
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return redact(str(value))
