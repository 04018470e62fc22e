"""Old forecasts are deleted in portions, by age, and a kill costs nothing that is kept."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import httpx
import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.service.plant import NOW, STEP, Plant
from tests.service.processes import until
from tests.service.running import running

from clearwatt.service.records import READING, Vintage
from clearwatt.service.store import StoreUnavailableError, open_store
from clearwatt.service.vintage_retention import PORTION, VintageRetention

DAY = 86_400
DEADLINE = 30.0


def filled(address: str, *, old: int, recent: int) -> None:
    """A store with forecasts older and younger than a day; the value of each is its place."""
    with closing(Plant(Path("unused"), store=open_store(address)).store) as store:
        store.add_vintages([vintage(NOW - 2 * DAY + place / 100, place) for place in range(old)])
        store.add_vintages([vintage(NOW - 60 + place, old + place) for place in range(recent)])


def vintage(issued_at: float, value: float) -> Vintage:
    values, sources = np.full(4, value, np.float32), np.zeros(4, np.uint8)
    return Vintage("e0", issued_at, NOW, "a:0", "p:0", NOW, STEP, values, sources)


def kept(store) -> list[int]:
    """Places of the forecasts that are left, the oldest first."""
    found = store.vintages("e0", start=NOW, end=NOW + STEP, limit=100_000)
    return [int(each.values[0]) for each in found][::-1]


def retention(store, **options) -> VintageRetention:
    return VintageRetention(store, kept=DAY, clock=lambda: NOW, **{"deleted": int} | options)


def test_what_is_older_is_deleted_and_counted_portion_by_portion(address, caplog):
    filled(address, old=2 * PORTION + 7, recent=3)
    caplog.set_level("INFO")
    with closing(open_store(address)) as store:
        counted: list[int] = []
        retention(store, deleted=counted.append).run_round()
        assert counted == [PORTION, PORTION, 7]
        assert kept(store) == [2 * PORTION + 7 + place for place in range(3)]
        assert store.counts()["vintages"] == 3
        retention(store).run_round()
    (record,) = [each for each in caplog.records if each.message == "old forecasts deleted"]
    assert record.count == 2 * PORTION + 7
    assert record.issued_before == "2024-05-31T00:00:00Z"


def test_forecasts_of_one_moment_are_divided_as_well(address):
    with closing(Plant(Path("unused"), store=open_store(address)).store) as store:
        store.add_vintages([vintage(NOW - 2 * DAY, place) for place in range(PORTION + 5)])
        assert store.prune_vintages(NOW - DAY, limit=PORTION) == PORTION
        assert len(kept(store)) == 5


def test_readings_are_stored_between_two_portions(address):
    """Another connection writes after each portion: no transaction is open then."""
    filled(address, old=2 * PORTION, recent=1)
    with closing(open_store(address)) as store, closing(open_store(address)) as meters:
        (entity, *_), received = meters.entities("north"), []

        def receive(_: int) -> None:
            reading = (entity.number, NOW + STEP * len(received), 1.0)
            received.append(meters.add_readings(np.array([reading], READING), at=NOW).new)

        retention(store, deleted=receive).run_round()
        assert received == [1, 1, 1]
        assert kept(store) == [2 * PORTION]


def test_a_round_ends_when_the_service_stops(address):
    filled(address, old=3 * PORTION, recent=1)
    with closing(open_store(address)) as store:
        work = retention(store, deleted=lambda _: work.__exit__(None, None, None))
        work.run_round()
        assert len(kept(store)) == 2 * PORTION + 1, "one portion is finished, and no other begun"


def test_a_round_that_fails_is_reported_and_repeated(tmp_path, monkeypatch, caplog):
    address = str(tmp_path / "clearwatt.db")
    filled(address, old=3, recent=1)
    with closing(open_store(address)) as store:
        errors, prune = [StoreUnavailableError("no answer")], store.prune_vintages

        def fail_once(before, **limits):
            if errors:
                raise errors.pop()
            return prune(before, **limits)

        monkeypatch.setattr(store, "prune_vintages", fail_once)
        done = threading.Event()
        with retention(store, interval=0.01, deleted=lambda _: done.set()):
            assert done.wait(DEADLINE)
        assert kept(store) == [3]
    (record,) = [each for each in caplog.records if each.message == "old forecasts not deleted"]
    assert record.reason == "no answer"


CHILD = f"""
import sys
from clearwatt.service.store import open_store
from clearwatt.service.vintage_retention import VintageRetention
told = lambda count: print(count, flush=True)
VintageRetention(open_store(sys.argv[1]), kept={DAY}, clock=lambda: {NOW}, deleted=told).run_round()
"""


def test_after_a_kill_the_rest_is_deleted_and_nothing_else(address):
    old, recent = 12 * PORTION, 3
    filled(address, old=old, recent=recent)
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, address], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    told = [int(child.stdout.readline()) for _ in range(3)]
    child.send_signal(signal.SIGKILL)
    child.wait()
    told += map(int, child.stdout.read().split())
    child.stdout.close()
    with closing(open_store(address)) as store:
        left = kept(store)
        gone = old + recent - len(left)
        assert gone % PORTION == 0, "a portion is deleted as a whole or not at all"
        assert sum(told) <= gone <= old, "what was counted is deleted"
        assert left == list(range(gone, old + recent))
        assert store.counts()["vintages"] == len(left)
        retention(store).run_round()
        assert kept(store) == list(range(old, old + recent))


@pytest.mark.slow
@pytest.mark.parametrize(("age", "left"), [("12h", 0), ("off", 5)])
def test_a_service_keeps_forecasts_as_long_as_it_is_told(tmp_path, age, left):
    """The forecasts were issued in 2024."""
    data_dir = tmp_path / "data"
    filled(str(data_dir / "clearwatt.db"), old=4, recent=1)
    with (
        running(data_dir, "--keep-vintages", age) as service,
        closing(open_store(data_dir / "clearwatt.db")) as store,
    ):
        deleted = "clearwatt_vintages_deleted_total"
        until(lambda: scraped(service.url)[deleted] == 5 - left, DEADLINE)
        assert service.stop() == 0
        assert len(kept(store)) == left
    assert ("old forecasts deleted" in (tmp_path / "data.log").read_text()) == (left == 0)


def scraped(url: str) -> dict[str, float]:
    families = text_string_to_metric_families(httpx.get(f"{url}/metrics").text)
    return {sample.name: sample.value for family in families for sample in family.samples}
