"""Old entries move to the archive, and a kill at any moment neither loses nor doubles one."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from tests.service.archives import (
    DAY,
    NOW,
    append,
    checkpoint,
    in_table,
    open_in,
    register,
    whole_journal,
)
from tests.service.cluster.nodes import cluster
from tests.service.journals import Service, World
from tests.service.processes import until
from tests.service.running import PATIENCE, running

from clearwatt.cli import main
from clearwatt.errors import StateError
from clearwatt.service import journal_retention
from clearwatt.service.backup import back_up, restore
from clearwatt.service.client import Client, Series
from clearwatt.service.files import Checkpoints, ModelFiles
from clearwatt.service.folders import StoredFolders
from clearwatt.service.journal_retention import JournalRetention
from clearwatt.service.learner.removal import remove_leftovers
from clearwatt.service.records import READING
from clearwatt.service.store import open_store
from clearwatt.service.store.journal_archive import ArchiveFile, ArchiveRow, JournalArchive

OLD, NEW = 60, 30
"""Entries accepted two days ago, and an hour ago."""
PORTION = 25


@pytest.fixture
def data_dir(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def store(data_dir, monkeypatch):
    """A zone whose older checkpoint is after all old entries."""
    monkeypatch.setattr(journal_retention, "PORTION", PORTION)
    with closing(open_in(data_dir)) as opened:
        entity = register(opened)
        append(opened, "north", entity, OLD, at=NOW - 2 * DAY)
        append(opened, "north", entity, NEW, at=NOW - 3600)
        checkpoint(data_dir, "north", OLD + 10, OLD + 20)
        yield opened


def retention(store, data_dir, **options) -> JournalRetention:
    checkpoints = Checkpoints(data_dir)
    defaults = {"kept": DAY, "clock": lambda: NOW, "moved": int}
    return JournalRetention(store, store.archive, checkpoints, **defaults | options)


def test_old_entries_move_portion_by_portion(store, data_dir, caplog):
    caplog.set_level("INFO")
    before, counted = whole_journal(store), []
    retention(store, data_dir, moved=counted.append).run_round()
    assert counted == [PORTION, PORTION, OLD - 2 * PORTION]
    assert in_table(store) == list(range(OLD + 1, OLD + NEW + 1))
    assert whole_journal(store) == before
    assert [file.path.name for file in store.archive.files("north")] == [f"1-{OLD}.parquet"]
    retention(store, data_dir, moved=counted.append).run_round()
    assert len(counted) == 3, "there is nothing left to move"
    (record,) = [each for each in caplog.records if each.message == "journal archived"]
    assert (record.zone, record.count) == ("north", OLD)


@pytest.mark.parametrize(
    ("positions", "moved"), [((), 0), ((OLD,), 0), ((7, OLD), 7), ((0, OLD), 0), ((80, 85), 60)]
)
def test_nothing_moves_that_the_older_checkpoint_needs(store, data_dir, positions, moved):
    Checkpoints(data_dir).remove("north")
    checkpoint(data_dir, "north", *positions)
    retention(store, data_dir).run_round()
    assert store.archive_end("north") == moved
    assert in_table(store)[0] == moved + 1


def test_files_are_bounded(store, data_dir, monkeypatch):
    monkeypatch.setattr(journal_retention, "BYTES", 200)  # a reading has 20 bytes
    before = whole_journal(store)
    retention(store, data_dir).run_round()
    sizes = [file.last - file.first + 1 for file in store.archive.files("north")]
    assert len(sizes) > 3
    assert sum(sizes) == OLD
    assert whole_journal(store) == before


def test_a_round_goes_on_with_the_file_of_a_killed_one(store, data_dir):
    rows = store.oldest_entries("north", before=NOW - DAY, until=OLD, limit=40)
    file = store.archive.write("north", rows)
    store.drop_entries("north", rows[:15])
    written = file.path.stat().st_mtime_ns
    retention(store, data_dir).run_round()
    names = [each.path.name for each in store.archive.files("north")]
    assert names == ["1-40.parquet", f"41-{OLD}.parquet"]
    assert file.path.stat().st_mtime_ns == written
    assert [entry[0] for entry in whole_journal(store)] == list(range(1, OLD + NEW + 1))


def test_a_damaged_file_is_written_again_while_its_entries_are_in_the_table(store, data_dir):
    before = whole_journal(store)
    rows = store.oldest_entries("north", before=NOW - DAY, until=OLD, limit=40)
    store.archive.write("north", rows).path.write_bytes(b"PAR1 but no more")
    retention(store, data_dir).run_round()
    assert store.archive.find_damage("north", first=1, until=OLD) is None
    assert whole_journal(store) == before


def test_a_damaged_file_with_the_only_copy_stops_the_zone_and_no_other(store, data_dir, caplog):
    other = register(store, "south")
    append(store, "south", other, 40, at=NOW - 2 * DAY)
    checkpoint(data_dir, "south", 30, 35)
    rows = store.oldest_entries("north", before=NOW - DAY, until=OLD, limit=40)
    file = store.archive.write("north", rows)
    store.drop_entries("north", rows[:15])
    file.path.write_bytes(b"PAR1 but no more")
    retention(store, data_dir).run_round()
    assert store.archive_end("north") == 15
    assert store.archive_end("south") == 30
    (record,) = [each for each in caplog.records if each.message == "journal not archived"]
    assert record.zone == "north"
    assert "copy it from the last backup" in record.reason


def test_a_folder_without_the_archived_entries_gets_no_further_ones(store, data_dir):
    """As if a shared folder were not mounted on this node; of no zone, whatever is archived."""
    append(store, "south", register(store, "south"), 40, at=NOW - 2 * DAY)
    checkpoint(data_dir, "south", 30, 35)
    rows = store.oldest_entries("north", before=NOW - DAY, until=OLD, limit=40)
    store.archive.write("north", rows)
    store.drop_entries("north", rows)
    before = in_table(store), in_table(store, "south")
    store.archive = JournalArchive(data_dir / "elsewhere")
    with pytest.raises(StateError, match=r"entry 40 of zone north.*--archive"):
        retention(store, data_dir).run_round()
    assert (in_table(store), in_table(store, "south")) == before
    assert not store.archive.folder.exists()


def test_a_folder_that_was_given_is_not_created(store, data_dir, caplog):
    """The subfolder of a file system that is not mounted."""
    before = in_table(store)
    store.archive = JournalArchive(data_dir / "mounted" / "archive", create=False)
    retention(store, data_dir).run_round()
    assert in_table(store) == before
    (record,) = [each for each in caplog.records if each.message == "journal not archived"]
    assert "archive does not exist" in record.reason
    store.archive.folder.mkdir(parents=True)
    retention(store, data_dir).run_round()
    assert store.archive_end("north") == OLD


def test_a_file_that_another_node_has_just_emptied_the_table_for_stays(
    store, data_dir, monkeypatch
):
    """Its content cannot be read at the moment, as on a file system of another machine."""
    before = whole_journal(store)
    retention(store, data_dir).run_round()
    (file,) = store.archive.files("north")
    late = JournalRetention(
        store, store.archive, Checkpoints(data_dir), kept=DAY, clock=lambda: NOW, moved=int
    )
    ends = iter([0, OLD])
    monkeypatch.setattr(store, "archive_end", lambda zone: next(ends))
    damaged = file.path.read_bytes()[:-9]
    whole = file.path.read_bytes()
    file.path.write_bytes(damaged)
    with pytest.raises(StateError, match="cannot be read"):
        late._next_file("north", before=NOW - DAY, until=OLD)
    file.path.write_bytes(whole)
    monkeypatch.undo()
    assert whole_journal(store) == before


def test_several_nodes_delete_the_archive_of_a_zone_at_once(store, data_dir):
    for _ in range(50):
        rows = store.oldest_entries("north", before=NOW - DAY, until=OLD, limit=10)
        store.archive.write("north", rows)
        with ThreadPoolExecutor(3) as nodes:
            for done in [nodes.submit(store.archive.remove, "north") for _ in range(3)]:
                done.result()
        assert store.archive.files("north") == []


def test_two_nodes_that_archive_at_once_lose_and_double_nothing(store, data_dir, caplog):
    """One has read the oldest entries and hangs; the other moves them, and more, meanwhile."""
    before, counted = whole_journal(store), []
    checkpoints = Checkpoints(data_dir)
    late = HangingArchive(
        store.archive.folder, meanwhile=lambda: retention(store, data_dir).run_round()
    )
    JournalRetention(
        store, late, checkpoints, kept=DAY + 1, clock=lambda: NOW, moved=counted.append
    ).run_round()
    assert late.hung, "it must have hung between reading and writing"
    assert sum(counted) == 0, "the other node has moved them"
    assert in_table(store) == list(range(OLD + 1, OLD + NEW + 1))
    assert whole_journal(store) == before
    assert [each for each in caplog.records if each.levelname == "ERROR"] == []


def test_entries_that_another_node_has_moved_are_left_out(store):
    rows = store.oldest_entries("north", before=NOW - DAY, until=OLD, limit=40)
    store.archive.write("north", rows)
    assert store.drop_entries("north", rows[:15]) == 15
    assert store.drop_entries("north", rows[:15]) == 0
    assert store.drop_entries("north", rows[:40]) == 25
    assert in_table(store)[0] == 41


class HangingArchive(JournalArchive):
    """An archive in which something happens before a node writes its first file."""

    def __init__(self, folder: Path, *, meanwhile: Callable[[], None]) -> None:
        super().__init__(folder)
        self._meanwhile, self.hung = meanwhile, False

    def write(self, zone: str, rows: Sequence[ArchiveRow]) -> ArchiveFile:
        if not self.hung:
            self.hung = True
            self._meanwhile()
        return super().write(zone, rows[:-10])


def test_readings_are_stored_between_two_portions(store, data_dir):
    """Another connection writes after each portion: no transaction is open then."""
    (entity,) = store.entities("north")
    with closing(open_in(data_dir)) as meters:
        received = []

        def receive(_: int) -> None:
            reading = (entity.number, NOW + 30 * DAY + 900 * len(received), 1.0)
            received.append(meters.add_readings(np.array([reading], READING), at=NOW).new)

        retention(store, data_dir, moved=receive).run_round()
    assert received == [1, 1, 1]


CHILD = """
import sys
from pathlib import Path
from tests.service.archives import open_in
from clearwatt.service.files import Checkpoints
from clearwatt.service import journal_retention
journal_retention.PORTION = 5
data_dir, address, now = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
store = open_in(data_dir, address)
write = store.archive.write
def observed(*given):
    file = write(*given)
    print("file", flush=True)
    return file
