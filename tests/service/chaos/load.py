"""A steady load: 1,000 readings and 20 forecasts a second, through all that happens."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
from tests.service.durability.delivery import CLEAR, HISTORY, HOUR, NAMES, START, World, in_order
from tests.service.durability.delivery import Request as SmallRequest
from tests.service.durability.feeding import DAY, Feeder

from clearwatt.errors import ClearwattError
from clearwatt.service.api.schemas.entities import NewEntity
from clearwatt.service.api.schemas.zones import NewZone
from clearwatt.service.client import Client, Series
from clearwatt.service.times import text

from .callers import Callers

ENTITIES = 250
ROWS_A_SECOND = 4
READINGS_A_SECOND = ENTITIES * ROWS_A_SECOND
FORECASTS_A_SECOND = 20
SECONDS_A_BLOCK = 4
"""A block of the two small zones, with late readings and corrections, every so many seconds."""
WEATHER_ROWS = 96
WIDE = "wide"
WIDE_NAMES = tuple(f"meter-{k}" for k in range(ENTITIES))
ASKERS = 4
ANSWER_WITHIN = 60.0


@dataclass(frozen=True)
class WideRow:
    """One reading of each of the many meters."""

    load: Load
    row: int
    rows: int = 1

    def send(self, client: Client) -> None:
        """Send the readings of the rows."""
        rows = range(self.row, self.row + self.rows)
        times = [text(START + HOUR * row) for row in rows]
        power = self.load.power(self.row, self.row + self.rows)
        client.send_measurements(
            [Series(name, times, power[:, k].tolist()) for k, name in enumerate(WIDE_NAMES)]
        )


@dataclass(frozen=True)
class WideWeather:
    """An issue for the zone of the many meters."""

    load: Load
    row: int
    rows: int

    def send(self, client: Client) -> None:
        """Send the issue."""
        rows = np.arange(self.row, self.row + self.rows)
        wind, sun = self.load.weather(rows)
        client.send_weather(
            WIDE,
            issued_at=text(START + HOUR * self.row),
            times=[text(START + HOUR * int(row)) for row in rows],
            values={"wind": wind.tolist(), "sun": sun.tolist()},
        )


Request = SmallRequest | WideRow | WideWeather


class Load:
    """The two small zones of the other tests of durability, and one of many meters.

    Args:
        seconds: how long the load lasts.
    """

    def __init__(self, seconds: float) -> None:
        self.rows = int(ROWS_A_SECOND * seconds)
        self.small = World(max(8, int(seconds / SECONDS_A_BLOCK)))

    def begin(self, client: Client) -> None:
        """Register everyone, send the history, and have it learned from."""
        self.small.begin(client)
        variables = ["wind", "sun"]
        settings = {**CLEAR, "novelty_capacity": 400, "alpha": 1.5, "epochs": 1, "warmup_epochs": 2}
        client.add_zone(NewZone(id=WIDE, step=HOUR, variables=variables, settings=settings))
        client.add_entities(
            [NewEntity(id=name, zone=WIDE, kind="generator", capacity=50) for name in WIDE_NAMES]
        )
        WideWeather(self, 0, HISTORY + WEATHER_ROWS).send(client)
        for row in range(0, HISTORY, 100):
            WideRow(self, row, 100).send(client)
        client.warmup(zone=WIDE)

    def requests(self) -> list[Request]:
        """All that follows, in the order of its time."""
        small = self.small.requests(in_order)
        found: list[Request] = []
        for k in range(self.rows):
            row = HISTORY + k
            if k % WEATHER_ROWS == 0:
                found.append(WideWeather(self, row, 2 * WEATHER_ROWS))
            found.append(WideRow(self, row))
            found += small[k * len(small) // self.rows : (k + 1) * len(small) // self.rows]
        return found

    def power(self, first: int, stop: int) -> np.ndarray:
        """Power of the many meters (rows x entities)."""
        rows = np.arange(first, stop)
        wind, sun = self.weather(rows)
        share = np.linspace(0.2, 1.0, ENTITIES)
        noise = np.sin(rows[:, None] * (1 + np.arange(ENTITIES)))
        return 2 * wind[:, None] * share + 0.02 * sun[:, None] * (1 - share) + noise + 1.5

    def weather(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Wind and sun at rows."""
        return 6 + 4 * np.sin(rows / 17), 400 * (1 + np.sin(rows / 24 * 2 * np.pi))


@contextmanager
def steady(feeder: Feeder, seconds: float) -> Iterator[None]:
    """Let the feeder send its requests at a constant rate; it catches up after a restart."""
    ended, began, total = threading.Event(), time.monotonic(), len(feeder.requests)

    def pace() -> None:
        while not ended.wait(0.05):
            feeder.allow(int(total * (time.monotonic() - began) / seconds))

    thread = threading.Thread(target=pace, daemon=True, name="pace")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class Windows:
    """Times at which a restart was under way, so that requests may fail."""

    def __init__(self) -> None:
        self._windows: list[tuple[float, float]] = []
        self._lock = threading.Lock()
        self._open: list[float] = []

    @contextmanager
    def restart(self) -> Iterator[None]:
        """The block restarts something."""
        began = time.monotonic()
        with self._lock:
            self._open.append(began)
        try:
            yield
        finally:
            with self._lock:
                self._open.remove(began)
                self._windows.append((began, time.monotonic()))

    def overlap(self, start: float, stop: float) -> bool:
        """Whether a request of that time met a restart."""
        with self._lock:
            windows = [*self._windows, *((began, float("inf")) for began in self._open)]
        return any(start < end and stop > began for began, end in windows)

    @property
    def seconds(self) -> float:
        """Seconds of all restarts."""
        return sum(stop - start for start, stop in self._windows)


class Askers(Callers):
    """Ask for forecasts at a constant rate; note those that fail without a restart."""

    def __init__(self, url: str, windows: Windows) -> None:
        super().__init__(partial(self._run, number) for number in range(ASKERS))
        self.url, self.windows = url, windows
        self.answered, self.excused, self.slowest = 0, 0, 0.0
        self._lock = threading.Lock()

    def _run(self, number: int) -> None:
        rng = np.random.default_rng(number)
        names: Sequence[str] = (*NAMES, *WIDE_NAMES)
        due = time.monotonic()
        with Client(self.url, patience=0.0, timeout=ANSWER_WITHIN) as client:
            while not self._ended.wait(max(0.0, due - time.monotonic())):
                due += ASKERS / FORECASTS_A_SECOND
                self._ask(client, names[int(rng.integers(len(names)))])

    def _ask(self, client: Client, name: str) -> None:
        began, failure = time.monotonic(), None
        try:
            (found,) = client.forecasts([name], start=DAY[0], end=DAY[1]).forecasts
            if None in found.values:
                failure = f"{name}: a forecast without values"
        except ClearwattError as error:
            failure = f"{name}: {error}"
        ended = time.monotonic()
        excused = failure is not None and self.windows.overlap(began, ended)
        with self._lock:
            self.answered += failure is None
            self.excused += excused
            if failure is None and not self.windows.overlap(began, ended):
                self.slowest = max(self.slowest, ended - began)
            if failure is not None and not excused:
                self.failures.append(f"{time.strftime('%H:%M:%S', time.gmtime())} {failure}")
