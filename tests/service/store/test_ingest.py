"""Deliveries in one transaction have the result of one after the other, in either database."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import numpy as np
import psycopg
import pytest

from clearwatt.service.records import READING, RegisteredEntity, Zone
from clearwatt.service.store import (
    StoreUnavailableError,
    UnregisteredEntityError,
    group_commit,
    open_store,
)
from clearwatt.service.store.ingest import Delivery, EntityCache, add

ZONES = ("east", "north", "south")


def register(store) -> list[int]:
    """Two entities in each zone; their numbers."""
    for zone in ZONES:
        store.add_zone(Zone(zone, 900, ("wind",)))
    names = [RegisteredEntity(f"{zone} {i}", zone, "consumer") for i in range(2) for zone in ZONES]
    return [entity.number for entity in store.add_entities(names)]


def content(store, numbers):
    """All that deliveries change."""
    return {
        "readings": [
            [part.tobytes() for part in store.readings(number, start=0, end=2**40)]
            for number in numbers
        ],
        "journals": [
            [(entry.seq, entry.at, entry.content.tobytes()) for entry in store.journal(z, after=0)]
            for z in ZONES
        ],
        "events": [(e.key, e.at, e.time, dict(e.details)) for e in store.events(after=0)],
        "counts": dict(store.counts()),
        "spans": [store.span(number) for number in numbers],
    }


def random_deliveries(rng, numbers, *, apart: bool) -> list[Delivery]:
    """Of some entities and few times: with repetitions and corrections, also within a delivery."""
    found = []
    for position in range(int(rng.integers(1, 8))):
        count = int(rng.integers(1, 30))
        readings = np.empty(count, READING)
        readings["entity"] = rng.choice(numbers, count)
        readings["time"] = 900 * rng.integers(0, 40, count)
        if apart:
            readings["time"] += 900 * 40 * position
        readings["value"] = rng.choice([1.0, 2.0, np.nan], count)
        found.append(Delivery(readings, at=float(position)))
    return found


@pytest.mark.parametrize("apart", [False, True])
def test_together_is_the_same_as_one_after_the_other(address, new_postgres, tmp_path, apart):
    other = new_postgres() if address.startswith("postgresql") else tmp_path / "other.db"
    rng = np.random.default_rng(3)
    with closing(open_store(address)) as single, closing(open_store(other)) as together:
        numbers = register(single)
        assert register(together) == numbers
        cache = EntityCache()
        for _ in range(12):
            deliveries = random_deliveries(rng, numbers, apart=apart)
            one = [single.add_readings(each.readings, at=each.at) for each in deliveries]
            with together.write_session() as session:
                receipts, grown = add(session, deliveries, directory=cache)
            cache.extents.update(grown)
            assert receipts == one
        assert content(together, numbers) == content(single, numbers)


@pytest.fixture
def store(address):
    with closing(open_store(address)) as found:
        yield found


def send(store, pool, number: int, row: int):
    return pool.submit(store.add_readings, np.array([(number, 900 * row, row)], READING), at=1.0)


def test_an_unregistered_entity_fails_only_its_own_delivery(store):
    numbers = register(store)
    with ThreadPoolExecutor(32) as pool:
        for row in range(20):
            good = [send(store, pool, number, row) for number in numbers for _ in range(4)]
            bad = send(store, pool, 999, row)
            assert sum(each.result(60).new for each in good) == len(numbers)
            with pytest.raises(UnregisteredEntityError):
                bad.result(60)


def test_a_zone_that_is_locked_for_long_delays_no_other(postgres, monkeypatch):
    monkeypatch.setattr(group_commit, "LOCK_WAIT", 0.2)
    with closing(open_store(postgres)) as store, ThreadPoolExecutor(32) as pool:
        east, *others, _, _, _ = register(store)
        store.add_readings(np.array([(east, 0, 1.0)], READING), at=1.0)
        with psycopg.connect(postgres) as holder:
            holder.execute("SELECT * FROM journals WHERE zone = 'east' FOR UPDATE")
            locked = [send(store, pool, east, 1)]
            for row in range(1, 30):
                for each in [send(store, pool, number, row) for number in others]:
                    assert each.result(10).new == 1
            locked.append(send(store, pool, east, 2))
            assert not any(each.done() for each in locked)
            holder.rollback()
        assert [each.result(60).new for each in locked] == [1, 1]


def test_all_who_wait_hear_of_a_lost_connection_and_may_repeat(postgres):
    with closing(open_store(postgres)) as store, ThreadPoolExecutor(32) as pool:
        numbers = register(store)
        acknowledged, failures = set(), []
        for row in range(200):
            sent = {(n, row): send(store, pool, n, row) for n in numbers}
            if row % 20 == 10:
                with psycopg.connect(postgres, autocommit=True) as connection:
                    connection.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                        "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
                    )
            for key, each in sent.items():
                try:
                    each.result(60)
                    acknowledged.add(key)
                except StoreUnavailableError as error:
                    failures.append(error)
        assert len(acknowledged) + len(failures) == 200 * len(numbers)
        for number in numbers:
            stored = store.readings(number, start=0, end=2**40).times // 900
            assert {row for n, row in acknowledged if n == number} <= set(stored.tolist())


def test_two_nodes_that_write_the_same_zones_never_wait_for_each_other_in_a_circle(postgres):
    with closing(open_store(postgres)) as first, closing(open_store(postgres)) as second:
        numbers = register(first)
        failures = []

        def write(store, seed: int) -> None:
            rng = np.random.default_rng(seed)
            try:
                for row in range(60):
                    readings = np.empty(4, READING)
                    readings["entity"] = rng.choice(numbers, 4, replace=False)
                    readings["time"], readings["value"] = 900 * row, seed
                    store.add_readings(readings, at=1.0)
            except Exception as error:
                failures.append(error)

        threads = [
            threading.Thread(target=write, args=(store, 10 * i + j))
            for i, store in enumerate((first, second))
            for j in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
