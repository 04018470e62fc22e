"""Callers of the service, each in its own process."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from urllib.parse import urlencode, urlsplit

import numpy as np

from clearwatt.service.times import text

TIMEOUT = 120.0


@dataclass(frozen=True)
class Answers:
    """Answers to requests for forecasts: milliseconds since each was due (n), and failures."""

    milliseconds: tuple[float, ...]
    failures: tuple[str, ...] = ()
    fallbacks: int = 0

    def percentile(self, share: float) -> float:
        """Milliseconds at this percentile."""
        return float(np.percentile(self.milliseconds, share))

    def __add__(self, other: Answers) -> Answers:
        return Answers(
            self.milliseconds + other.milliseconds,
            self.failures + other.failures,
            self.fallbacks + other.fallbacks,
        )


@contextmanager
def callers(count: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of processes for callers."""
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        yield pool


def post(url: str, path: str, bodies: Iterable[bytes], *, connections: int) -> float:
    """Seconds needed to send the bodies in order over parallel connections."""
    waiting, lock = iter(bodies), threading.Lock()

    def following() -> bytes | None:
        with lock:
            return next(waiting, None)

    def send() -> None:
        connection = connect(url)
        while (body := following()) is not None:
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            content = answer.read()
            if answer.status >= 300:
                raise RuntimeError(f"{path} answered {answer.status}: {content[:300]!r}")

    began = time.perf_counter()
    with ThreadPoolExecutor(connections) as pool:
        for sender in [pool.submit(send) for _ in range(connections)]:
            sender.result()
    return time.perf_counter() - began


def get(url: str, paths: Sequence[str], *, connections: int) -> tuple[float, list[bytes]]:
    """Seconds needed to get the paths over parallel connections, and the answers."""

    def ask(mine: Sequence[str]) -> list[bytes]:
        connection = connect(url)
        return [get_answer(connection, path) for path in mine]

    began = time.perf_counter()
    with ThreadPoolExecutor(connections) as pool:
        parts = pool.map(ask, [paths[i::connections] for i in range(connections)])
        answers = [answer for part in parts for answer in part]
    return time.perf_counter() - began, answers


def ask_forecasts(
    url: str,
    meters: Sequence[str],
    *,
    between: tuple[int, int],
    seconds: float,
    rate: float,
    steps: int = 96,
    step: int = 900,
) -> Answers:
    """Request forecasts of one meter at a time at a fixed rate, like a control-room screen.

    Latency counts from the moment a request was due, so that a slow service does not get fewer
    requests.
    """
    chosen = random.Random(0)
    connection, took, failures, fallbacks = connect(url), [], [], 0
    began = time.perf_counter()
    for number in range(int(seconds * rate)):
        due = began + number / rate
        time.sleep(max(0.0, due - time.perf_counter()))
        start = chosen.randrange(between[0], between[1] - steps * step, step)
        times = {"start": text(start), "end": text(start + steps * step)}
        path = f"/v1/forecasts?{urlencode({'entity': chosen.choice(meters), **times})}"
        try:
            (forecast,) = json.loads(get_answer(connection, path))["forecasts"]
            fallbacks += forecast["fallback"] or len(forecast["values"]) != steps
        except (OSError, http.client.HTTPException, RuntimeError, ValueError, KeyError) as error:
            failures.append(repr(error)[:300])
            connection = connect(url)
        took.append(1000 * (time.perf_counter() - due))
    return Answers(tuple(took), tuple(failures), fallbacks)


def get_answer(connection: http.client.HTTPConnection, path: str) -> bytes:
    """The content of a path; RuntimeError unless it was found."""
    connection.request("GET", path)
    answer = connection.getresponse()
    content = answer.read()
    if answer.status != 200:
        raise RuntimeError(f"{path} answered {answer.status}: {content[:300]!r}")
    return content


def connect(url: str) -> http.client.HTTPConnection:
    """A connection to the service."""
    host = urlsplit(url)
    return http.client.HTTPConnection(host.hostname or "", host.port, timeout=TIMEOUT)
