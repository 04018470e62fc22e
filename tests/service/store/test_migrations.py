"""An older database becomes a current one, once, and a newer one is left alone."""

import threading
from contextlib import closing

import pytest

from clearwatt import testing
from clearwatt.errors import StateError
from clearwatt.service.records import Zone
from clearwatt.service.settings import ZoneSettings
from clearwatt.service.store import open_store
from clearwatt.service.store.content import dump_json
from clearwatt.service.store.migrations import migrate
from clearwatt.service.store.schema import MIGRATIONS, TABLES


@pytest.fixture
def first_schema(address, monkeypatch):
    """A database as the first schema had it, with a zone, an entity and a vintage in it."""
    for module in ("sqlite", "postgres"):
        name = f"clearwatt.service.store.{module}.migrate"
        monkeypatch.setattr(
            name, lambda session, types: migrate(session, types, migrations=MIGRATIONS[:1])
        )
    with closing(open_store(address)) as store:
        write_zone(store, "north", 900, "{}")
        with store.write_session() as session:
            farm = (0, "farm", "north", "generator", None, "kW", "", "{}")
            session.run("INSERT INTO entities VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *farm)
            session.run("UPDATE counters SET value = 1 WHERE name = 'entities'")
            vintage = ("farm", 10.0, 5, None, "p", 900, 1800, 900, bytes(4), bytes(1))
            marks = ", ".join("?" * len(vintage))
            session.run(f"INSERT INTO vintages VALUES ({marks})", *vintage)
    monkeypatch.undo()
    return address


def write_zone(store, name, step, settings):
    """A zone as an earlier release has written it."""
    with store.write_session() as session:
        row = (name, step, '["wind"]', "UTC", "", settings)
        session.run("INSERT INTO zones VALUES (?, ?, ?, ?, ?, ?)", *row)
        session.run("INSERT INTO journals VALUES (?, 0, 0, 0)", name)


def version(store):
    with store.read_session() as session:
        return session.rows("SELECT version FROM clearwatt_schema")


def test_an_older_database_is_migrated_and_keeps_what_is_in_it(first_schema):
    with closing(open_store(first_schema)) as store:
        assert version(store) == [(len(MIGRATIONS),)]
        assert [entity.id for entity in store.entities("north")] == ["farm"]
    for check in (testing.check_corrections, testing.check_events, testing.check_commit):
        check(lambda: open_store(first_schema))


def test_vintages_of_earlier_releases_stay_and_name_no_newest_measurement(first_schema):
    with closing(open_store(first_schema)) as store:
        (found,) = store.vintages("farm", start=0, end=3600)
    assert (found.values.tolist(), found.leads.tolist()) == ([0.0], [890.0])
    assert found.measured_until is None


@pytest.mark.parametrize("settings", [{}, {"alpha": 1.5, "lateness": 60}])
def test_zones_of_earlier_releases_keep_their_forecaster(settings, address, monkeypatch):
    for module in ("sqlite", "postgres"):
        monkeypatch.setattr(
            f"clearwatt.service.store.{module}.migrate",
            lambda session, types: migrate(session, types, migrations=MIGRATIONS[:3]),
        )
    with closing(open_store(address)) as store:
        write_zone(store, "old", 3600, dump_json(settings))
    monkeypatch.undo()
    with closing(open_store(address)) as store:
        store.add_zone(Zone("new", 3600, ("wind",), settings=settings))
        found = {zone.id: dict(zone.settings) for zone in store.zones()}
    assert found == {"old": {"forecaster": "clear", **settings}, "new": settings}
    assert ZoneSettings.read(found["old"]).forecaster == "clear"
    assert ZoneSettings.read(found["new"]).forecaster == "adaptive"


def test_migrations_are_applied_once_when_several_open_at_once(address):
    failures = []

    def open_and_close():
        try:
            open_store(address).close()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=open_and_close) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with closing(open_store(address)) as store:
        assert version(store) == [(len(MIGRATIONS),)]


def test_a_migration_that_fails_leaves_the_database_as_it_was(address):
    broken = (*MIGRATIONS, ("CREATE TABLE halfway (a INTEGER)", "CREATE TABLE zones (a INTEGER)"))
    with closing(open_store(address)) as store:
        types = {"integer": "INTEGER", "real": "REAL"}
        with pytest.raises(Exception, match="zones"), store.write_session() as session:
            migrate(session, types, migrations=broken)
        with store.write_session() as session:
            session.run("CREATE TABLE halfway (a INTEGER)")  # it is not there
        assert version(store) == [(len(MIGRATIONS),)]


def test_a_database_of_a_newer_release_is_refused(address):
    with closing(open_store(address)) as store, store.write_session() as session:
        session.run("UPDATE clearwatt_schema SET version = 99")
    with pytest.raises(StateError, match=rf"schema 99.*up to {len(MIGRATIONS)}.*newer"):
        open_store(address)


def test_the_described_columns_are_those_of_the_tables(address):
    with closing(open_store(address)) as store, store.read_session() as session:
        for table, columns in TABLES.items():
            assert session.rows(f"SELECT {', '.join(columns)} FROM {table} LIMIT 0") == []
            with pytest.raises(Exception, match="no_such"), store.read_session() as other:
                other.rows(f"SELECT no_such FROM {table}")
