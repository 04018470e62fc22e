"""Payloads of messages: a JSON object, a list of them, or a plain number."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from clearwatt.errors import ConfigurationError, DataError
from clearwatt.imports.local_time import zone_of
from clearwatt.imports.units import UNITS
from clearwatt.service.times import EARLIEST, LATEST, seconds

_LIST_KEYS = ("readings", "measurements")
UNIT_KEY = "unit"
_MILLISECONDS_FROM = 10**11
"""Numbers from here on are milliseconds; as seconds they would be after the year 5000."""
_MISSING = object()


class PayloadItem(NamedTuple):
    """One reading of a payload as sent; ``text`` is the part of the payload that it is.

    ``time`` is in seconds since 1970, None if the payload has none. ``entity`` is None if the topic
    names it. Exactly one of ``fault`` and the rest has a meaning.
    """

    text: str
    entity: str | None = None
    time: float | None = None
    value: float | None = None
    unit: str | None = None
    fault: str | None = None


@dataclass(frozen=True)
class PayloadFormat:
    """How payloads are read.

    Args:
        entity_key: key of the entity in a JSON object; dots lead into nested objects.
        time_key: key of the time.
        value_key: key of the value.
        unit: of values that state none; None: that of the entity.
        timezone: of times without an offset; None: such times are faults.
        time: "payload", or "arrival" for readings that have no time.
    """

    entity_key: str = "entity"
    time_key: str = "time"
    value_key: str = "value"
    unit: str | None = None
    timezone: str | None = None
    time: Literal["payload", "arrival"] = "payload"

    def __post_init__(self) -> None:
        if self.unit is not None and self.unit not in UNITS:
            raise ConfigurationError(f"unit is {self.unit!r}; choose from {', '.join(UNITS)}")
        if self.timezone is not None:
            zone_of(self.timezone)

    def read(self, payload: bytes) -> list[PayloadItem]:
        """The readings of a payload, or its faults."""
        try:
            text = payload.decode("utf-8-sig")
        except UnicodeDecodeError:
            return [PayloadItem("", fault="the payload is not text; send JSON or a number")]
        try:
            content = json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            wrong = "the payload is neither JSON nor a number"
            return [PayloadItem(text, fault=f"{wrong}; a number has a decimal point and no unit")]
        return list(self._items(content, text))

    def _items(self, content: object, text: str) -> Iterator[PayloadItem]:
        if isinstance(content, dict):
            found = next((content[key] for key in _LIST_KEYS if key in content), None)
            content = found if isinstance(found, list) else content
        if not isinstance(content, list):
            yield self._item(content, text)
            return
        for each in content:
            yield self._item(each, json.dumps(each))

    def _item(self, content: object, text: str) -> PayloadItem:
        try:
            if isinstance(content, dict):
                return self._object(content, text)
            return PayloadItem(text, value=_number(content), unit=self.unit)
        except DataError as error:
            return PayloadItem(text, fault=str(error))

    def _object(self, content: Mapping[str, object], text: str) -> PayloadItem:
        value = _look_up(content, self.value_key)
        if value is _MISSING:
            raise DataError(f"there is no {self.value_key!r} in it; send it, or name its key")
        entity = _look_up(content, self.entity_key)
        if entity is not _MISSING and not isinstance(entity, str):
            raise DataError(f"{self.entity_key} is {_shown(entity)}; it must be text")
        time = _look_up(content, self.time_key)
        return PayloadItem(
            text,
            entity=entity if isinstance(entity, str) else None,
            time=None if time is _MISSING else self._time(time),
            value=_number(value),
            unit=_unit(content.get(UNIT_KEY)) or self.unit,
        )

    def _time(self, given: object) -> float:
        try:
            moment = self._moment(given)
        except OverflowError:
            moment = math.inf
        if not EARLIEST <= moment < LATEST:
            raise DataError(
                f"time: {_shown(given)} is not between 1990 and 2199; send seconds or milliseconds "
                "since 1970, or text such as 2024-05-01T12:15:00Z"
            )
        return moment

    def _moment(self, given: object) -> float:
        """Seconds since 1970; OverflowError far outside of the calendar."""
        if isinstance(given, int | float) and not isinstance(given, bool):
            return given / 1000 if abs(given) >= _MILLISECONDS_FROM else float(given)
        if isinstance(given, str) and self.timezone is not None:
            try:
                moment = datetime.fromisoformat(given)
            except ValueError:
                moment = None
            if moment is not None and moment.tzinfo is None:
                return _instant(moment, self.timezone)
        try:
            whole = seconds(given)
            # Fractions matter only for the message that refuses them.
            return (
                datetime.fromisoformat(str(given).upper()).timestamp()
                if "." in str(given)
                else whole
            )
        except DataError as error:
            hint = "" if self.timezone else " (or state the time zone of such times to the feed)"
            raise DataError(f"time: {error}{hint if 'time zone' in str(error) else ''}") from None


def _instant(moment: datetime, timezone: str) -> float:
    """A local time as seconds since 1970; DataError in the hours of a change of the clock."""
    local = moment.replace(tzinfo=zone_of(timezone))
    if local.utcoffset() != local.replace(fold=1).utcoffset():
        raise DataError(
            f"time: {moment.isoformat()} is within a change of the clock in {timezone}, so it is "
            "not one instant; send times with an offset"
        )
    return local.astimezone(UTC).timestamp()


def _look_up(content: Mapping[str, object], path: str) -> object:
    """The value at a key; a key with dots leads into nested objects."""
    found: object = content
    for key in [path] if path in content else path.split("."):
        if not isinstance(found, dict) or key not in found:
            return _MISSING
        found = found[key]
    return found


def _number(given: object) -> float | None:
    if given is None:
        return None
    if isinstance(given, str):
        try:
            given = float(given)
        except ValueError:
            raise DataError(f"value is {_shown(given)}; it must be a number") from None
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise DataError(f"value is {_shown(given)}; it must be a number, or null for no reading")
    try:
        number = float(given)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise DataError(f"value is {_shown(given)}; send null where there is no value")
    return number


def _unit(given: object) -> str | None:
    if given is not None and given not in UNITS:
        raise DataError(f"unit is {_shown(given)}; it must be one of {', '.join(UNITS)}")
    return None if given is None else str(given)


def _shown(given: object) -> str:
    return repr(given)[:60]


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")
