"""Artificial zones: weather and readings, and their registration in a service."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float64Array
from clearwatt.service.api.schemas.entities import NewEntity
from clearwatt.service.api.schemas.zones import NewZone
from clearwatt.service.client import Client
from clearwatt.service.times import texts
from load.callers import post

STEP = 900
HOUR = 3600
START = 1_704_067_200
"""2024-01-01, midnight UTC."""
DAY = 86_400
ROWS = DAY // STEP
"""Rows of a day."""
CAPACITY = 100.0
SETTLE = 8
"""Rows after a row until its quality verdicts are final."""


@dataclass(frozen=True)
class Region:
    """Zones of equal size; ``history`` is the warm-up in rows, ``days`` the span of the weather."""

    zones: int
    meters: int
    history: int = 2 * ROWS
    days: int = 7
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """Names of all zones."""
        return [f"zone-{number:03}" for number in range(self.zones)]

    def meters_of(self, zone: str) -> list[str]:
        """Names of the meters of a zone."""
        return [f"{zone}.meter-{number:03}" for number in range(self.meters)]

    @property
    def everyone(self) -> list[str]:
        """Names of all meters."""
        return [meter for zone in self.names for meter in self.meters_of(zone)]

    def rows(self, first: int, count: int) -> tuple[npt.NDArray[np.int64], Float64Array]:
        """Times (n) and readings of all meters (n x meters), with lasting changes.

        A row does not depend on the rows requested with it.
        """
        places = np.arange(first, first + count)
        hours = places * STEP / HOUR
        phase = np.arange(self.zones * self.meters) / 17
        daily = np.sin(2 * np.pi * hours[:, None] / 24 + phase)
        # The consumption of a meter changes every few days, so that there is novelty.
        regime = 1 + 0.4 * np.sign(np.sin(places[:, None] / 300 + phase))
        noise = np.stack(
            [np.random.default_rng(int(place)).normal(size=len(phase)) for place in places]
        )
        values = 35 + regime * (12 + 8 * daily + 4 * np.sin(hours / 7)[:, None]) + noise
        return START + STEP * places, np.round(values, 2)


def prepare(url: str, region: Region) -> None:
    """Register a region and warm it up with its history."""
    with Client(url) as client:
        for zone in region.names:
            client.add_zone(_zone(zone, region))
            meters = [
                NewEntity(id=meter, zone=zone, kind="consumer", capacity=CAPACITY)
                for meter in region.meters_of(zone)
            ]
            client.add_entities(meters)
            send_weather(client, zone, day=0, days=region.days)
    _send_history(url, region)
    with Client(url) as client:
        for zone in region.names:
            client.warmup(zone=zone)
        wait_for_zones(client, region, lambda zone: zone["state"] == "learning")


def wait_for_zones(
    client: Client, region: Region, reached: Callable[[dict[str, Any]], bool]
) -> None:
    """Wait until every zone has reached a condition; polls one zone at a time."""
    for zone in region.names:
        while True:
            answer = client.zone(zone).model_dump()
            if answer["error"]:
                raise RuntimeError(f"{zone}: {answer['error']}")
            if answer["position"] == answer["journal"] and reached(answer):
                break
            time.sleep(0.25)


def row_batches(region: Region, first: int, count: int, *, size: int) -> Iterator[bytes]:
    """Request bodies of ``size`` readings, row by row, like live readings."""
    meters = [json.dumps(meter) for meter in region.everyone]
    for row in range(first, first + count):
        times, values = region.rows(row, 1)
        stamp = json.dumps(texts(times)[0])
        items = [
            f'{{"entity":{meter},"time":{stamp},"value":{value}}}'
            for meter, value in zip(meters, values[0].tolist(), strict=True)
        ]
        for start in range(0, len(items), size):
            yield f'{{"measurements":[{",".join(items[start : start + size])}]}}'.encode()


def _send_history(url: str, region: Region) -> None:
    times, values = region.rows(0, region.history)
    bodies = _series_batches(region.everyone, texts(times), values, size=20_000)
    post(url, "/v1/measurements", bodies, connections=2)


def _series_batches(
    meters: Sequence[str], stamps: list[str], values: Float64Array, *, size: int
) -> Iterator[bytes]:
    """Request bodies of about ``size`` readings, meter by meter, like history."""
    at_once = max(1, size // len(stamps))
    for start in range(0, len(meters), at_once):
        columns = values[:, start : start + at_once].T.tolist()
        series = [
            {"entity": meter, "times": stamps, "values": column}
            for meter, column in zip(meters[start : start + at_once], columns, strict=True)
        ]
        yield json.dumps({"series": series}).encode()


def _zone(zone: str, region: Region) -> NewZone:
    variables = ["temperature_c", "wind_ms", "ghi_wm2"]
    return NewZone(id=zone, step=STEP, variables=variables, settings=dict(region.settings))


def send_weather(client: Client, zone: str, *, day: int, days: int) -> None:
    """Send the weather forecast issued on ``day`` for the following ``days``."""
    times = START + DAY * day + HOUR * np.arange(days * 24 + 1)
    hours = (times - START) / HOUR
    values = {
        "temperature_c": 8 + 5 * np.sin(2 * np.pi * hours / 24) + np.sin(12.9898 * hours),
        "wind_ms": 6 + 3 * np.sin(hours / 7) + 0.3 * np.sin(78.233 * hours),
        "ghi_wm2": np.maximum(0, 500 * np.sin(2 * np.pi * (hours - 6) / 24)),
    }
    stamps = texts(times)
    client.send_weather(
        zone,
        issued_at=stamps[0],
        times=stamps,
        values={name: column.tolist() for name, column in values.items()},
    )
