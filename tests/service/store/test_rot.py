"""Changed bytes inside rows are found by whoever reads them, and mended from the journal."""

from contextlib import closing

import numpy as np
import pytest

from clearwatt.service.records import (
    READING,
    Command,
    Flag,
    Outcome,
    RegisteredEntity,
    Verdict,
    WeatherIssue,
    Zone,
)
from clearwatt.service.status import ZoneStatus
from clearwatt.service.store import StoreDamagedError, open_store
from clearwatt.service.store.restore import restore_store

FARM, PARK = 0, 1
TIMES = 900 * np.arange(1_000_000, 1_000_040)


@pytest.fixture
def store(address):
    """A store with readings, weather and a command of two entities."""
    with closing(open_store(address)) as opened:
        opened.add_zone(Zone("north", 900, ("wind",)))
        opened.add_entities(
            [RegisteredEntity(name, "north", "generator") for name in ("farm", "park")]
        )
        for number in (FARM, PARK):
            opened.add_readings(readings(number, np.arange(40.0)), at=5.0)
        opened.add_readings(readings(FARM, np.full(40, 7.5))[10:20], at=6.0)  # corrections
        issue = WeatherIssue("north", int(TIMES[0]), TIMES, np.ones((40, 1), np.float32))
        opened.add_weather(issue, at=7.0)
        opened.add_command(Command("hold", "north", None, {}, "test", 8.0))
        yield opened


def readings(entity, values):
    made = np.empty(40, READING)
    made["entity"], made["time"], made["value"] = entity, TIMES, values
    made["value"][3] = np.nan
    return made


def rot(store, sql, *values):
    """Change something behind the back of the store."""
    with store.write_session() as session:
        assert session.run(sql, *values) > 0


def values_of(store, entity):
    return store.readings(entity, start=0, end=2**40).values


def test_an_intact_store_has_no_rot(store):
    assert store.find_damage() is None


ROTTEN = "UPDATE readings SET value = value + 0.25 WHERE entity = 0 AND time = ?"


def test_a_changed_value_is_found_and_taken_again_from_the_journal(store):
    before = values_of(store, FARM)
    verdict = Verdict(FARM, int(TIMES[12]), Flag.QUARANTINED, "stuck")
    store.commit(Outcome(ZoneStatus("north"), verdicts=(verdict,)))
    rot(store, ROTTEN, int(TIMES[12]))
    with pytest.raises(StoreDamagedError, match="clearwatt doctor"):
        values_of(store, FARM)
    with pytest.raises(StoreDamagedError):
        store.add_readings(readings(FARM, np.arange(40.0)), at=9.0)
    assert len(values_of(store, PARK)) == 40, "others are read"
    assert "not what was written" in (store.find_damage() or "")
    assert store.mend_damage()
    np.testing.assert_array_equal(values_of(store, FARM), before)
    assert store.quarantine()[0].reason == "stuck"


def test_the_newest_reading_is_checked(store):
    rot(store, ROTTEN, int(TIMES[-1]))
    with pytest.raises(StoreDamagedError):
        store.latest([FARM], before=2**40)


def test_a_changed_key_is_found_and_mended(store):
    before = values_of(store, PARK)
    rot(
        store,
        "UPDATE readings SET time = time + 1 WHERE entity = 1 AND time = ?",
        int(TIMES[5]),
    )
    assert store.find_damage() is not None
    assert store.mend_damage()
    np.testing.assert_array_equal(values_of(store, PARK), before)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE journal SET content = ? WHERE seq = 2",
        "UPDATE journal SET content = ? WHERE kind = 'command'",
        "UPDATE weather SET content = ?",
    ],
)
def test_a_changed_entry_of_the_journal_is_found_and_not_mended(store, sql):
    with store.read_session() as session:
        column, table = ("content", "weather" if "weather" in sql else "journal")
        where = sql.partition(" WHERE ")[2] or "TRUE"
        ((content,),) = session.rows(f"SELECT {column} FROM {table} WHERE {where}")
    changed = bytearray(content)
    changed[len(changed) // 2] ^= 4
    rot(store, sql, bytes(changed))
    with pytest.raises(StoreDamagedError, match="zone north"):
        store.journal("north", after=0)
    if "weather" in sql:
        with pytest.raises(StoreDamagedError):
            store.weather("north", start=0, end=2**40)
    assert "zone north" in (store.find_damage() or "")
    assert not store.mend_damage()


def test_a_rotten_store_is_not_backed_up(store, tmp_path):
    store.backup(tmp_path / "good")
    restore_store(tmp_path / "good", tmp_path / "restored.db")
    with closing(open_store(tmp_path / "restored.db")) as restored:
        assert restored.find_damage() is None
        rot(restored, ROTTEN, int(TIMES[12]))
        assert restored.find_damage() is not None, "checksums are restored, too"
    rot(store, ROTTEN, int(TIMES[12]))
    with pytest.raises(StoreDamagedError):
        store.backup(tmp_path / "bad")
    assert not (tmp_path / "bad" / "clearwatt.db").exists()


def test_rows_of_earlier_releases_have_no_checksum_and_are_read(store):
    for table in ("readings", "journal", "weather"):
        rot(store, f"UPDATE {table} SET checksum = NULL")
    assert store.find_damage() is None
    assert len(values_of(store, FARM)) == 40
    assert len(store.journal("north", after=0)) == 5
