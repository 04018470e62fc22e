"""Many callers at once, whose readings share transactions: all that was acknowledged survives."""

import threading
import time
from contextlib import closing

import httpx
import pytest
from tests.service.processes import until
from tests.service.running import PATIENCE, running

from clearwatt.service.api.schemas.entities import NewEntity
from clearwatt.service.api.schemas.zones import NewZone
from clearwatt.service.client import Client
from clearwatt.service.store import open_store
from clearwatt.service.times import text

from .feeding import free_port

pytestmark = pytest.mark.xdist_group("durability")

CALLERS, KILLS = 24, 3
START, STEP = 1_700_000_100, 900
LIMITS = ("--rate", "1e9", "--burst", "1000000000")


class Caller(threading.Thread):
    """Sends one reading after the other of its own entity, in its own zone, until it is told."""

    def __init__(self, url: str, entity: str, ended: threading.Event) -> None:
        super().__init__(daemon=True)
        self.entity, self._url, self._ended = entity, url, ended
        self.sent, self.acknowledged = 0, set[int]()

    def run(self) -> None:
        with httpx.Client(base_url=self._url, timeout=PATIENCE, trust_env=False) as client:
            while not self._ended.is_set():
                time_ = START + STEP * self.sent
                self.sent += 1
                series = {"entity": self.entity, "times": [text(time_)], "values": [self.sent]}
                try:
                    answer = client.post("/v1/measurements", json={"series": [series]})
                except httpx.TransportError:
                    time.sleep(0.05)
                    continue
                if answer.status_code == 200:
                    assert answer.json()["new"] == 1
                    self.acknowledged.add(time_)


@pytest.mark.slow
def test_what_was_acknowledged_to_many_callers_survives_kills(postgres, tmp_path):
    port, ended = free_port(), threading.Event()
    options = ("--port", port, "--database", postgres, *LIMITS)
    names = [f"meter {i}" for i in range(CALLERS)]
    callers = [Caller(f"http://127.0.0.1:{port}", name, ended) for name in names]
    with running(tmp_path / "data", *options) as service, Client(service.url) as client:
        for name in names:
            client.add_zone(NewZone(id=f"zone of {name}", step=STEP, variables=["wind"]))
            entity = NewEntity(id=name, zone=f"zone of {name}", kind="consumer", capacity=1e9)
            client.add_entities([entity])
    for kill in range(KILLS):
        with running(tmp_path / "data", *options) as service:
            if not kill:
                for caller in callers:
                    caller.start()
            before = sum(len(caller.acknowledged) for caller in callers)
            until(
                lambda before=before: sum(len(c.acknowledged) for c in callers) > before + 300,
                PATIENCE,
            )
            service.kill()
    ended.set()
    for caller in callers:
        caller.join()
    with closing(open_store(postgres)) as store:
        numbers = {entity.id: entity.number for entity in store.entities()}
        for caller in callers:
            stored = store.readings(numbers[caller.entity], start=0, end=2**40)
            assert caller.acknowledged <= set(stored.times.tolist())
            values = ((stored.times - START) // STEP + 1).tolist()
            assert stored.values.tolist() == values
            entries = store.journal(f"zone of {caller.entity}", after=0, limit=10_000)
            assert [entry.seq for entry in entries] == list(range(1, len(stored.times) + 1))
        assert store.find_damage() is None
