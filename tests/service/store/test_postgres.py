"""What is PostgreSQL's own: connections that break, passwords that stay secret, locks that move."""

import subprocess
import sys
import threading
from contextlib import closing

import psycopg
import pytest

from clearwatt.errors import ConfigurationError
from clearwatt.service.records import Zone
from clearwatt.service.store import ConflictError, StoreUnavailableError, leases, open_store


def end_connections(address):
    """What a restart of the server does to those who are connected."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )


def test_lost_connections_are_replaced(postgres):
    with closing(open_store(postgres)) as store:
        store.add_zone(Zone("north", 900, ("wind",)))
        end_connections(postgres)
        assert [zone.id for zone in store.zones()] == ["north"]


def test_a_connection_lost_in_a_transaction_writes_nothing(postgres):
    with closing(open_store(postgres)) as store:
        store.add_zone(Zone("north", 900, ("wind",)))
        with pytest.raises(StoreUnavailableError), store.write_session() as session:
            session.run("DELETE FROM journals")
            end_connections(postgres)
            session.run("DELETE FROM zones")
        assert store.heads() == {"north": 0}


def test_a_zone_that_is_locked_does_not_keep_others_from_being_taken(postgres):
    with closing(open_store(postgres)) as store:
        for name in ("east", "north", "west"):
            store.add_zone(Zone(name, 900, ("wind",)))
        hanging = store.register_node("hanging", "learner")
        store.take_zones(hanging, limit=3)
        node = store.register_node("alive", "learner")
        with psycopg.connect(postgres) as connection:
            connection.execute("UPDATE leases SET expires = 0")
            connection.commit()
            connection.execute("SELECT 1 FROM leases WHERE name = 'east' FOR UPDATE")
            assert store.take_zones(node, limit=3) == {"north": 2, "west": 2}
        assert store.take_zones(node, limit=3) == {"east": 2}


def test_a_process_that_hangs_within_a_commit_loses_its_locks(postgres, monkeypatch):
    monkeypatch.setattr(leases, "PAUSE", 0.2)
    with closing(open_store(postgres)) as store, psycopg.connect(postgres) as other:
        store.add_zone(Zone("north", 900, ("wind",)))
        fence = store.take_zones(store.register_node("hanging", "learner"), limit=1)["north"]
        with pytest.raises(StoreUnavailableError), store.write_session() as session:
            leases.check_fence(session, "north", fence)
            other.execute("SELECT 1 FROM leases FOR UPDATE")  # waits until the lock is released
            session.run("DELETE FROM zones")
        assert [zone.id for zone in store.zones()] == ["north"]


def test_a_server_that_is_away_is_unavailable(tmp_path):
    with pytest.raises(StoreUnavailableError, match="does not answer"):
        open_store(f"postgresql://me:secret-word@/db?host={tmp_path}")


def test_the_lock_of_a_service_survives_a_restart_of_the_server(postgres):
    with closing(open_store(postgres)) as first, closing(open_store(postgres)) as second:
        with first.exclusive():
            end_connections(postgres)
            first.check()
            with pytest.raises(ConflictError, match="another service"), second.exclusive():
                pass
            end_connections(postgres)
            with second.exclusive(), pytest.raises(ConflictError):
                first.check()  # another was faster: this one must not go on
        with second.exclusive():
            pass


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:secret-word@127.0.0.1:1/db",
        "postgresql://me:secret-word@@127.0.0.1:1/db",
        "postgresql://me:x@secret-word@127.0.0.1:1/db",
        "postgresql://me:secret-word@127.0.0.1:many/db",
        "postgresql://me:%secret-word@127.0.0.1/db",
        "postgresql://me:1/secret-word@127.0.0.1/db",
        "postgresql://me:secret-word@127.0.0.1/db?no_such=option",
        "mysql://me:secret-word@127.0.0.1/db",
    ],
)
def test_no_error_contains_the_password(address):
    with pytest.raises((ConfigurationError, StoreUnavailableError)) as caught:
        open_store(address)
    told = str(caught.value) + repr(caught.value.__cause__)
    assert "secret" not in told


def test_neither_errors_nor_the_store_show_a_password(postgres):
    _, user, rest = postgres.replace("://", "\0", 1).replace(":", "\0", 1).split("\0")
    password, _, where = rest.partition("@")
    with pytest.raises(StoreUnavailableError, match="authentication failed") as caught:
        open_store(f"postgresql://{user}:other-{password}@{where}")
    assert password not in str(caught.value)
    with closing(open_store(postgres)) as store:
        assert password not in repr(store)


def test_many_threads_share_a_few_connections(postgres):
    with closing(open_store(postgres)) as store:
        zones = [Zone(f"zone {i}", 900, ("wind",)) for i in range(40)]
        threads = [threading.Thread(target=store.add_zone, args=(zone,)) for zone in zones]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(zone.id for zone in store.zones()) == sorted(zone.id for zone in zones)
        with psycopg.connect(postgres) as connection:
            rows = connection.execute("SELECT count(*) FROM pg_stat_activity").fetchone()
        assert rows is not None
        assert rows[0] < 25  # with the server's own


def test_without_psycopg_the_extra_is_named():
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from clearwatt.service.store import open_store\n"
        "open_store('postgresql://localhost/db')"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "pip install 'clearwatt[postgres]'" in run.stderr
