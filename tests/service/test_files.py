"""Model files and checkpoints: whole or not there, bounded in number, and full disks are told."""

import resource
import signal
from pathlib import Path

import pytest
import torch

from clearwatt.errors import StateError
from clearwatt.files import load_state, save_state
from clearwatt.service.files import Checkpoints, ModelFiles
from clearwatt.service.records import StoredVersion
from clearwatt.service.store import StoreFullError


def version(number, status="superseded", *, entity="pv 1", path=None):
    identity = f"predictor:{entity}:{number}"
    return StoredVersion(
        identity, "predictor", "town", entity, number, status, 0.0, None, 0.1, path or identity
    )


def state(folder, mark):
    save_state(folder, {"mark": mark}, {"w": torch.arange(4.0)})


def marks(checkpoints, zone="town"):
    found = []
    for checkpoint in checkpoints.newest(zone):
        with checkpoints.open(checkpoint) as folder:
            found.append(load_state(folder).values["mark"])
    return found


@pytest.mark.parametrize("owner", ["pv_01", "a:b c/../d", "Ü" * 100, ":" * 100])
def test_a_version_is_read_back_from_below_the_data_directory(tmp_path, owner):
    files = ModelFiles(tmp_path)
    path = files.write(f"predictor:{owner}:3", {"layers": 2}, {"w": torch.ones(2)})
    assert [each.name for each in (tmp_path / "models").iterdir()] == [Path(path).name]
    saved = files.read(path)
    assert saved.values == {"layers": 2}
    assert torch.equal(saved.tensors["w"], torch.ones(2))


def test_long_ids_that_begin_alike_do_not_share_a_folder(tmp_path):
    files = ModelFiles(tmp_path)
    ids = [f"predictor:{':' * 99}{end}:1" for end in "ab"]
    paths = [files.write(each, {"id": each}, {}) for each in ids]
    assert [files.read(path).values["id"] for path in paths] == ids


def test_damage_to_a_version_is_found(tmp_path):
    files = ModelFiles(tmp_path)
    path = files.write("predictor:pv:0", {}, {"w": torch.ones(9)})
    (tensors,) = (tmp_path / path).glob("*.safetensors")
    content = bytearray(tensors.read_bytes())
    content[-1] ^= 1
    tensors.write_bytes(content)
    with pytest.raises(StateError, match="truncated or altered"):
        files.read(path)


@pytest.mark.parametrize("path", ["../other/models/x", "/etc"])
def test_nothing_outside_the_data_directory_is_read(tmp_path, path):
    with pytest.raises(StateError, match="outside the data directory"):
        ModelFiles(tmp_path).read(path)


def test_the_newest_versions_and_those_in_use_stay(tmp_path):
    files = ModelFiles(tmp_path)
    statuses = {0: "deployed", 1: "superseded", 2: "awaiting", 3: "refused"}
    versions = [
        version(
            number,
            statuses.get(number, "superseded"),
            path=files.write(f"predictor:pv 1:{number}", {}, {}),
        )
        for number in range(6)
    ]
    other = version(0, entity="pv 2", path=files.write("predictor:pv 2:0", {}, {}))
    files.remove(files.find_outdated([*versions, other], keep=2))
    left = [each.number for each in versions if (tmp_path / each.path).exists()]
    assert left == [0, 2, 4, 5]
    assert files.read(other.path).values == {}
    assert files.find_outdated([*versions, other], keep=2) == set()


def test_the_two_newest_checkpoints_are_kept_newest_first(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    for position in (7, 9, 100):
        checkpoints.write("town", position, lambda folder, at=position: state(folder, at))
    checkpoints.write("other", 3, lambda folder: state(folder, "other"))
    assert marks(checkpoints) == [100, 9]
    assert [each.position for each in checkpoints.newest("town")] == [100, 9]
    assert list(checkpoints.newest("nowhere")) == []


def test_a_checkpoint_at_the_same_position_replaces_the_earlier(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    for mark in ("first", "second"):
        checkpoints.write("town", 5, lambda folder, mark=mark: state(folder, mark))
    assert marks(checkpoints) == ["second"]


def test_a_checkpoint_that_fails_half_way_leaves_the_earlier_and_nothing_else(tmp_path):
    def fail(folder):
        state(folder, "half")
        raise RuntimeError("half-way")

    checkpoints = Checkpoints(tmp_path)
    checkpoints.write("town", 5, lambda folder: state(folder, "whole"))
    with pytest.raises(RuntimeError, match="half-way"):
        checkpoints.write("town", 6, fail)
    assert [path.name for path in (tmp_path / "zones" / "town").iterdir()] == ["checkpoint-5"]


def test_what_a_killed_process_left_unfinished_is_removed(tmp_path):
    leftover = tmp_path / "zones" / "town" / ".checkpoint-4.part"
    state(leftover, "half")
    checkpoints = Checkpoints(tmp_path)
    assert marks(checkpoints) == []
    checkpoints.write("town", 5, lambda folder: state(folder, "whole"))
    assert not leftover.exists()


def test_a_damaged_checkpoint_set_aside_gives_way_to_the_one_before(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    for position in (1, 2):
        checkpoints.write("town", position, lambda folder, at=position: state(folder, at))
    aside = checkpoints.set_aside(next(checkpoints.newest("town")))
    assert marks(checkpoints) == [1]
    assert load_state(tmp_path / aside).values == {"mark": 2}


def test_a_full_disk_is_reported_as_such(tmp_path):
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    checkpoints = Checkpoints(tmp_path)

    def fill(folder):
        with Path("/dev/full").open("wb", buffering=0) as device:
            device.write(b"x")

    with pytest.raises(StoreFullError, match=r"no space left.*checkpoint-1"):
        checkpoints.write("town", 1, fill)


def test_other_trouble_with_files_is_not_called_a_full_disk(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            ModelFiles(tmp_path).write("predictor:pv:0", {}, {"w": torch.zeros(9999)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert list((tmp_path / "models").rglob("*.part")) == []
