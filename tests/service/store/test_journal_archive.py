"""Files of the archive: what was written, or an error that says what to do."""

from __future__ import annotations

import re

import pytest

from clearwatt.errors import StateError
from clearwatt.service.store.journal_archive import ArchiveRow, JournalArchive


def rows(first: int, last: int) -> list[ArchiveRow]:
    return [
        ArchiveRow(seq, "weather", None, 0.1 * seq, None)
        if seq % 3 == 0
        else ArchiveRow(seq, "readings", bytes([seq % 256]) * seq, 0.1 * seq, seq * 7)
        for seq in range(first, last + 1)
    ]


@pytest.fixture
def archive(tmp_path):
    made = JournalArchive(tmp_path / "archive")
    made.write("north", rows(1, 20))
    made.write("north", rows(21, 50))
    return made


def test_a_file_has_what_was_written(archive):
    one, other = archive.files("north")
    assert (one.path.name, other.path.name) == ("1-20.parquet", "21-50.parquet")
    assert archive.read(one) == rows(1, 20)
    assert archive.read(other) == rows(21, 50)
    assert archive.files("south") == []


def test_entries_are_found_across_files(archive):
    assert list(archive.portions("north", first=5, until=33)) == [rows(5, 20), rows(21, 33)]
    assert archive.rows("north", first=5, until=50, limit=3) == rows(5, 7)
    assert archive.rows("north", first=19, until=50, limit=100) == rows(19, 20)
    assert archive.find_damage("north", first=1, until=50) is None


def test_a_missing_file_is_named_with_the_remedy(archive):
    archive.files("north")[0].path.unlink()
    found = archive.find_damage("north", first=1, until=50)
    assert found is not None
    assert "entry 1 of zone north is archived, but no file" in found
    assert "copy it from the last backup" in found
    assert archive.find_damage("north", first=21, until=50) is None


def test_every_changed_byte_is_found(archive):
    file = archive.files("north")[1]
    whole = file.path.read_bytes()
    for place in range(0, len(whole), 7):
        changed = bytearray(whole)
        changed[place] ^= 0x20
        file.path.write_bytes(changed)
        try:
            found = archive.read(file)
        except StateError as error:
            assert str(file.path) in str(error)
        else:
            assert found == rows(21, 50), f"byte {place} was changed, and nobody noticed"


@pytest.mark.parametrize("size", [0, 4, 200])
def test_a_file_that_was_cut_off_is_not_read(archive, size):
    file = archive.files("north")[0]
    file.path.write_bytes(file.path.read_bytes()[:size])
    with pytest.raises(StateError, match=re.escape(str(file.path))):
        archive.read(file)


def test_a_file_of_other_entries_is_not_read(archive):
    one, other = archive.files("north")
    one.path.write_bytes(other.path.read_bytes())
    with pytest.raises(StateError, match="not what was written"):
        archive.read(one)


def test_a_file_of_another_zone_is_not_read(archive):
    archive.write("south", rows(1, 20))
    file, foreign = archive.files("south")[0], archive.files("north")[0]
    file.path.write_bytes(foreign.path.read_bytes())
    with pytest.raises(StateError, match="not what was written"):
        archive.read(file)


@pytest.mark.parametrize("zone", ["..", "a/b", "Süd", "x" * 300, "two words", "."])
def test_any_zone_has_a_folder_of_its_own(tmp_path, zone):
    archive = JournalArchive(tmp_path / "archive")
    file = archive.write(zone, rows(1, 3))
    assert file.path.parent.parent == tmp_path / "archive"
    assert archive.read(archive.files(zone)[0]) == rows(1, 3)


def test_what_a_killed_process_left_is_removed(archive):
    unfinished = archive.files("north")[0].path.with_name(".51-60.parquet.17.part")
    unfinished.write_bytes(b"half")
    archive.write("north", rows(51, 52))
    assert not unfinished.exists()


def test_files_of_a_deleted_zone_are_removed_and_those_of_its_successor_stay(archive):
    archive.remove("north", before=21)
    assert [file.first for file in archive.files("north")] == [21]
    archive.remove("north")
    assert list(archive.folder.iterdir()) == []
    archive.remove("north")
