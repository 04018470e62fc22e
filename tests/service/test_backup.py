"""Backups of a real service under load, restored and gone on with."""

import json
import threading

import pytest

from clearwatt.cli import main
from clearwatt.errors import ConfigurationError, StateError
from clearwatt.service.backup import back_up, read_backup, restore
from clearwatt.service.client import Client
from clearwatt.service.client.replay import Plan, Replay
from clearwatt.service.store import open_store

from .processes import until
from .running import PATIENCE, SETTINGS, running, small_grid, standing

EARLY, LATE = "2024-01-04T00:00:00Z", "2024-02-01T00:00:00Z"


def forecasts(client: Client, day: str) -> list[object]:
    answer = client.forecasts(["farm", "park", "town"], start=day, end=f"{day[:11]}23:00:00Z")
    assert {source for each in answer.forecasts for source in each.sources} == {"model"}
    return [each.model_dump(exclude={"issued_at"}) for each in answer.forecasts]


def play(url: str, speed: float, saved: threading.Event | None = None) -> None:
    """Play the grid; the last part of it slowly until the backup is saved."""
    with Client(url, patience=PATIENCE) as client:
        for each in Replay(client, small_grid(), Plan(speed=speed, settings=SETTINGS)).run():
            if saved is not None and each.time - each.start > 0.8 * (each.end - each.start):
                saved.wait(3.0)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A service that was backed up in the middle of a replay: its folder, backup, and end."""
    folder = tmp_path_factory.mktemp("backup")
    with running(folder / "data") as service, Client(service.url) as client:
        saved = threading.Event()
        thread = threading.Thread(target=play, args=(service.url, 3600 * 75, saved))
        thread.start()
        until(lambda: any(entity.updates for entity in client.entities().entities), PATIENCE)
        code = main(["backup", "--data-dir", str(folder / "data"), "--to", str(folder / "saved")])
        assert code == 0
        assert thread.is_alive(), "the backup was to be made under load"
        saved.set()
        thread.join()
        yield folder, standing(client), forecasts(client, LATE)


@pytest.mark.slow
def test_a_restored_service_goes_on_to_the_same_end(original, tmp_path):
    folder, end, said = original
    assert main(["restore", str(folder / "saved"), "--data-dir", str(tmp_path / "data")]) == 0
    with running(tmp_path / "data") as service, Client(service.url) as client:
        before = standing(client)
        assert before != end
        assert {entity["state"] for entity in before["entities"]} == {"learning"}
        assert forecasts(client, EARLY)
        play(service.url, float("inf"))
        assert standing(client) == end
        assert forecasts(client, LATE) == said


@pytest.mark.slow
def test_a_backup_of_sqlite_goes_on_in_postgresql_and_back(
    original, postgres, tmp_path, monkeypatch
):
    folder, end, said = original
    monkeypatch.setenv("CLEARWATT_DATABASE_URL", postgres)
    assert main(["restore", str(folder / "saved"), "--data-dir", str(tmp_path / "data")]) == 0
    with running(tmp_path / "data") as service, Client(service.url) as client:
        play(service.url, float("inf"))
        assert standing(client) == end
        assert (
            main(["backup", "--data-dir", str(tmp_path / "data"), "--to", str(tmp_path / "b")]) == 0
        )
    monkeypatch.delenv("CLEARWATT_DATABASE_URL")
    assert main(["restore", str(tmp_path / "b"), "--data-dir", str(tmp_path / "back")]) == 0
    with running(tmp_path / "back") as service, Client(service.url) as client:
        assert standing(client) == end
        assert forecasts(client, LATE) == said


@pytest.mark.slow
def test_a_damaged_backup_is_refused_and_nothing_is_written(original, tmp_path):
    folder, *_ = original
    copy = tmp_path / "copy"
    store = open_store(folder / "data" / "clearwatt.db")
    try:
        backup = back_up(store, folder / "data", copy)
    finally:
        store.close()
    name = next(name for name in backup.checksums if name.endswith(".safetensors"))
    damaged = copy / name
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"!")
    with pytest.raises(StateError, match="altered"):
        restore(copy, tmp_path / "data", str(tmp_path / "data" / "clearwatt.db"))
    damaged.unlink()
    with pytest.raises(StateError, match="missing"):
        restore(copy, tmp_path / "data", str(tmp_path / "data" / "clearwatt.db"))
    assert not (tmp_path / "data").exists()


@pytest.mark.slow
def test_a_target_that_is_in_use_is_refused(original, tmp_path, capsys):
    folder, *_ = original
    (tmp_path / "thesis.tex").write_text("years of work")
    for command in (
        ["backup", "--data-dir", str(folder / "data"), "--to", str(tmp_path)],
        ["restore", str(folder / "saved"), "--data-dir", str(tmp_path)],
    ):
        assert main(command) == 2
        assert "is not empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.slow
def test_a_restore_that_fails_can_be_given_again(original, tmp_path):
    folder, *_ = original
    (tmp_path / "taken.db").write_text("")
    with pytest.raises(Exception, match="exists"):
        restore(folder / "saved", tmp_path / "data", str(tmp_path / "taken.db"))
    assert list((tmp_path / "data").iterdir()) == []
    restore(folder / "saved", tmp_path / "data", str(tmp_path / "data" / "clearwatt.db"))


@pytest.mark.parametrize("content", [None, "{", "[]", json.dumps({"format": "x", "version": 1})])
def test_a_folder_that_is_no_backup(content, tmp_path):
    if content is not None:
        (tmp_path / "backup.json").write_text(content)
    with pytest.raises(StateError, match="backup"):
        read_backup(tmp_path)


def test_a_file_is_no_target(tmp_path):
    (tmp_path / "file").write_text("")
    store = open_store(tmp_path / "clearwatt.db")
    try:
        with pytest.raises(ConfigurationError, match="is a file"):
            back_up(store, tmp_path, tmp_path / "file")
    finally:
        store.close()
