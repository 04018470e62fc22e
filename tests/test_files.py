"""A state is there whole, or it says what is wrong with it."""

import errno
import hashlib
import json
import os

import pytest
import torch

from clearwatt import files
from clearwatt.errors import DataError, StateError
from clearwatt.files import (
    MANIFEST,
    digest_of,
    load_state,
    lock_file,
    save_state,
    write_text_atomically,
)

VALUES = {"step": 3, "names": ["a", None], "nested": {"τ": 0.5}}
TENSORS = {"w": torch.arange(6.0).reshape(2, 3), "rows": torch.tensor([5, 2**40])}


@pytest.fixture
def folder(tmp_path):
    save_state(tmp_path / "state", VALUES, TENSORS)
    return tmp_path / "state"


def tensor_file(folder):
    (path,) = folder.glob("tensors-*.safetensors")
    return path


def altered(folder, **changes):
    """With other entries, and without a checksum of them, as of an earlier release."""
    manifest = json.loads((folder / MANIFEST).read_text())
    del manifest["sha256"]
    (folder / MANIFEST).write_text(json.dumps(manifest | changes))
    return folder


def test_what_is_saved_comes_back(folder):
    saved = load_state(folder)
    assert saved.values == VALUES
    assert saved.tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert torch.equal(saved.tensors[name], tensor)
        assert saved.tensors[name].dtype == tensor.dtype


def test_tensors_that_share_memory_are_saved_each(tmp_path):
    shared = torch.arange(4.0)
    tensors = {"a": shared, "b": shared, "part": shared[1:3], "none": torch.empty(0)}
    save_state(tmp_path, {}, tensors)
    found = load_state(tmp_path).tensors
    assert {name: tensor.tolist() for name, tensor in found.items()} == {
        name: tensor.tolist() for name, tensor in tensors.items()
    }


def test_saving_again_replaces_and_leaves_nothing_behind(folder):
    save_state(folder, {"step": 4}, {"w": torch.zeros(1)})
    assert load_state(folder).values == {"step": 4}
    assert {path.name for path in folder.iterdir()} == {MANIFEST, tensor_file(folder).name}


def test_a_save_that_stopped_before_the_manifest_leaves_the_old_state(folder):
    """What a crash leaves: the new tensors and a half-written manifest under another name."""
    (folder / "tensors-0123456789abcdef.safetensors").write_bytes(b"new tensors")
    (folder / f"{MANIFEST}.partial").write_text('{"format": "clea')
    assert load_state(folder).values == VALUES


def test_a_reader_that_is_overtaken_by_a_save_finds_the_new_state(folder, monkeypatch):
    read, newer = files._read_manifest, {"w": torch.zeros(1)}

    def overtaken(path):
        manifest = read(path)
        save_state(path, {"step": 4}, newer)
        return manifest

    monkeypatch.setattr(files, "_read_manifest", overtaken)
    saved = load_state(folder)
    assert saved.values == {"step": 4}
    assert torch.equal(saved.tensors["w"], newer["w"])


