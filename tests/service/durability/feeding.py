"""Feeding a service that may go away at any moment; what it does not acknowledge is sent again."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import httpx
from tests.service.processes import until
from tests.service.running import PATIENCE, settled

from clearwatt.http_retry import TEMPORARY
from clearwatt.service.client import Client, ServiceError, ServiceUnreachableError

RETRY, AGAIN = 0.02, 0.1
"""Seconds before the same is tried again because it failed, and although it did not."""
DAY = ("2020-01-08T00:00:00Z", "2020-01-09T00:00:00Z")
"""In the history, so that there is weather for it whatever was delivered."""
EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""First and last of the ports that the kernel hands out to whoever asks for any."""
CLAIMS: list[socket.socket] = []
"""One per port that this process has been given, open as long as the process lives."""


class Request(Protocol):
    """Something that is sent to a service, and may be sent again."""

    def send(self, client: Client) -> None:
        """Send it."""


class Feeder:
    """Sends requests in order from a thread; when it may not go on, the last one again and again.

    Args:
        url: where the service is, when it is.
        requests: all there is to be sent; whatever was sent may be sent again.
        pause: seconds between two.
        repeat: whether the last one is sent again while no other may be sent.
    """

    def __init__(
        self, url: str, requests: Sequence[Request], *, pause: float = 0.0, repeat: bool = True
    ) -> None:
        self.url, self.requests, self._pause, self._repeat = url, requests, pause, repeat
        self.acknowledged, self.refusals, self._allowed = 0, set[int](), 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="feeder")
        self._failure: BaseException | None = None

    def allow(self, requests: int) -> None:
        """Let so many of the requests be sent, from the first on."""
        self._allowed = min(requests, len(self.requests))

    def deliver(self, requests: int | None = None, *, patience: float = PATIENCE) -> None:
        """Let so many requests (or all) be sent, and wait until they are acknowledged."""
        self.allow(len(self.requests) if requests is None else requests)
        until(lambda: self._failure or self.acknowledged >= self._allowed, patience)
        if self._failure is not None:
            raise self._failure

    def __enter__(self) -> Feeder:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            with Client(self.url, patience=0.0) as client:
                while not self._ended.is_set():
                    self._step(client)
        except BaseException as error:
            self._failure = error

    def _step(self, client: Client) -> None:
        new = self.acknowledged < self._allowed
        if not new and not self._repeat:
            self._ended.wait(RETRY)
            return
        at = self.acknowledged if new else self.acknowledged - 1
        if at >= 0 and self._sent(client, self.requests[at]):
            self.acknowledged += new
            self._ended.wait(self._pause if new else AGAIN)
        else:
            self._ended.wait(RETRY)

    def _sent(self, client: Client, request: Request) -> bool:
        try:
            request.send(client)
        except ServiceUnreachableError:
            return False
        except ServiceError as error:
            if error.status not in TEMPORARY:
                raise
            self.refusals.add(error.status)
            return False
        return True


def settle(client: Client, patience: float = PATIENCE) -> None:
    """Wait until all that arrived has been learned from."""
    until(lambda: settled(client), patience)


class CaughtUp:
    """Whether the learner that runs now has applied the whole journal, asked again and again.

    One that died when all was learned starts again from an older checkpoint: until it has caught
    up, a stop leaves this checkpoint, and the rest in the journal.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._first: tuple[int, float] | None = None

    def __call__(self) -> bool:
        learner = httpx.get(f"{self.url}/v1/health", timeout=60).json()["learner"]
        if not learner["alive"] or learner["heartbeat_age"] is None:
            self._first = None
            return False
        beat = time.monotonic() - learner["heartbeat_age"]
        if self._first is None or self._first[0] != learner["restarts"]:
            self._first = learner["restarts"], beat  # perhaps of the one before
            return False
        return bool(beat > self._first[1] + 0.5 and learner["queue"] == 0)


def free_port() -> str:
    """A port for a service that is to come back at the same address.

    While the service is away, nobody else gets the port: it is none of those that the kernel hands
    out, and no other process of tests is given it.
    """
    first, _ = EPHEMERAL.read_text().split()
    return next(str(port) for port in range(int(first) - 1, 1024, -1) if _is_claimed(port))


def _is_claimed(port: int) -> bool:
    """Claim a port for this process; False if another has it or listens there."""
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0clearwatt-tests-port-{port}")  # a name without file, gone with the process
        with socket.create_server(("127.0.0.1", port)):
            CLAIMS.append(claim)
            return True
    except OSError:
        claim.close()
        return False


@contextmanager
def asking(
    url: str, zones: Sequence[str], *, broken: list[str] | None = None, pause: float = 0.0
) -> Iterator[list[set[str]]]:
    """Ask for forecasts of a day all the time; gives the sources of each answer so far.

    An answer other than a good one ends the block with its error. If a list is given, connections
    that break off are added to it instead. ``pause`` is that between two zones in seconds.
    """
    answers: list[set[str]] = []
    failures: list[BaseException] = []
    ended = threading.Event()

    def ask() -> None:
        try:
            with Client(url, patience=0.0) as client:
                while not ended.wait(AGAIN / 2):
                    for zone in zones:
                        ended.wait(pause)
                        try:
                            found = client.zone_forecasts(zone, start=DAY[0], end=DAY[1]).forecasts
                        except ServiceUnreachableError as error:
                            if broken is None:
                                raise
                            broken.append(str(error))
                        else:
                            answers.append({source for each in found for source in each.sources})
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=ask, daemon=True, name="asking")
    thread.start()
    try:
        yield answers
    finally:
        ended.set()
        thread.join()
    if failures:
        raise failures[0]
