"""Nothing is lost and nothing doubled, whoever of broker, feed and service is killed."""

import sqlite3
from contextlib import closing, contextmanager

import numpy as np
import pytest
from tests.service.durability.feeding import free_port
from tests.service.processes import until
from tests.service.running import PATIENCE, running

from clearwatt.service.api.schemas.entities import NewEntity
from clearwatt.service.api.schemas.zones import NewZone
from clearwatt.service.client import Client
from clearwatt.service.store import open_store
from clearwatt.service.times import text

from .brokers import Mosquitto, Publisher
from .running_feed import running_mqtt

STEP, START = 900, 1_704_067_200  # 2024, midnight UTC
ENTITIES = [f"meter-{number:02d}" for number in range(50)]
STEPS = 2_000
READINGS = len(ENTITIES) * STEPS
BLOCKS = 8
"""Parts of the readings; something happens while each but the last is on its way."""


def value(entity: int, step: int) -> float:
    return entity + step / 1000


def messages(block: int):
    """A block's readings, most as one message each, some as lists."""
    for step in range(STEPS * block // BLOCKS, STEPS * (block + 1) // BLOCKS):
        for number, name in enumerate(ENTITIES):
            reading = {"time": text(START + STEP * step), "value": value(number, step)}
            yield f"site/{name}/power", [reading] if number % 10 == 0 else reading


def register(client: Client) -> None:
    client.add_zone(NewZone(id="north", step=STEP, variables=["wind"]))
    client.add_entities(
        [NewEntity(id=name, zone="north", kind="generator", capacity=100) for name in ENTITIES]
    )


def journalled(database) -> list[tuple[int, int]]:
    """Entity and time of every reading in the journal, which the learner learns from."""
    with closing(open_store(database)) as store:
        found, after = [], 0
        while entries := store.journal("north", after=after):
            found += [entry.content for entry in entries if isinstance(entry.content, np.ndarray)]
            after = entries[-1].seq
    everything = np.concatenate(found)
    return list(zip(everything["entity"].tolist(), everything["time"].tolist(), strict=True))


def count(database) -> int:
    """Readings in a database that a service may be writing to."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=60)) as connection:
        return int(connection.execute("SELECT count(*) FROM readings").fetchone()[0])


class Grid:
    """Broker, feed and service at fixed addresses, each of which can be killed."""

    def __init__(self, program, folder) -> None:
        self.broker = Mosquitto(program, folder / "broker")
        self.folder, self.port = folder, free_port()
        self.database = folder / "data" / "clearwatt.db"
        self.url = f"http://127.0.0.1:{self.port}"

    @contextmanager
    def service(self):
        with running(self.folder / "data", "--port", self.port) as service:
            yield service

    def feed(self):
        options = ("--zone", "north", "--topic", "site/{entity}/power")
        return running_mqtt(self.folder / "state", self.broker.address, self.url, *options)


@pytest.mark.slow
def test_100_000_readings_arrive_once_each_with_five_kills_of_the_service(mosquitto, tmp_path):
    """Also one kill of the feed and one restart of the broker."""
    grid = Grid(mosquitto, tmp_path)
    grid.broker.start()
    try:
        with grid.service() as service, Client(service.url) as client:
            register(client)
            with grid.feed() as feed:
                until(feed.receives, PATIENCE)
                publisher = Publisher(grid.broker)
                publisher.send(messages(0))
                until(lambda: count(grid.database) > 0, PATIENCE)
                service.kill()
            # The feed was killed, too, with messages in its spool and on their way to it.
        publisher.send(messages(1))
        with grid.feed() as feed:
            for block in range(2, 6):
                before = count(grid.database)
                with grid.service() as service:
                    publisher.send(messages(block))
                    until(lambda before=before: count(grid.database) > before, PATIENCE)
                    service.kill()
            grid.broker.stop()
            publisher.send(messages(6))
            grid.broker.start()
            publisher.send(messages(7))
            with grid.service() as service:
                until(lambda: publisher.published == READINGS, PATIENCE)
                until(lambda: count(grid.database) == READINGS, PATIENCE)
                counts = feed.stop()
                publisher.close()
                with Client(service.url) as client:
                    check_values(client)
                    assert client.events(kinds=["correction"]).events == []
                service.kill()
    finally:
        grid.broker.stop()
    assert counts["waiting"] == counts["corrections"] == counts["dead_letters"] == 0
    found = journalled(grid.database)
    assert len(found) == len(set(found)) == READINGS


def check_values(client: Client) -> None:
    for number, name in enumerate(ENTITIES):
        start, end = text(START), text(START + STEP * STEPS)
        found = client.measurements(name, start=start, end=end)
        assert found.values == [value(number, step) for step in range(STEPS)]
