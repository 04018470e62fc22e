"""Delivery of readings to the service, with the reason for each one that it refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from clearwatt.feeds.readings import FeedReading
from clearwatt.feeds.stopping import StopRequest
from clearwatt.http_retry import RetryCallback
from clearwatt.service.client import Client, Series, ServiceError
from clearwatt.service.client.connection import LONGEST_WAIT
from clearwatt.service.times import texts

READINGS_PER_REQUEST = 5_000
TIMEOUT = 30.0
"""Seconds to wait for an answer of the service."""


@dataclass(frozen=True)
class DeliveryReceipt:
    """What the service did with readings; ``refused`` maps positions to reasons."""

    new: int
    duplicates: int
    corrections: int
    refused: Mapping[int, str]


class Delivery:
    """Sends readings until the service has stored or refused each; waits while it is away.

    The service stores a repeated reading once, so a request whose answer was lost is repeated.
    """

    def __init__(
        self, url: str, token: str | None, *, stop: StopRequest, on_retry: RetryCallback
    ) -> None:
        self._stop, self._on_retry = stop, on_retry
        self.client = Client(
            url, token, timeout=TIMEOUT, patience=None, on_retry=on_retry, sleep=stop.pause
        )

    def close(self) -> None:
        """Close the connection."""
        self.client.close()

    def send(self, readings: Sequence[FeedReading]) -> Iterator[DeliveryReceipt]:
        """Send readings in their order; a receipt for each request."""
        for first in range(0, len(readings), READINGS_PER_REQUEST):
            part = readings[first : first + READINGS_PER_REQUEST]
            receipt = self._send(part)
            refused = {first + at: reason for at, reason in receipt.refused.items()}
            yield DeliveryReceipt(receipt.new, receipt.duplicates, receipt.corrections, refused)

    def _send(self, readings: Sequence[FeedReading]) -> DeliveryReceipt:
        positions: dict[str, list[int]] = {}
        for at, reading in enumerate(readings):
            positions.setdefault(reading.entity, []).append(at)
        series = [
            Series(
                entity,
                texts([readings[at].time for at in found]),
                [readings[at].value for at in found],
            )
            for entity, found in positions.items()
        ]
        while True:
            try:
                receipt = self.client.send_measurements(series, on_error="skip")
                break
            except ServiceError as error:
                if error.status < 500:
                    raise
                # An internal error may pass; the readings must not be lost by it.
                self._on_retry(error, LONGEST_WAIT)
                self._stop.pause(LONGEST_WAIT)
        refused = {
            at: each.reason
            for each in receipt.rejected
            for at in _places(each.where, list(positions.values()))
        }
        return DeliveryReceipt(receipt.new, receipt.duplicates, receipt.corrections, refused)


def _places(where: str, positions: Sequence[Sequence[int]]) -> Sequence[int]:
    """Positions of the readings that a refusal is about: "series.3" or "series.3.14"."""
    _, series, *place = where.split(".")
    found = positions[int(series)]
    return [found[int(place[0])]] if place else found
