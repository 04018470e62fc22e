"""A broker and a service for each test, both real."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.service.application import Web, listening

from .brokers import Mosquitto, Publisher, mosquitto_path
from .feed_thread import FeedThread


@pytest.fixture(scope="session")
def mosquitto() -> str:
    return mosquitto_path()


@pytest.fixture
def broker(mosquitto: str, tmp_path: Path) -> Iterator[Mosquitto]:
    made = Mosquitto(mosquitto, tmp_path / "broker")
    made.start()
    yield made
    made.stop()


@pytest.fixture
def publisher(broker: Mosquitto) -> Iterator[Publisher]:
    made = Publisher(broker)
    yield made
    made.close()


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    """A service that knows park and mill, in quarter-hours; its clock says 2024-06-01."""
    made = Web(tmp_path)
    made.register("park", "mill")
    yield made
    made.close()


@pytest.fixture
def url(web: Web) -> Iterator[str]:
    with listening(web) as address:
        yield address


class Line(NamedTuple):
    """A broker with a publisher, a service, and the folder of a feed between them."""

    broker: Mosquitto
    publisher: Publisher
    web: Web
    url: str
    state: Path

    def feed(self, *options: str) -> FeedThread:
        """A feed in this process, with options of ``clearwatt feed mqtt``."""
        return FeedThread(self.state, self.broker.address, self.url, *options)


@pytest.fixture
def line(broker: Mosquitto, publisher: Publisher, web: Web, url: str, tmp_path: Path) -> Line:
    return Line(broker, publisher, web, url, tmp_path / "state")
