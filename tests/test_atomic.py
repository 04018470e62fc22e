import pytest

from clearwatt.atomic import write_text_atomically
from clearwatt.errors import DataError


def test_folders_on_the_way_are_created(tmp_path):
    write_text_atomically(tmp_path / "a" / "b.txt", "hello")
    assert (tmp_path / "a" / "b.txt").read_text() == "hello"


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file.txt"
    write_text_atomically(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_text_atomically(path, "new \ud800")
    assert [file.name for file in tmp_path.iterdir()] == ["file.txt"]
    assert path.read_text() == "old"


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(DataError, match="folder"):
        write_text_atomically(tmp_path, "text")
