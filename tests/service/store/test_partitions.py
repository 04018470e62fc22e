"""Tables of the release before become partitions, and no row is lost by an interruption."""

import signal
import subprocess
import sys
import time
from contextlib import closing
from functools import partial

import numpy as np
import psycopg
import pytest
from tests.service.store.partitioning import (
    BEFORE,
    DAY,
    NOW,
    batch,
    content,
    make_earlier,
    partition_names,
    rows_of,
    vintage,
)

from clearwatt import testing
from clearwatt.service.records import Receipt
from clearwatt.service.store import open_store, partitions
from clearwatt.service.store.migrations import migrate
from clearwatt.service.store.periods import AHEAD, month
from clearwatt.service.store.postgres import PostgresSession

MONTHS = [month(NOW, later=later).name for later in range(AHEAD + 1)]


@pytest.fixture
def earlier(postgres):
    make_earlier(postgres)
    return postgres


@pytest.fixture
def before(earlier, monkeypatch):
    """All rows before the migration."""
    name = "clearwatt.service.store.postgres.migrate"
    with monkeypatch.context() as patch:
        patch.setattr(name, lambda s, types: migrate(s, types, migrations=BEFORE))
        with closing(open_store(earlier)) as store:
            return content(store)


def test_a_new_database_has_partitions_of_the_next_months(postgres):
    with closing(open_store(postgres)) as store:
        for table in ("readings", "journal", "vintages"):
            assert partition_names(store, table) == [*MONTHS, "default"]


def test_an_earlier_database_keeps_every_row_and_goes_on(earlier, before):
    with closing(open_store(earlier)) as store:
        assert content(store) == before
        for table in ("readings", "journal", "vintages"):
            assert partition_names(store, table) == ["before"], "no row was looked at"
        number = store.entities("north")[0].number
        new = batch([number], [NOW + 900])
        assert store.add_readings(new, at=float(NOW)) == Receipt(1, 0, 0)
        changed = content(store)
        store.keep_partitions()
        assert content(store) == changed
        stop = month(NOW, later=1).stop
        months = [month(NOW, later=later).name for later in range(2, AHEAD + 1)]
        for table in ("readings", "journal", "vintages"):
            assert partition_names(store, table) == [*months, "before", "default"]
        store.add_vintages([vintage("north 0", stop + place) for place in (-1, 0)])
        assert rows_of(store, "vintages")[months[0]] == 1
        store.keep_partitions()
        assert len(partition_names(store, "journal")) == len(months) + 2
    for check in (testing.check_corrections, testing.check_journal, testing.check_vintages):
        check(partial(open_store, earlier))


def test_rows_far_ahead_are_kept_by_a_conversion(earlier):
    with closing(open_store(earlier)) as store:
        number = store.entities("north")[0].number
        store.add_readings(batch([number], [NOW + 3000 * DAY, 10**15]), at=1.0)
        expected = content(store)
        store.keep_partitions()
        assert content(store) == expected
        assert rows_of(store, "readings")["default"] == 2


def test_a_limit_of_weeks_ago_does_not_refuse_readings_of_today(earlier):
    """A process was killed between two steps of the conversion, and nothing ran since."""
    with closing(open_store(earlier)) as store:
        with store.write_session() as session:
            partitions.set_limit(session, partitions.VINTAGES, NOW + 2 * DAY)
        expected = content(store)
        store.keep_partitions()
        assert content(store) == expected
        store.add_vintages([vintage("north 0", NOW + 5.0 * DAY)])
        with store.read_session() as session:
            (first, *_) = partitions.find_partitions(session, partitions.VINTAGES)
        assert first.stop == month(NOW, later=1).stop


def test_an_interruption_at_any_statement_loses_nothing(new_postgres, monkeypatch):
    """The connection breaks before the n-th statement, for every n; then the work is resumed."""
    postgres = new_postgres()
    make_earlier(postgres, hours=3)
    run, left, done = PostgresSession.run, [0], False

    class BrokenError(Exception):
        pass

    def break_off(self, sql, *values):
        left[0] -= 1
        if left[0] == 0:
            raise BrokenError
        return run(self, sql, *values)

    expected, count = None, 0
    monkeypatch.setattr(PostgresSession, "run", break_off)
    while not done:
        count += 1
        left[0] = count
        try:
            with closing(open_store(postgres)) as store:
                store.keep_partitions()
            done = True
        except BrokenError:
            pass
        left[0] = 0
        with psycopg.connect(postgres) as connection:
            found = [
                connection.execute(f"SELECT * FROM {table}".encode()).fetchall()
                for table in ("readings", "journal", "vintages")
            ]
        found = [sorted(rows, key=repr) for rows in found]
        expected = expected or found
        assert found == expected, f"after {count} statements"
    assert count > 20
    with closing(open_store(postgres)) as store:
        assert partition_names(store, "readings")[-2:] == ["before", "default"]


