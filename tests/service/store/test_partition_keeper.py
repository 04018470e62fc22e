"""Partitions are created when they are needed and dropped when all in them is old."""

import math
import subprocess
import sys
import threading
from contextlib import closing
from datetime import UTC, datetime

import numpy as np
import psycopg
import pytest
from tests.service.archives import append, checkpoint, in_table, open_in, register, whole_journal
from tests.service.store.partitioning import (
    DAY,
    NOW,
    batch,
    content,
    fill,
    partition_names,
    rows_of,
    vintage,
)

from clearwatt.service.files import Checkpoints
from clearwatt.service.journal_retention import JournalRetention
from clearwatt.service.records import RegisteredEntity, Zone
from clearwatt.service.store import (
    StoreUnavailableError,
    open_store,
    partition_keeper,
    partitions,
    readings,
)
from clearwatt.service.store.periods import month, year
from clearwatt.service.store.restore import restore_store
from clearwatt.service.vintage_retention import VintageRetention

THIS, LAST = month(NOW), month(month(NOW).start - 1)


@pytest.fixture
def store(postgres):
    with closing(open_store(postgres)) as opened:
        yield opened


def register_entity(store) -> int:
    store.add_zone(Zone("north", 900, ("wind",)))
    (entity,) = store.add_entities([RegisteredEntity("north 0", "north", "consumer")])
    return entity.number


def at(*date: int) -> int:
    return int(datetime(*date, tzinfo=UTC).timestamp())


def test_readings_of_any_date_are_stored_and_found(store):
    number = register_entity(store)
    dates = [at(1901, 2, 3), -14_401, 0, at(1990, 1, 1), at(2009, 7, 1), LAST.start, NOW]
    dates += [NOW + 40 * DAY, NOW + 3000 * DAY, at(9999, 12, 31), 10**15]
    for time in dates:
        assert store.add_readings(batch([number], [time]), at=1.0).new == 1
        assert store.add_readings(batch([number], [time]), at=1.0).duplicates == 1
        assert store.add_readings(batch([number], [time], 5.0), at=1.0).corrections == 1
        found = store.readings(number, start=int(time), end=int(time) + 1)
        assert found.values.tolist() == [5.0]
    assert rows_of(store, "readings") == {
        "default": 5,
        "1970": 1,
        "1990": 1,
        "2009": 1,
        LAST.name: 1,
        THIS.name: 1,
        month(NOW + 40 * DAY).name: 1,
    }
    assert store.newest([number]) == {number: 10**15}
    assert store.latest([number], before=NOW)[number][0] == LAST.start
    assert store.find_damage() is None


def test_a_batch_over_years_has_a_partition_for_each(store):
    number = register_entity(store)
    times = np.arange(at(2015, 1, 1), NOW, 30 * DAY)
    assert store.add_readings(batch([number], times), at=1.0).new == len(times)
    names = partition_names(store, "readings")
    years = [str(each) for each in range(2015, int(year(NOW).name) - 1)]
    assert set(years) <= set(names)
    assert "default" not in rows_of(store, "readings")
    assert len(store.readings(number, start=0, end=NOW).times) == len(times)


def test_statements_about_new_readings_open_one_partition(store):
    number, now = register_entity(store), int(THIS.start) + DAY
    store.add_readings(batch([number], [now, LAST.start, at(2012, 1, 1)]), at=1.0)
    given = batch([number], [now])
    for use in (
        lambda session: readings.stored_values(session, given),
        lambda session: readings.insert(session, batch([number], [now + 900]), at=1.0),
        lambda session: readings.newest(session, [number]),
        lambda session: readings.latest(session, [number], before=now + 900),
        lambda session: readings.series(session, number, start=now, end=now + 900),
        lambda session: readings.span(session, number) and None,
    ):
        with store.write_session() as session:
            use(session)
            locked = session.rows(
                "SELECT DISTINCT c.relname FROM pg_locks l JOIN pg_class c ON c.oid = l.relation "
                "JOIN pg_inherits i ON i.inhrelid = c.oid WHERE l.pid = pg_backend_pid() "
                "AND i.inhparent = 'readings'::regclass"
            )
        names = {name for (name,) in locked}
        assert f"readings_{THIS.name}" in names
        assert names <= {f"readings_{THIS.name}", "readings_2012"}


def test_the_end_of_a_journal_is_read_from_few_partitions(store):
    number = register_entity(store)
    store.prepare_times({"journal": [LAST.start - 400 * DAY * place for place in range(4)]})
    ats = [LAST.start - 400.0 * DAY, NOW - 2.0, NOW - 5.0, NOW - 1.0]  # clocks need not agree
    for place, accepted in enumerate(ats):
        store.add_readings(batch([number], [NOW + 900 * place]), at=accepted)
    for after in range(6):
        found = store.journal("north", after=after)
        assert [entry.seq for entry in found] == list(range(after + 1, 5))
    assert [entry.seq for entry in store.journal("north", after=1, limit=2)] == [2, 3]
    assert [entry.seq for entry in store.journal("north", after=0, limit=2)] == [1, 2]
    assert store.journal("nowhere", after=0) == []