store.archive.write = observed
moved = lambda count: print(count, flush=True)
journal_retention.JournalRetention(
    store, store.archive, Checkpoints(data_dir), kept=86400, moved=moved, clock=lambda: now
).run_round()
"""


@pytest.mark.slow
@pytest.mark.parametrize("portions", [0, 4])
def test_a_kill_loses_and_doubles_nothing(data_dir, address, portions):
    """Killed when the file is on disk and nothing deleted yet, and amid the portions."""
    address = str(data_dir / "clearwatt.db") if address.endswith(".db") else address
    with closing(open_in(data_dir, address)) as store:
        append(store, "north", register(store), OLD, at=NOW - 2 * DAY)
        checkpoint(data_dir, "north", OLD, OLD + 1)
        before = whole_journal(store)
        root = Path(__file__).parents[2]
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(data_dir), address, str(NOW)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=root,
        )
        with child:
            assert child.stdout is not None
            assert child.stdout.readline() == "file\n"
            for _ in range(portions):
                child.stdout.readline()
            child.send_signal(signal.SIGKILL)
        end = store.archive_end("north")
        assert in_table(store) == list(range(end + 1, OLD + 1))
        assert whole_journal(store) == before
        retention(store, data_dir).run_round()
        assert in_table(store) == []
        assert whole_journal(store) == before
        files = store.archive.files("north")
        assert sum(file.last - file.first + 1 for file in files) == OLD, "no entry is in two files"


def test_learning_from_the_archive_leads_to_the_same_state(tmp_path):
    world = World.of(400)
    service = Service(tmp_path / "data", world)
    service.history(200)
    for hour in range(200, 400, 20):
        service.weather(hour, min(hour + 44, 448))
        service.send(hour, hour + 20)
    service.catch_up()
    learned = service.learning.position
    expected = service.store.status("north")
    service.store.close()
    checkpoint(tmp_path / "data", "north", learned - 3, learned)
    with closing(open_in(tmp_path / "data")) as store:
        retention(store, tmp_path / "data", clock=lambda: 1e10).run_round()
        assert store.archive_end("north") == learned - 3
    again = Service(tmp_path / "data", world)
    outcomes = again.catch_up(limit=4)
    assert again.learning.position == learned
    assert outcomes[-1].status.entities == expected.entities
    again.store.close()


def test_a_backup_has_the_archive_and_a_restored_store_reads_it(store, data_dir, tmp_path):
    before = whole_journal(store)
    retention(store, data_dir).run_round()
    back_up(store, data_dir, tmp_path / "saved")
    restored = tmp_path / "restored"
    restore(tmp_path / "saved", restored, str(restored / "clearwatt.db"))
    with closing(open_in(restored)) as copy:
        assert in_table(copy)[0] == OLD + 1
        assert whole_journal(copy) == before


def test_an_archive_outside_of_the_data_directory_is_backed_up_and_restored(
    store, data_dir, tmp_path, capsys
):
    store.archive = JournalArchive(tmp_path / "shared")
    retention(store, data_dir).run_round()
    before = whole_journal(store)
    shared = ["--archive", str(tmp_path / "shared")]
    words = ["--data-dir", str(data_dir), *shared]
    assert main(["backup", *words, "--to", str(tmp_path / "backup")]) == 0
    capsys.readouterr()
    main(["doctor", *words])
    assert "archived journal" not in capsys.readouterr().out
    main(["doctor", "--data-dir", str(data_dir)])
    assert "archived journal" in capsys.readouterr().out, "the default folder has nothing"
    restored, elsewhere = tmp_path / "restored", tmp_path / "elsewhere"
    words = ["--data-dir", str(restored), "--archive", str(elsewhere)]
    assert main(["restore", str(tmp_path / "backup"), "--data-dir", str(restored), *shared]) == 2
    assert "not empty" in capsys.readouterr().err
    assert main(["restore", str(tmp_path / "backup"), *words]) == 0
    assert not (restored / "archive").exists()
    with closing(open_store(restored / "clearwatt.db", archive=elsewhere)) as again:
        assert whole_journal(again) == before


def test_a_damaged_archive_is_not_backed_up(store, data_dir, tmp_path):
    retention(store, data_dir).run_round()
    (file,) = store.archive.files("north")
    file.path.unlink()
    with pytest.raises(StateError, match="the archived journal of zone north is damaged"):
        back_up(store, data_dir, tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


def test_the_doctor_names_a_damaged_archive_and_the_remedy(data_dir, capsys):
    with closing(open_in(data_dir)) as store:
        append(store, "north", register(store), 40, at=NOW - 2 * DAY)
        checkpoint(data_dir, "north", 30, 35)
        retention(store, data_dir).run_round()
        (file,) = store.archive.files("north")
    for position in (30, 35):  # these are no real ones
        Checkpoints(data_dir).remove("north", before=position + 1)
    command = ["doctor", "--data-dir", str(data_dir), "--json"]
    assert main(command) == 0
    capsys.readouterr()
    whole = file.path.read_bytes()
    file.path.write_bytes(whole[:-20])
    assert main([*command, "--mend"]) == 2
    (damage,) = json.loads(capsys.readouterr().out)
    assert damage["what"] == "archived journal of zone north"
    assert "files/archive" in damage["remedy"]
    file.path.write_bytes(whole)
    assert main(command) == 0


def test_the_archive_of_a_deleted_zone_is_deleted(store, data_dir):
    retention(store, data_dir).run_round()
    (zone,) = store.zones()
    store.remove_zone(zone, actor="Ada", at=NOW)
    remove_leftovers(store, ModelFiles(data_dir), Checkpoints(data_dir))
    assert list(JournalArchive(data_dir / "archive").folder.iterdir()) == []


@pytest.mark.slow
def test_a_service_archives_and_learns_again_from_the_archive(data_dir, postgres, monkeypatch):
    """PostgreSQL, because a store of SQLite finds the archive beside its file in any case."""
    monkeypatch.setenv("CLEARWATT_DATABASE_URL", postgres)
    with closing(open_in(data_dir, postgres)) as store:
        append(store, "north", register(store), 40, at=NOW - 2 * DAY)  # in 2024
        for value in range(2):  # each stop writes a checkpoint
            with running(data_dir) as service:
                send_and_settle(service.url, value)
                assert service.stop() == 0
        before = whole_journal(store)
        with running(data_dir, "--keep-journal", "1h") as service:
            until(lambda: store.archive_end("north") == 40, PATIENCE)
            service.kill()
        assert whole_journal(store) == before
        Checkpoints(data_dir).remove("north")
        with running(data_dir) as service:
            send_and_settle(service.url, 2)
            assert service.stop() == 0
        newest, *_ = Checkpoints(data_dir).newest("north")
        assert newest.position == len(before) + 1
        assert store.status("north").error is None


@pytest.mark.slow
def test_nodes_of_a_cluster_share_an_archive_and_learn_again_from_it(tmp_path, postgres):
    (tmp_path / "shared").mkdir()
    shared = ("--archive", str(tmp_path / "shared"))
    with closing(open_store(postgres)) as store, cluster(tmp_path, postgres) as nodes:
        append(store, "north", register(store), 40, at=NOW - 2 * DAY)  # in 2024
        url = nodes.web("web-1", *shared, "--keep-journal", "1h")
        for value in range(2):  # each stop writes a checkpoint
            learner = nodes.add("learner-1", "learner", *shared)
            send_and_settle(url, value)
            assert learner.stop() == 0
        before = whole_journal(store)
        assert store.archive_end("north") == 0, "the round at the start found no checkpoint"
        url = nodes.web("web-2", *shared, "--keep-journal", "1h")
        nodes.nodes["web-1"].kill()
        until(lambda: store.archive_end("north") == 40, PATIENCE)
        store.archive = JournalArchive(tmp_path / "shared")
        assert whole_journal(store) == before

        checkpoints = Checkpoints(StoredFolders(store))
        checkpoints.remove("north")
        nodes.add("learner-2", "learner")
        with Client(url) as client:
            until(lambda: "--archive" in (client.zone("north").error or ""), PATIENCE)
        assert nodes.nodes["learner-2"].stop() == 0
        learner = nodes.add("learner-3", "learner", *shared)
        send_and_settle(url, 2)
        assert learner.stop() == 0
        newest, *_ = checkpoints.newest("north")
        assert newest.position == len(before) + 1
        assert store.status("north").error is None


def send_and_settle(url: str, value: float) -> None:
    """Send a reading, or a correction of it, and wait until the learner has applied it."""
    with Client(url) as client:
        (before,) = client.zones().zones
        client.send_measurements([Series("north-farm", ["2024-06-09T00:00:00Z"], [value])])

        def has_applied() -> bool:
            (zone,) = client.zones().zones
            return zone.position == before.journal + 1

        until(has_applied, PATIENCE)
