"""A store reads archived entries like all others, and gives up none that is not archived."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest
from tests.service.archives import (
    NOW,
    append,
    in_table,
    open_in,
    plain,
    register,
    whole_journal,
)

from clearwatt.errors import StateError
from clearwatt.service.records import Zone
from clearwatt.service.store import open_store

COUNT = 100


@pytest.fixture
def store(address, tmp_path):
    with closing(open_in(tmp_path, address)) as opened:
        append(opened, "north", register(opened), COUNT, at=100.0)
        yield opened


def archive(store, last, zone="north"):
    """Move the entries up to a number, as the service does."""
    rows = store.oldest_entries(zone, before=1e12, until=last, limit=10_000)
    store.archive.write(zone, rows)
    store.drop_entries(zone, rows)


def test_readers_see_no_difference(store):
    before, head = whole_journal(store), store.heads()
    assert len(before) == COUNT
    archive(store, 30)
    archive(store, 77)
    assert in_table(store) == list(range(78, COUNT + 1))
    assert store.heads() == head
    assert store.archive_spans() == {"north": (1, 77)}
    for limit in (1, 13, 1000):
        assert whole_journal(store, limit=limit) == before
    for after in (0, 29, 30, 76, 77, 78, COUNT - 1):
        assert plain(store.journal("north", after=after)[0]) == before[after]
    assert store.journal("north", after=COUNT) == []


def test_archived_entries_left_before_a_gap_hide_none_of_it(store):
    """Entries of a partition that is dropped as a whole stay until then, later ones do not."""
    (entity,) = store.entities("north")
    append(store, "north", entity.number, 40, at=200.0)
    append(store, "north", entity.number, 20, at=300.0)
    before = whole_journal(store)
    rows = store.oldest_entries("north", before=250.0, until=COUNT + 40, limit=10_000)
    store.archive.write("north", rows)
    store.drop_entries("north", rows, leave_before=150.0)
    assert in_table(store) == [*range(1, COUNT + 1), *range(COUNT + 41, COUNT + 61)]
    for limit in (7, 70, 1000):
        assert whole_journal(store, limit=limit) == before


def test_new_entries_are_numbered_on(store):
    archive(store, COUNT)
    assert in_table(store) == []
    (entity,) = store.entities("north")
    append(store, "north", entity.number, 2, at=101.0)
    assert in_table(store) == [COUNT + 1, COUNT + 2]
    assert [entry[0] for entry in whole_journal(store)] == list(range(1, COUNT + 3))
    assert store.counts()["journal"] == 2


def test_only_what_is_old_and_permitted_is_offered(store):
    (entity,) = store.entities("north")
    append(store, "north", entity.number, 3, at=300.0)
    append(store, "north", entity.number, 3, at=50.0)  # a clock that went back

    def offered(before, until):
        return [
            row.seq for row in store.oldest_entries("north", before=before, until=until, limit=999)
        ]

    assert offered(200.0, 1000) == list(range(1, COUNT + 1))
    assert offered(100.0, 1000) == []
    assert offered(1e9, 7) == list(range(1, 8))
    assert offered(1e9, 1000) == list(range(1, COUNT + 7))


def test_entries_that_differ_from_the_archive_are_not_deleted(store):
    rows = store.oldest_entries("north", before=1e9, until=10, limit=100)
    for wrong in (
        rows[1:],
        [*rows[:3], *rows[4:]],
        [*rows[:-1], replace_content(rows[-1])],
    ):
        with pytest.raises(StateError, match="nothing was deleted"):
            store.drop_entries("north", wrong)
    assert len(in_table(store)) == COUNT
    assert store.archive_end("north") == 0


def replace_content(row):
    return row._replace(content=b"other", at=row.at)


def test_a_store_that_does_not_know_its_archive_says_so(store, address):
    archive(store, 30)
    with closing(open_store(address, archive=None)) as other:
        other.archive = None
        with pytest.raises(StateError, match="open the store with the folder 'archive'"):
            other.journal("north", after=29)
        assert other.journal("north", after=30)[0].seq == 31


def test_a_missing_archive_is_an_error_and_no_gap(store):
    archive(store, 30)
    store.archive.files("north")[0].path.unlink()
    with pytest.raises(StateError, match=r"no file in .* has it: .* copy it from the last backup"):
        store.journal("north", after=0)
    assert store.find_damage() is None, "the database itself is intact"
    store.check()


def test_a_zone_registered_again_has_an_archive_of_its_own(store):
    archive(store, 30)
    (zone,) = store.zones()
    store.remove_zone(zone, actor="Ada", at=1.0)
    assert store.archive_spans() == {}
    entity = register(store)
    base = store.journal_base("north")
    append(store, "north", entity, 20, at=200.0)
    before = whole_journal(store)
    assert [entry[0] for entry in before] == list(range(base + 1, base + 21))
    archive(store, base + 12)
    assert store.archive_spans() == {"north": (base + 1, base + 12)}
    assert whole_journal(store) == before


def test_damaged_readings_are_mended_from_the_archive(store):
    archive(store, 90)
    (entity,) = store.entities("north")
    span = {"start": NOW, "end": NOW + 10**7}
    before = store.readings(entity.number, **span).values.tolist()
    with store.write_session() as session:
        assert session.run("UPDATE readings SET value = 777.0 WHERE value = 20.0") == 1
    assert "is not what was written" in store.find_damage()
    assert store.mend_damage()
    assert store.readings(entity.number, **span).values.tolist() == before


def test_without_the_archive_damaged_readings_stay_where_they_are(store):
    archive(store, 90)
    store.archive.files("north")[0].path.unlink()
    with store.write_session() as session:
        session.run("UPDATE readings SET value = 777.0 WHERE value = 20.0")
    count = store.counts()["readings"]
    assert not store.mend_damage()
    with store.read_session() as session:
        assert session.rows("SELECT COUNT(*) FROM readings")[0][0] == count


def test_other_zones_are_not_concerned(store):
    other = register(store, "south")
    append(store, "south", other, 15, at=100.0)
    before = whole_journal(store, "south")
    archive(store, 30)
    assert whole_journal(store, "south") == before
    assert store.archive_end("south") == 0


def test_a_zone_that_is_gone_gives_up_nothing(store):
    rows = store.oldest_entries("north", before=1e9, until=10, limit=100)
    store.remove_zone(replace(Zone("north", 900, ("wind",))), actor="Ada", at=1.0)
    with pytest.raises(Exception, match="there is no zone 'north'"):
        store.drop_entries("north", rows)
    register(store)
    with pytest.raises(StateError, match="nothing was deleted"):
        store.drop_entries("north", rows)