def test_a_busy_table_neither_refuses_nor_delays_readings_for_long(store, postgres, monkeypatch):
    """A backup holds its locks for minutes; later the rows move to their partition."""
    monkeypatch.setattr(partition_keeper, "COOLING", 0.0)
    number = register_entity(store)
    with psycopg.connect(postgres) as backup:
        backup.execute("SELECT COUNT(*) FROM readings")
        assert store.add_readings(batch([number], [LAST.start]), at=1.0).new == 1
    assert rows_of(store, "readings") == {"default": 1}
    store.add_readings(batch([number], [LAST.start + 900]), at=1.0)
    assert rows_of(store, "readings") == {LAST.name: 2}
    assert len(store.readings(number, start=LAST.start, end=NOW).times) == 2


def test_many_rows_stay_in_the_default_partition(store, postgres, monkeypatch):
    monkeypatch.setattr(partitions, "MOST_MOVED", 1)
    number = register_entity(store)
    with psycopg.connect(postgres) as backup:
        backup.execute("SELECT COUNT(*) FROM readings")
        store.add_readings(batch([number], LAST.start + 900 * np.arange(2)), at=1.0)
    with closing(open_store(postgres)) as another:
        another.add_readings(batch([number], [LAST.start + 1800]), at=1.0)
    assert rows_of(store, "readings") == {"default": 3}


CHILD = """
import sys
from clearwatt.service.store import open_store
store = open_store(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for time in range(12):
    store.prepare_times({"readings": [86400.0 * 366 * time]})
store.keep_partitions()
"""


def test_processes_create_the_same_partitions_at_once(postgres):
    open_store(postgres).close()
    command = [sys.executable, "-c", CHILD, postgres]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    children = [subprocess.Popen(command, text=True, **pipes) for _ in range(2)]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("\n")
        child.stdin.flush()
    for child in children:
        _, errors = child.communicate(timeout=120)
        assert (child.returncode, errors) == (0, "")
    with closing(open_store(postgres)) as store:
        names = partition_names(store, "readings")
        assert [name for name in names if name < "1990" and len(name) == 4] == [
            str(1970 + place) for place in range(12)
        ]


def test_readings_arrive_while_partitions_are_created(store):
    number, failures = register_entity(store), []

    def create() -> None:
        try:
            for place in range(12):
                store.prepare_times({"readings": [float(at(2000 + place, 1, 1))]})
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=create)
    thread.start()
    for place in range(40):
        assert store.add_readings(batch([number], [NOW + 900 * place]), at=1.0).new == 1
    thread.join()
    assert failures == []


# Retention.


def filled_with_vintages(store) -> list[float]:
    """A forecast every five days since fourteen months; returns the times of issue."""
    register_entity(store)
    issues = [NOW - 5.0 * DAY * place for place in range(85)][::-1]
    store.prepare_times({"vintages": issues})
    store.add_vintages([vintage("north 0", issued) for issued in issues])
    assert "default" not in rows_of(store, "vintages")
    return issues


def issued(store) -> list[float]:
    return sorted(row[1] for row in content(store)["vintages"])


def test_whole_partitions_of_old_forecasts_are_dropped(store):
    issues = filled_with_vintages(store)
    before = NOW - 100.0 * DAY
    first_left = month(before).start
    dropped = store.drop_vintages(before)
    assert issued(store) == [each for each in issues if each >= first_left]
    assert dropped == len(issues) - len(issued(store)) > 50
    assert store.counts()["vintages"] == len(issued(store))
    assert partition_names(store, "vintages")[0] == month(before).name
    store.prune_vintages(before)
    assert issued(store) == [each for each in issues if each >= before]
    assert store.drop_vintages(before) == 0
    assert store.counts()["vintages"] == len(issued(store))


def test_rows_of_several_partitions_are_deleted_up_to_the_limit(store):
    """Rows of different partitions may be at the same place in their files."""
    issues = filled_with_vintages(store)
    for place in range(1, 20):
        assert store.prune_vintages(NOW - 100.0 * DAY, limit=1) == 1
        assert issued(store) == issues[place:]


def test_a_round_of_the_service_drops_partitions_and_counts_what_was_in_them(store):
    issues, counted = filled_with_vintages(store), []
    work = VintageRetention(
        store, kept=100.0 * DAY, deleted=counted.append, clock=lambda: float(NOW)
    )
    work.run_round()
    kept = [each for each in issues if each >= NOW - 100 * DAY]
    assert issued(store) == kept
    assert sum(counted) == len(issues) - len(kept)
    assert partition_names(store, "vintages")[0] == month(NOW - 100 * DAY).name


