"""A real full disk: nothing is half-written, reading goes on, and writing once there is room."""

import shutil
from contextlib import closing

import numpy as np
import pytest

from clearwatt.service.records import READING, RegisteredEntity, Zone
from clearwatt.service.store import StoreFullError, open_store


@pytest.fixture(params=["sqlite", "postgres"])
def small_store(request, small_disk):
    """The address of a store that keeps its tables there."""
    if request.param == "sqlite":
        yield small_disk / "clearwatt.db"
        return
    import psycopg

    address = request.getfixturevalue("postgres")
    tables = small_disk / "tables"
    tables.mkdir(mode=0o700)
    small_disk.chmod(0o755)
    shutil.chown(tables, "postgres")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE TABLESPACE small LOCATION '{tables}'".encode())
        yield f"{address}%20-cdefault_tablespace%3Dsmall"
        (schema,) = connection.execute("SELECT current_schema()").fetchone() or ("",)
        connection.execute(f"DROP SCHEMA {schema} CASCADE".encode())
        connection.execute("DROP TABLESPACE small")


def batch(number, first):
    readings = np.empty(1000, dtype=READING)
    readings["entity"], readings["value"] = number, 1.5
    readings["time"] = 900 * np.arange(first, first + 1000)
    return readings


def test_a_full_disk(small_store, small_disk, monkeypatch):
    with closing(open_store(small_store)) as store:
        store.add_zone(Zone("north", 900, ("wind",)))
        (farm,) = store.add_entities([RegisteredEntity("farm", "north", "generator")])
        written = 0
        with pytest.raises(StoreFullError, match=r"is full; nothing was written.*free"):
            while written < 1000:
                store.add_readings(batch(farm.number, 1000 * written), at=1.0)
                written += 1
        assert written > 3
        for _ in range(3):  # it stays full, and says so each time
            with pytest.raises(StoreFullError):
                store.add_readings(batch(farm.number, 1000 * written), at=1.0)
        with pytest.raises(StoreFullError):
            store.check()
        assert len(store.readings(farm.number, start=0, end=2**40).times) == 1000 * written
        assert store.heads() == {"north": written}
        (small_disk / "ballast").unlink()
        monkeypatch.setattr("clearwatt.service.store.postgres.ROOM_INTERVAL", 0.0)
        store.check()
        assert store.add_readings(batch(farm.number, 1000 * written), at=1.0).new == 1000
    with closing(open_store(small_store)) as store:
        assert store.heads() == {"north": written + 1}
        assert store.counts()["readings"] == 1000 * (written + 1)
