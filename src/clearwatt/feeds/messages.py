"""Messages as readings: entity by payload or topic, time on the zone's clock, entity's unit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from clearwatt.errors import ConfigurationError, DataError
from clearwatt.feeds.averages import StepAverage
from clearwatt.feeds.directory import EntityDirectory, KnownEntity
from clearwatt.feeds.payloads import UNIT_KEY, PayloadFormat, PayloadItem
from clearwatt.feeds.readings import FeedReading
from clearwatt.feeds.spool import Message
from clearwatt.feeds.topics import TopicPattern, match_first
from clearwatt.imports.units import UNITS, is_energy
from clearwatt.service.api.schemas.base import LARGEST
from clearwatt.service.times import text

_NO_TIME = (
    "there is no time in it; send it, or use the time of arrival with --time arrival if the feed "
    "is never away for long"
)


@dataclass(frozen=True)
class MessageFormat:
    """How messages become readings.

    Args:
        topics: patterns; the first that matches a topic counts.
        zone: of entities whose topic names none.
        payload: the format of payloads.
        interval: which end of its interval a time marks.
        align: whether times are rounded down to the zone's step.
        average: whether the readings of a step are averaged.
    """

    topics: Sequence[TopicPattern]
    zone: str | None = None
    payload: PayloadFormat = field(default_factory=PayloadFormat)
    interval: Literal["start", "end"] = "start"
    align: bool = False
    average: bool = False

    def __post_init__(self) -> None:
        if self.average and self.interval == "end":
            raise ConfigurationError(
                "--average and --interval end exclude each other; an average is over the step in "
                "which its readings were measured"
            )
        if self.average and self.payload.unit is not None and is_energy(self.payload.unit):
            raise ConfigurationError(
                f"--average and --unit {self.payload.unit} exclude each other; energy per step is "
                "not averaged"
            )
        for topic in self.topics:
            if self.zone is None and "zone" not in topic.names():
                raise ConfigurationError(
                    f"the zone of topic {topic.text!r} is not known; give --zone, or name the "
                    "level with it {zone}"
                )


class MessageReader:
    """Makes readings of messages with what the service knows of zones and entities."""

    def __init__(self, form: MessageFormat, directory: EntityDirectory) -> None:
        self._form, self._directory = form, directory

    def items(self, message: Message) -> list[PayloadItem]:
        """The items of a message's payload."""
        try:
            return self._form.payload.read(message.payload)
        except Exception as error:  # one strange message must not stop those after it
            return [PayloadItem("", fault=_fault(error))]

    def reading(self, message: Message, item: PayloadItem) -> FeedReading | None:
        """The reading of an item; None for an old one without time; DataError if it is unusable."""
        if item.fault is not None:
            raise DataError(item.fault)
        names = match_first(self._form.topics, message.topic)
        if names is None:
            raise DataError(f"topic {message.topic!r} matches none of --topic")
        entity = self._entity(names, item)
        if item.time is None:
            if self._form.payload.time != "arrival":
                raise DataError(_NO_TIME)
            if message.retained:
                return None  # published at any time before
        try:
            return self._convert(message, item, entity)
        except DataError:
            raise
        except Exception as error:  # as above; errors of the service are not among these
            raise DataError(_fault(error)) from error

    def _convert(self, message: Message, item: PayloadItem, entity: KnownEntity) -> FeedReading:
        """The reading in the entity's unit, at the start of its interval."""
        value = item.value
        if self._form.average and item.unit is not None and is_energy(item.unit):
            raise DataError(f"unit: {item.unit} is energy per step, which --average cannot use")
        if value is not None and item.unit is not None:
            value *= entity.factor_from(item.unit)
        if value is not None and abs(value) > LARGEST:
            raise DataError(
                f"value: {item.value:g} {item.unit or entity.unit} is more than {LARGEST:g} "
                f"{entity.unit}; correct the value or its unit"
            )
        return FeedReading(entity.id, self._time(message, item, entity.step), value)

    def payload(self, average: StepAverage) -> str:
        """An average as a payload that the feed reads; its unit, if it is known, comes with it."""
        form = self._form.payload
        values = {
            form.entity_key: average.entity,
            form.time_key: text(average.time),
            form.value_key: average.value,
        }
        return json.dumps({**values, **({UNIT_KEY: average.unit} if average.unit in UNITS else {})})

    def _entity(self, names: Mapping[str, str], item: PayloadItem) -> KnownEntity:
        zone = names.get("zone", self._form.zone)
        entity = item.entity or names.get("entity")
        if entity is None:
            raise DataError(
                "it names no entity; send it in the payload, or name the level of the topic with "
                "it {entity}"
            )
        assert zone is not None  # checked by MessageFormat
        return self._directory.find(entity, zone)

    def _time(self, message: Message, item: PayloadItem, step: int) -> int:
        """The start of the interval; the service refuses times that are not on the clock."""
        moment = message.arrived if item.time is None else item.time
        second = int(moment // 1)
        if item.time is None or self._form.align or self._form.average:
            second = second // step * step
        elif moment != second:
            raise DataError(
                "time: it has fractions of a second; send whole steps, or round down with --align"
            )
        return second - step if self._form.interval == "end" else second


def _fault(error: Exception) -> str:
    return f"it cannot be read ({type(error).__name__}: {error})"
