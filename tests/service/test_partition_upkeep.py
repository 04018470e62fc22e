"""A running service keeps partitions, and converts the tables of the release before."""

import threading
from contextlib import closing

import pytest
from tests.service.processes import until
from tests.service.running import running
from tests.service.store.partitioning import content, make_earlier, partition_names

from clearwatt.service.partition_upkeep import PartitionUpkeep
from clearwatt.service.store import StoreUnavailableError, open_store

PATIENCE = 60.0


def test_a_round_that_finds_a_table_busy_is_repeated(tmp_path, monkeypatch, caplog):
    with closing(open_store(tmp_path / "clearwatt.db")) as store:
        errors, done = [StoreUnavailableError("busy")], threading.Event()

        def fail_once() -> None:
            if errors:
                raise errors.pop()
            done.set()

        monkeypatch.setattr(store, "keep_partitions", fail_once)
        with PartitionUpkeep(store, interval=0.01):
            assert done.wait(PATIENCE)
    (record,) = [each for each in caplog.records if each.message == "partitions not kept up"]
    assert record.reason == "busy"


@pytest.mark.slow
def test_a_service_converts_the_tables_of_the_release_before(postgres, tmp_path, monkeypatch):
    make_earlier(postgres)
    monkeypatch.setenv("CLEARWATT_DATABASE_URL", postgres)
    (tmp_path / "data").mkdir(mode=0o700)
    with closing(open_store(postgres)) as store:
        before = content(store)
        with running(tmp_path / "data", "--keep-vintages", "off") as service:
            for table in ("readings", "journal", "vintages"):
                until(lambda t=table: "default" in partition_names(store, t), PATIENCE)
            assert service.stop() == 0
        after = content(store)
        for table in ("journal", "vintages"):
            assert after[table] == before[table]
        assert [row[:4] for row in after["readings"]] == [row[:4] for row in before["readings"]]
