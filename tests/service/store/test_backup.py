"""A backup is whole, taken while others write, and restores to either database."""

import threading
from contextlib import closing

import numpy as np
import pytest
from tests.service.processes import PATIENCE

from clearwatt.errors import DataError
from clearwatt.service.records import (
    READING,
    DeployedSnapshot,
    IntervalSnapshot,
    Outcome,
    RegisteredEntity,
    ServiceEvent,
    SignalDay,
    StoredVersion,
    Token,
    Vintage,
    WeatherIssue,
    Zone,
)
from clearwatt.service.status import ZoneStatus
from clearwatt.service.store import ConflictError, StoreDamagedError, open_store
from clearwatt.service.store.restore import restore_store
from clearwatt.service.store.schema import TABLES


def batch(number, first):
    readings = np.empty(10, dtype=READING)
    readings["entity"], readings["time"] = number, 900 * np.arange(first, first + 10)
    readings["value"] = np.random.default_rng(first).normal(size=10)
    readings["value"][3] = np.nan
    return readings


def fill(store):
    """Something in every table but those of what was deleted."""
    store.add_zone(Zone("north", 900, ("wind", "sun"), settings={"alpha": 1.5}))
    (farm,) = store.add_entities([RegisteredEntity("farm", "north", "generator", 12.5)])
    store.add_readings(batch(farm.number, 0), at=1.0)
    times = np.arange(3, dtype=np.int64)
    store.add_weather(WeatherIssue("north", 7, times, np.ones((3, 2), np.float32)), at=2.0)
    version = StoredVersion(
        "predictor:farm:0", "predictor", "north", "farm", 0, "deployed", 1.0, 3, 0.5, ""
    )
    event = ServiceEvent(
        "update:0", "update", "µ\t\\N 'quoted'\n", 1.5, zone="north", details={"a": [1]}
    )
    day = SignalDay("north", 0, bytes(range(256)))
    status = ZoneStatus("north", 1, 1, "learning")
    snapshot = IntervalSnapshot("north", 3, (1,), bytes(range(256)))
    deployed = DeployedSnapshot("north", 4, b"base", bytes(range(256)))
    store.commit(
        Outcome(status, (event,), (version,), signals=(day,), intervals=snapshot, deployed=deployed)
    )
    values = np.array([1.5, np.nan], np.float32)
    sources = np.zeros(2, np.uint8)
    store.add_vintages([Vintage("farm", 1.0, None, None, "p", 0, 900, values, sources)])
    store.add_token(Token("id", "name", "read", "hash", 1.0))
    store.put_folder("models/p1", {"state.json": b"{}", "tensors": bytes(range(256))})
    fences = store.take_zones(store.register_node("learner", "learner"), limit=9)
    store.put_latest("north", b"newest readings", fence=fences["north"])
    store.add_prior("digest", bytes(range(256)), origin="imported", actor="Ada", at=1.0)
    return farm


def remove_others(store):
    """A zone with a model, and an entity, that were deleted."""
    (roof,) = store.add_entities([RegisteredEntity("roof", "north", "generator")])
    store.remove_entity(roof, actor="Ada", at=3.0)
    gone = Zone("gone", 900, ("wind",))
    store.add_zone(gone)
    version = StoredVersion(
        "predictor:old:0", "predictor", "gone", None, 0, "deployed", 1.0, 3, 0.5, "models/old"
    )
    store.commit(Outcome(ZoneStatus("gone", 1, 1), versions=(version,)))
    store.remove_zone(gone, actor="Ada", at=3.0)


def content(address):
    with closing(open_store(address)) as store, store.read_session() as session:
        return {
            table: sorted(session.rows(f"SELECT {', '.join(columns)} FROM {table}"), key=repr)
            for table, columns in TABLES.items()
            if table not in ("nodes", "leases", "secrets")  # of a running cluster
        }


@pytest.fixture(params=["to sqlite", "to postgres"])
def restored(request, tmp_path):
    """Where it is restored to."""
    if request.param == "to sqlite":
        return tmp_path / "new" / "clearwatt.db"
    return request.getfixturevalue("new_postgres")()


def test_a_backup_restores_everything_and_work_goes_on(address, restored, tmp_path):
    with closing(open_store(address)) as store:
        farm = fill(store)
        remove_others(store)
        store.backup(tmp_path / "backup")
    restore_store(tmp_path / "backup", restored)
    assert content(restored) == content(address)
    assert all(content(restored).values())
    with closing(open_store(restored)) as store:
        assert store.add_readings(batch(farm.number, 0), at=5.0).duplicates == 10
        store.add_readings(batch(farm.number, 10), at=5.0)
        assert store.heads() == {"north": 4}
        assert store.add_entities([RegisteredEntity("new", "north", "consumer")])[0].number == 2


def test_a_backup_under_load_is_one_moment(address, tmp_path):
    with closing(open_store(address)) as store:
        farm = fill(store)
        stop = threading.Event()
        written = threading.Semaphore(0)

        def write():
            first = 10
            while not stop.is_set():
                store.add_readings(batch(farm.number, first), at=1.0)
                written.release()
                first += 10

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for name in "ab":
                while written.acquire(blocking=False):  # what was written before does not count
                    pass
                for _ in range(5):
                    assert written.acquire(timeout=PATIENCE)
                store.backup(tmp_path / name)
        finally:
            stop.set()
            writer.join()
    sizes = []
    for name in "ab":
        copy = content(tmp_path / name / "clearwatt.db")
        ((_, head, readings, issues, _),) = copy["journals"]
        assert len(copy["journal"]) == head
        assert len(copy["readings"]) == readings == 10 * (head - issues)
        sizes.append(readings)
    assert 60 <= sizes[0] < sizes[1]


def test_only_an_empty_database_is_restored_to(address, tmp_path):
    with closing(open_store(address)) as store:
        fill(store)
        store.backup(tmp_path / "backup")
    before = content(address)
    with pytest.raises(ConflictError, match=r"empty|move it away"):
        restore_store(tmp_path / "backup", address)
    assert content(address) == before


def test_a_folder_without_a_backup_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"no clearwatt\.db"):
        restore_store(tmp_path, tmp_path / "new.db")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_backup_is_refused_and_leaves_nothing(tmp_path):
    (tmp_path / "clearwatt.db").write_bytes(b"not a database at all, " * 400)
    with pytest.raises(StoreDamagedError, match="damaged"):
        restore_store(tmp_path, tmp_path / "new" / "clearwatt.db")
    assert list((tmp_path / "new").iterdir()) == []
