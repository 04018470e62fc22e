"""The MQTT feed: messages of a broker become readings of a service, each once.

Broker -> spool on disk -> service. A message leaves the spool when the service has stored its
readings, or when they are in the file of dead letters.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from clearwatt.errors import DataError
from clearwatt.feeds.averages import KEPT, Sample, StepAverage, StepAverages
from clearwatt.feeds.broker import Broker
from clearwatt.feeds.dead_letters import DeadLetter, DeadLetterFile
from clearwatt.feeds.delivery import READINGS_PER_REQUEST, Delivery
from clearwatt.feeds.directory import EntityDirectory
from clearwatt.feeds.messages import MessageFormat, MessageReader
from clearwatt.feeds.payloads import PayloadItem
from clearwatt.feeds.readings import FeedReading
from clearwatt.feeds.spool import Message, Spool
from clearwatt.feeds.stopping import FeedStoppedError, StopRequest
from clearwatt.service.times import text

MESSAGES_PER_BATCH = 2_000
COLLECT_SECONDS = 0.2
"""How long messages are collected before a request."""


@dataclass
class FeedCounts:
    """What a feed has done since its start.

    Messages: received, sent again by the broker, dropped (QoS 0 only), waiting in the spool.
    Readings: stored as new, known to the service already, changed there, given up.
    """

    connected: bool = False
    received: int = 0
    repeated: int = 0
    dropped: int = 0
    waiting: int = 0
    new: int = 0
    duplicates: int = 0
    corrections: int = 0
    dead_letters: int = 0


class _Place(NamedTuple):
    """A reading's message, its number there, and the part of the payload that it is."""

    message: Message
    number: int
    item: PayloadItem

    def letter(self, reason: str) -> DeadLetter:
        payload = self.item.text.encode() or self.message.payload
        message = self.message._replace(payload=payload)
        return DeadLetter(f"{message.id}.{self.number}", time.time(), reason, message)


class MqttFeed:
    """Moves messages from the spool to the service while the broker fills it."""

    def __init__(
        self,
        broker: Broker,
        spool: Spool,
        *,
        form: MessageFormat,
        delivery: Delivery,
        letters: DeadLetterFile,
        stop: StopRequest,
    ) -> None:
        self._broker, self._spool = broker, spool
        self._delivery, self._letters, self._stop = delivery, letters, stop
        self._directory = EntityDirectory(delivery.client, stop)
        self._reader, self._zone = MessageReader(form, self._directory), form.zone
        self._averages = StepAverages(spool) if form.average else None
        self._counts = FeedCounts()
        self._retry = broker.intake.retry

    def run(self) -> Iterator[FeedCounts]:
        """Run until the stop is asked for; yields the counts after each batch and when idle."""
        self._broker.start()
        try:
            if self._zone is not None:
                self._directory.require_zone(self._zone)
            while not self._stop.is_set():
                self._broker.check()
                yield self._update_counts()
                messages = self._collect()
                if messages:
                    self._deliver(messages)
                if self._averages is not None:
                    self._send_averages(self._averages)
        except FeedStoppedError:
            pass
        finally:
            self._stop.set()
            self._broker.close()
        yield self._update_counts()

    def _collect(self) -> list[Message]:
        """The oldest messages; waits a little for more, so that requests are not tiny."""
        messages = self._spool.first(MESSAGES_PER_BATCH)
        if len(messages) == MESSAGES_PER_BATCH:
            return messages
        self._stop.pause(COLLECT_SECONDS)
        return self._spool.first(MESSAGES_PER_BATCH)

    def _deliver(self, messages: Sequence[Message]) -> None:
        self._directory.expire()
        places: list[_Place] = []
        readings: list[FeedReading] = []
        letters: list[DeadLetter] = []
        for message in messages:
            for number, item in enumerate(self._reader.items(message)):
                place = _Place(message, number, item)
                try:
                    reading = self._reader.reading(message, item)
                    if reading is not None and self._averages is not None:
                        _require_recent(reading)
                except DataError as error:
                    letters.append(place.letter(str(error)))
                    continue
                if reading is not None:
                    places.append(place)
                    readings.append(reading)
        last = messages[-1].id
        if self._averages is None:
            refused = self._send(readings)
            letters += [places[at].letter(reason) for at, reason in refused.items()]
            self._give_up(letters)
            self._retry(lambda: self._spool.remove_through(last))
        else:
            self._give_up(letters)
            averages, samples = self._averages, list(self._samples(readings, places))
            self._retry(lambda: averages.add(samples, through=last))

    def _send(self, readings: Sequence[FeedReading]) -> dict[int, str]:
        """Send readings and count them; returns the reasons of those refused, by position."""
        refused: dict[int, str] = {}
        for receipt in self._delivery.send(readings):
            self._counts.new += receipt.new
            self._counts.duplicates += receipt.duplicates
            self._counts.corrections += receipt.corrections
            refused.update(receipt.refused)
        return refused

    def _give_up(self, letters: Sequence[DeadLetter]) -> None:
        self._counts.dead_letters += self._retry(lambda: self._letters.append(letters))

    def _samples(
        self, readings: Sequence[FeedReading], places: Sequence[_Place]
    ) -> Iterator[Sample]:
        for (entity, moment, value), place in zip(readings, places, strict=True):
            if value is not None:
                known = self._directory.last_known(entity)
                yield Sample(entity, moment, known.step, value, place.message.topic, known.unit)

    def _send_averages(self, averages: StepAverages) -> None:
        """Send the averages of the steps that have ended."""
        now = time.time()
        due = averages.due(now, READINGS_PER_REQUEST)
        if not due:
            return
        refused = self._send([FeedReading(each.entity, each.time, each.value) for each in due])
        self._give_up([self._average_letter(due[at], why) for at, why in refused.items()])
        self._retry(lambda: averages.mark_sent(due, now))

    def _average_letter(self, average: StepAverage, reason: str) -> DeadLetter:
        """The letter of an average; sent again, it counts as one more reading of its step."""
        payload = self._reader.payload(average).encode()
        message = Message(average.topic, payload, time.time())
        identity = f"average.{average.entity}.{average.time}.{average.value!r}"
        return DeadLetter(identity, message.arrived, reason, message)

    def _update_counts(self) -> FeedCounts:
        counts, intake = self._counts, self._broker.intake
        counts.connected = self._broker.connected
        counts.received, counts.repeated = intake.received, intake.repeated
        counts.dropped = intake.dropped
        with suppress(FeedStoppedError):
            counts.waiting = self._retry(self._spool.count)
        return counts


def _require_recent(reading: FeedReading) -> None:
    """Raise a DataError for a reading whose step may have been forgotten."""
    if reading.time < time.time() - KEPT:
        raise DataError(
            f"time: {text(reading.time)} is more than two days ago, too late for an average; send "
            "history to a feed without --average"
        )