CHILD = """
import sys
from clearwatt.service.store import open_store
from clearwatt.service.store.postgres import PostgresSession
run = PostgresSession.run
def tell(self, sql, *values):
    print(sql[:60], flush=True)
    return run(self, sql, *values)
PostgresSession.run = tell
store = open_store(sys.argv[1])
store.keep_partitions()
print("done", flush=True)
"""


def digests(address):
    """A digest over all rows of each table."""
    with psycopg.connect(address) as connection:
        return [
            connection.execute(
                f"SELECT md5(string_agg(t::text, '' ORDER BY t::text)) FROM {t} t".encode()
            ).fetchone()
            for t in ("readings", "journal", "vintages")
        ]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_killed_at_random_moments_nothing_is_lost(postgres, seed):
    make_earlier(postgres, hours=2000)
    random, expected = np.random.default_rng(seed), digests(postgres)
    kills, line = 0, ""
    while line != "done":
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, postgres], stdout=subprocess.PIPE, text=True
        )
        with child:
            assert child.stdout is not None
            for _ in range(int(random.integers(1, 12 + 12 * kills))):
                line = child.stdout.readline().strip() or line
            time.sleep(float(random.uniform(0, 0.01)))
            child.send_signal(signal.SIGKILL)
        kills += 1
        assert digests(postgres) == expected, f"after {kills} kills, the last at {line}"
    assert kills > 1
    with closing(open_store(postgres)) as store:
        assert partition_names(store, "journal")[-2:] == ["before", "default"]
        assert store.find_damage() is None


def test_statements_of_the_release_before_work_on_partitions(earlier):
    """Its nodes go on during a rolling upgrade."""
    with closing(open_store(earlier)) as store:
        store.keep_partitions()
        number = store.entities("north")[0].number
        with psycopg.connect(earlier, autocommit=True) as old:
            row = (NOW // 14_400, number, NOW + 900, 1.5, 0, "", 1.0, None)
            with (
                old.cursor() as cursor,
                cursor.copy(
                    "COPY readings (chunk, entity, time, value, flag, reason, received, checksum) "
                    "FROM STDIN"
                ) as copy,
            ):
                copy.write_row(row)
            old.execute(
                "INSERT INTO readings (chunk, entity, time, value, flag, reason, received, "
                "checksum) VALUES (%s, %s, %s, %s, %s, %s, %s, %s) "
                "ON CONFLICT (chunk, entity, time) DO UPDATE SET value = excluded.value",
                (*row[:3], 2.5, *row[4:]),
            )
            found = old.execute(
                "SELECT r.value FROM unnest(%s::bigint[]) AS given(chunk) CROSS JOIN readings r "
                "WHERE r.chunk = given.chunk AND r.entity = %s AND r.time = %s",
                ([row[0]], number, row[2]),
            ).fetchall()
            assert found == [(2.5,)]
            old.execute(
                "INSERT INTO journal (zone, seq, kind, content, at, checksum) "
                "VALUES ('south', 1000, 'command', '{}', 5.0, NULL)"
            )
            with pytest.raises(psycopg.errors.UniqueViolation):
                old.execute(
                    "INSERT INTO journal (zone, seq, kind, content, at, checksum) "
                    "VALUES ('south', 1000, 'command', '{}', 6.0, NULL)"
                )


def test_the_release_before_cannot_delete_forecasts_of_other_partitions(earlier):
    """It chooses rows by ctid, which rows of several partitions have in common."""
    with closing(open_store(earlier)) as store:
        store.keep_partitions()
        store.add_vintages([vintage("north 0", month(NOW, later=2).start)])
        expected = content(store)["vintages"]
        sql = (
            "DELETE FROM vintages WHERE ctid IN (SELECT ctid FROM vintages "
            "WHERE issued_at < %s ORDER BY issued_at LIMIT %s)"
        )
        with (
            psycopg.connect(earlier) as old,
            pytest.raises(psycopg.errors.RaiseException, match="new release only"),
        ):
            old.execute(sql, (NOW - 300.0 * DAY, 500))
        assert content(store)["vintages"] == expected
        assert store.prune_vintages(NOW - 300.0 * DAY) > 0
        left = [row for row in expected if row[1] >= NOW - 300 * DAY]
        assert content(store)["vintages"] == left
