"""Folders of models are the same on disk and in the database of a cluster."""

import hashlib
from contextlib import closing

import pytest
import torch

from clearwatt.errors import StateError
from clearwatt.files import MANIFEST, load_state, save_state
from clearwatt.service.files import Checkpoints, ModelFiles
from clearwatt.service.folders import DiskFolders, StoredFolders
from clearwatt.service.store import open_store


@pytest.fixture
def store(address):
    with closing(open_store(address)) as store:
        yield store


@pytest.fixture(params=["disk", "stored"])
def folders(request, tmp_path):
    if request.param == "disk":
        yield DiskFolders(tmp_path / "data")
    else:
        with closing(open_store(request.getfixturevalue("postgres"))) as store:
            yield StoredFolders(store)


def mark(folders, path):
    with folders.open(path) as folder:
        return load_state(folder / "zone").values["mark"]


def save(value):
    return lambda folder: save_state(folder / "zone", {"mark": value}, {"w": torch.ones(3)})


def test_a_folder_is_written_whole_replaced_moved_and_removed(folders):
    folders.write("zones/north/checkpoint-1", save("first"))
    folders.write("zones/north/checkpoint-1", save("second"))
    folders.write("zones/south/checkpoint-1", save("other"))
    assert mark(folders, "zones/north/checkpoint-1") == "second"
    assert folders.names("zones/north") == ["checkpoint-1"]
    folders.move("zones/north/checkpoint-1", "zones/north/damaged")
    assert folders.names("zones/north") == ["damaged"]
    assert folders.existing(["zones/north/damaged", "zones/west/none"]) == {"zones/north/damaged"}
    folders.remove("zones/north/damaged")
    assert not folders.existing(["zones/north/damaged"])
    assert mark(folders, "zones/south/checkpoint-1") == "other"


def test_a_state_is_read_and_damage_is_told(folders):
    folders.write_state("models/a", {"mark": "first"}, {"w": torch.arange(3)})
    read = folders.read_state("models/a")
    assert read.values == {"mark": "first"}
    assert read.tensors["w"].tolist() == [0, 1, 2]
    with pytest.raises(StateError, match=r"models/b holds no saved state"):
        folders.read_state("models/b")
    folders.write("models/c", lambda folder: (folder / MANIFEST).write_bytes(b"{"))
    with pytest.raises(StateError, match=r"truncated or not JSON"):
        folders.read_state("models/c")

    def without_tensors(folder):
        save_state(folder, {}, {"w": torch.ones(1)})
        (file,) = folder.glob("*.safetensors")
        file.unlink()

    folders.write("models/d", without_tensors)
    with pytest.raises(StateError, match=r"models/d is damaged"):
        folders.read_state("models/d")


def test_a_save_that_fails_leaves_the_folder_of_before(folders):
    def fail(folder):
        save("half")(folder)
        raise RuntimeError("half-way")

    folders.write("zones/north/checkpoint-1", save("whole"))
    with pytest.raises(RuntimeError, match="half-way"):
        folders.write("zones/north/checkpoint-1", fail)
    assert mark(folders, "zones/north/checkpoint-1") == "whole"


def test_models_and_checkpoints_work_on_either(folders):
    files, checkpoints = ModelFiles(folders), Checkpoints(folders)
    path = files.write("predictor:pv:1", {"layers": 2}, {"w": torch.ones(2)}, owner="e7")
    assert files.read(path).values == {"layers": 2}
    files.remove_entities([7])
    with pytest.raises(StateError, match="holds no saved state"):
        files.read(path)
    for position in (1, 2, 3):
        checkpoints.write("north", position, save(position))
    assert [each.position for each in checkpoints.newest("north")] == [3, 2]
    newest = next(checkpoints.newest("north"))
    checkpoints.set_aside(newest)
    assert [each.position for each in checkpoints.newest("north")] == [2]
    checkpoints.remove("north")
    assert list(checkpoints.newest("north")) == []
    assert folders.names("zones/north") == []


def test_an_altered_file_in_the_database_is_found(store):
    folders = StoredFolders(store)
    folders.write("models/a", save("whole"))
    with store.write_session() as session:
        content = b"altered"
        wrong = hashlib.sha256(b"another").hexdigest()
        session.run("UPDATE folders SET content = ?, checksum = ?", content, wrong)
    with pytest.raises(StateError, match="damaged in the database"), folders.open("models/a"):
        pass


def test_a_part_of_the_data_directory_may_be_on_another_disk(tmp_path):
    (tmp_path / "other" / "zones").mkdir(parents=True)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "zones").symlink_to(tmp_path / "other" / "zones")
    folders = DiskFolders(tmp_path / "data")
    folders.write("zones/north/checkpoint-1", save("linked"))
    assert mark(folders, "zones/north/checkpoint-1") == "linked"
    assert (tmp_path / "other" / "zones" / "north" / "checkpoint-1").is_dir()