def test_a_full_disk_leaves_the_old_state_and_no_rubbish(folder, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save_state(folder, {"step": 4}, {"w": torch.zeros(1)})
    assert load_state(folder).values == VALUES
    assert {path.name for path in folder.iterdir()} == {MANIFEST, tensor_file(folder).name}


def test_a_folder_without_state_says_so(tmp_path):
    with pytest.raises(StateError, match=r"holds no saved state \(state.json is missing\)"):
        load_state(tmp_path)


def test_truncated_tensors_are_noticed(folder):
    path = tensor_file(folder)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(StateError, match=r"truncated or altered.*restore it from a backup"):
        load_state(folder)


def test_missing_tensors_are_noticed(folder):
    path = tensor_file(folder)
    path.unlink()
    with pytest.raises(StateError, match=f"{path.name} cannot be read"):
        load_state(folder)


def test_a_truncated_manifest_is_noticed(folder):
    content = (folder / MANIFEST).read_text()
    (folder / MANIFEST).write_text(content[: len(content) // 2])
    with pytest.raises(StateError, match=r"state\.json is truncated or not JSON"):
        load_state(folder)


@pytest.mark.parametrize("content", ["[1, 2]", '{"name": "something else"}', "null"])
def test_another_kind_of_file_is_not_a_state(folder, content):
    (folder / MANIFEST).write_text(content)
    with pytest.raises(StateError, match="not a ClearWatt state"):
        load_state(folder)


@pytest.mark.parametrize("version", [0, files.VERSION + 1, None, str(files.VERSION)])
def test_another_version_names_both(folder, version):
    says = f"version {version}, this release reads version {files.VERSION}"
    with pytest.raises(StateError, match=says):
        load_state(altered(folder, version=version))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"tensors": {}}, "names no tensors"),
        ({"tensors": "here"}, "names no tensors"),
        ({"values": None}, "state.json is incomplete"),
    ],
)
def test_an_incomplete_manifest_is_noticed(folder, changes, says):
    with pytest.raises(StateError, match=says):
        load_state(altered(folder, **changes))


def test_a_manifest_cannot_point_outside_its_folder(folder, tmp_path):
    """The name is taken as a file in the folder, whatever path it claims."""
    secret = tmp_path / "elsewhere.safetensors"
    secret.write_bytes(tensor_file(folder).read_bytes())
    tensors = json.loads((folder / MANIFEST).read_text())["tensors"]
    with pytest.raises(StateError, match="cannot be read"):
        load_state(altered(folder, tensors=tensors | {"file": f"../{secret.name}"}))


def test_a_digest_survives_saving_and_does_not_depend_on_order(folder):
    saved = load_state(folder)
    assert digest_of(saved.values, saved.tensors) == digest_of(VALUES, TENSORS)
    backwards = [dict(reversed(each.items())) for each in (VALUES, TENSORS)]
    assert digest_of(*backwards) == digest_of(VALUES, TENSORS)


@pytest.mark.parametrize(
    ("values", "tensors"),
    [
        (VALUES | {"step": 4}, TENSORS),
        (VALUES, TENSORS | {"w": TENSORS["w"].reshape(3, 2)}),
        (VALUES, TENSORS | {"w": TENSORS["w"] + 1e-6}),
        (VALUES, TENSORS | {"rows": TENSORS["rows"].to(torch.float64)}),
        (VALUES, {"w": TENSORS["w"]}),
    ],
)
def test_a_digest_sees_every_difference(values, tensors):
    assert digest_of(values, tensors) != digest_of(VALUES, TENSORS)


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


def test_a_file_is_locked_once_until_it_is_closed(tmp_path):
    with (tmp_path / "lock").open("w") as first:
        assert lock_file(first)
        with (tmp_path / "lock").open("w") as second:
            assert not lock_file(second)
    with (tmp_path / "lock").open("w") as third:
        assert lock_file(third)


def test_a_digit_that_changed_in_the_manifest_is_found(folder):
    text = (folder / MANIFEST).read_text()
    (folder / MANIFEST).write_text(text.replace("0.5", "0.6"))
    with pytest.raises(StateError, match=rf"{MANIFEST} is altered"):
        load_state(folder)


def test_a_state_of_an_earlier_release_without_a_checksum_is_read(folder):
    assert load_state(altered(folder)).values == VALUES


def test_a_manifest_that_is_nested_without_end_is_damaged(folder):
    (folder / MANIFEST).write_text("[" * 100_000)
    with pytest.raises(StateError, match="is damaged"):
        load_state(folder)


def test_tensors_that_are_none_are_damaged_although_their_checksum_is_right(folder):
    content = b"no tensors at all"
    tensor_file(folder).write_bytes(content)
    tensors = {"file": tensor_file(folder).name, "sha256": hashlib.sha256(content).hexdigest()}
    altered(folder, tensors=tensors)
    with pytest.raises(StateError, match="is damaged"):
        load_state(folder)