def test_a_round_during_a_backup_deletes_rows_instead(store, postgres):
    issues = filled_with_vintages(store)
    with psycopg.connect(postgres) as backup:
        backup.execute("LOCK TABLE vintages IN ACCESS SHARE MODE")
        VintageRetention(store, kept=100.0 * DAY, deleted=int, clock=lambda: float(NOW)).run_round()
    assert issued(store) == [each for each in issues if each >= NOW - 100 * DAY]


def test_what_a_killed_process_has_detached_is_counted_later(store, monkeypatch):
    issues = filled_with_vintages(store)
    before = NOW - 100.0 * DAY
    with monkeypatch.context() as patch:
        patch.setattr(partition_keeper.PartitionKeeper, "_drop_detached", lambda self: iter(()))
        assert store.drop_vintages(before) == 0
    expected = [each for each in issues if each >= month(before).start]
    assert issued(store) == expected
    assert store.drop_vintages(before) == len(issues) - len(expected)
    assert store.counts()["vintages"] == len(expected)


def test_nothing_is_dropped_during_a_backup(store, postgres, tmp_path):
    issues = filled_with_vintages(store)
    with psycopg.connect(postgres) as backup:
        backup.execute("LOCK TABLE readings, journal, vintages IN ACCESS SHARE MODE")
        with pytest.raises(StoreUnavailableError):
            store.drop_vintages(NOW - 100.0 * DAY)
        assert issued(store) == issues


def journal_of_months(data_dir, address):
    """Two zones, twenty entries in each of four past months; both have checkpoints after them."""
    store = open_in(data_dir, address)
    ats = [month(THIS.start - 1, later=-later).start + 5 * DAY for later in range(4)][::-1]
    store.prepare_times({"journal": ats})
    for zone in ("north", "south"):
        number = register(store, zone)
        for accepted in ats:
            append(store, zone, number, 20, at=accepted)
        checkpoint(data_dir, zone, 80, 81)
    return store, ats


def archive(store, data_dir, *, clock: float) -> None:
    JournalRetention(
        store, store.archive, Checkpoints(data_dir), kept=DAY, moved=int, clock=lambda: clock
    ).run_round()


def test_archived_partitions_of_the_journal_are_dropped(postgres, tmp_path):
    store, ats = journal_of_months(tmp_path, postgres)
    with closing(store):
        expected = [whole_journal(store, zone) for zone in ("north", "south")]
        archive(store, tmp_path, clock=ats[2] + 2 * DAY)  # amid the third month
        left = partition_names(store, "journal")
        assert [month(accepted).name in left for accepted in ats] == [False, False, True, True]
        for zone in ("north", "south"):
            assert store.archive_end(zone) == 60
            assert in_table(store, zone) == list(range(61, 81))
        assert [whole_journal(store, zone) for zone in ("north", "south")] == expected
        store.backup(tmp_path / "saved")


def test_entries_of_a_zone_that_is_not_archived_keep_their_partitions(postgres, tmp_path):
    store, ats = journal_of_months(tmp_path, postgres)
    Checkpoints(tmp_path).remove("south")
    with closing(store):
        expected = [whole_journal(store, zone) for zone in ("north", "south")]
        archive(store, tmp_path, clock=ats[-1] + 2 * DAY)
        assert in_table(store, "north") == []
        assert in_table(store, "south") == list(range(1, 81))
        assert [whole_journal(store, zone) for zone in ("north", "south")] == expected
        assert month(ats[0]).name in partition_names(store, "journal")


def test_archived_entries_that_are_still_in_the_table_do_no_harm(postgres, tmp_path, monkeypatch):
    """The process was killed between the archive and the partitions."""
    store, ats = journal_of_months(tmp_path, postgres)
    with closing(store):
        expected = whole_journal(store)
        with monkeypatch.context() as patch:
            patch.setattr(store, "drop_archived", lambda before: None)
            archive(store, tmp_path, clock=ats[-1] + 2 * DAY)
        assert store.archive_end("north") == 80
        assert in_table(store)[0] == 1
        assert whole_journal(store) == expected
        assert store.find_damage() is None
        assert store.oldest_entries("north", before=math.inf, until=99, limit=9) == []
        archive(store, tmp_path, clock=ats[-1] + 2 * DAY)
        assert in_table(store) == []
        assert whole_journal(store) == expected


def test_a_restored_backup_has_partitions_of_its_months(store, new_postgres, tmp_path):
    fill(store, 400)
    store.backup(tmp_path)
    target = new_postgres()
    restore_store(tmp_path, target)
    with closing(open_store(target)) as restored:
        found = content(restored)
        assert found["readings"] == content(store)["readings"]
        assert {len(found[t]) for t in ("journal", "vintages")} == {
            len(content(store)[t]) for t in ("journal", "vintages")
        }
        assert "default" not in rows_of(restored, "vintages")
        assert restored.find_damage() is None
