"""Serialisation of records as bytes and text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from clearwatt.errors import DataError
from clearwatt.service.records import READING, Command, Readings, WeatherIssue


def dump_json(value: object) -> str:
    """Strict JSON: NaN and infinity are errors."""
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"), default=_plain)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"not a JSON value: {error}; use null for a number there is none of"
        ) from None


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} of type {type(value).__name__}")


def dump_readings(readings: Readings) -> bytes:
    """Readings as the bytes of their array."""
    return readings.astype(READING, copy=False).tobytes()


def load_readings(content: bytes) -> Readings:
    """Readings from their bytes; read-only."""
    return np.frombuffer(content, dtype=READING)


def dump_weather(issue: WeatherIssue) -> bytes:
    """An issue as bytes: times, then values, little-endian."""
    times = np.ascontiguousarray(issue.times, dtype="<i8")
    return times.tobytes() + np.ascontiguousarray(issue.values, dtype="<f4").tobytes()


def load_weather(
    zone: str, *, seq: int, issued_at: int, steps: int, content: bytes
) -> WeatherIssue:
    """An issue from its bytes; read-only."""
    times = np.frombuffer(content, dtype="<i8", count=steps)
    values = np.frombuffer(content, dtype="<f4", offset=times.nbytes).reshape(steps, -1)
    return WeatherIssue(zone, issued_at, times, values, seq)


def dump_command(command: Command) -> bytes:
    """A command as JSON, without its zone, which is in the journal."""
    plain = {
        "kind": command.kind,
        "entity": command.entity,
        "arguments": command.arguments,
        "actor": command.actor,
        "at": command.at,
    }
    return dump_json(plain).encode()


def load_command(zone: str, content: bytes) -> Command:
    """A command from its bytes."""
    plain: dict[str, Any] = json.loads(content)
    return Command(zone=zone, **plain)
