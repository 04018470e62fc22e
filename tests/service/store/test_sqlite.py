"""What is SQLite's own: a file, its settings, and its errors."""

import sqlite3
from contextlib import closing

import pytest

from clearwatt.errors import ConfigurationError
from clearwatt.service.records import Zone
from clearwatt.service.store import StoreDamagedError, StoreUnavailableError, open_store


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data" / "clearwatt.db"


def test_what_is_committed_is_on_the_disk(path):
    with closing(open_store(path)) as store, store.write_session() as session:
        assert session.rows("PRAGMA journal_mode") == [("wal",)]
        assert session.rows("PRAGMA synchronous") == [(2,)]
        assert session.rows("PRAGMA foreign_keys") == [(1,)]
        assert session.rows("PRAGMA busy_timeout") == [(30_000,)]


def test_readers_see_whole_transactions_while_one_is_written(path):
    with closing(open_store(path)) as store:
        with store.write_session() as session:
            session.run("INSERT INTO zones VALUES ('north', 900, '[]', 'UTC', '', '{}')")
            assert store.zones() == []
        assert len(store.zones()) == 1


def test_a_failed_transaction_is_undone_and_the_next_goes_through(path):
    with closing(open_store(path)) as store:
        with pytest.raises(ZeroDivisionError), store.write_session() as session:
            session.run("INSERT INTO zones VALUES ('north', 900, '[]', 'UTC', '', '{}')")
            raise ZeroDivisionError
        assert store.add_zone(Zone("north", 900, ("wind",))) is True


def test_a_file_that_is_no_database_is_named(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("these are notes, not a database\n" * 100)
    with pytest.raises(StoreDamagedError, match=r"notes\.txt is damaged"):
        open_store(path)
    assert path.read_text().startswith("these are notes")


@pytest.mark.parametrize("address", ["", "http://somewhere/db"])
def test_what_is_no_database_is_refused(address, tmp_path):
    with pytest.raises(ConfigurationError, match="no database"):
        open_store(address or tmp_path)


def test_a_closed_store_says_so(path):
    store = open_store(path)
    store.close()
    for use in (store.zones, store.check, lambda: store.add_zone(Zone("north", 900, ()))):
        with pytest.raises(StoreUnavailableError, match="closed"):
            use()


def test_size_counts_what_is_not_merged_yet(path):
    with closing(open_store(path)) as store:
        before = store.size()
        store.add_zone(Zone("north", 900, tuple(f"variable {i}" for i in range(5000))))
        assert store.size() > before + 50_000


def test_every_look_at_the_readings_goes_by_their_key(path):
    """A batch must never read the whole table, however large it has become."""
    plans = []
    with closing(open_store(path)) as store:
        with store.read_session() as session:
            given = session.value_table(
                numbers={"chunk": [1], "entity": [2], "time": [3], "flag": [0]}
            )
        look = "r.chunk = given.chunk AND r.entity = given.entity AND r.time = given.time"
        for sql in (
            f"SELECT r.value FROM {given.sql} CROSS JOIN readings r WHERE {look}",
            f"UPDATE readings AS r SET flag = given.flag FROM {given.sql} WHERE {look}",
        ):
            with store.write_session() as session:
                rows = session.rows(f"EXPLAIN QUERY PLAN {sql}", *given.values)
            plans += [row[3] for row in rows if row[3].split()[1] in {"r", "readings"}]
    assert len(plans) == 2
    assert all("SEARCH" in plan and "PRIMARY KEY" in plan for plan in plans), plans


def test_it_is_a_file_that_other_programs_read(path):
    with closing(open_store(path)) as store:
        store.add_zone(Zone("north", 900, ("wind",)))
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("SELECT id FROM zones").fetchall() == [("north",)]
