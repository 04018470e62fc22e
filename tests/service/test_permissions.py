"""Data directories and backups are readable by their owner only, whatever the umask."""

import os
from pathlib import Path

import pytest

from clearwatt.cli import main

from .running import get, running


@pytest.fixture(autouse=True)
def generous_umask():
    """The umask of a shell that lets everybody read, and change, new files."""
    before = os.umask(0)
    yield
    os.umask(before)


def open_paths(folder: Path) -> list[Path]:
    """A folder and what is in it, as far as others than the owner have any right."""
    return [path for path in (folder, *folder.rglob("*")) if path.stat().st_mode & 0o077]


def create_token(data_dir: Path) -> None:
    options = ["--role", "read", "--name", "tests", "--data-dir", str(data_dir)]
    assert main(["token", "create", *options]) == 0


def notes(url: str) -> str:
    return " ".join(get(f"{url}/readyz").json()["notes"])


def test_token_backup_and_restore_write_private_files(tmp_path):
    data, saved, empty = tmp_path / "data", tmp_path / "saved", tmp_path / "empty"
    create_token(data)
    for name in ("models", "zones"):  # as an earlier release left them
        folder = data / name / "a" / "checkpoint-1"
        folder.mkdir(parents=True)
        (folder / "weights").write_text("")
    for folder in (saved, empty):
        folder.mkdir(mode=0o755)
    assert main(["backup", "--data-dir", str(data), "--to", str(saved)]) == 0
    assert main(["restore", str(saved), "--data-dir", str(empty)]) == 0
    assert main(["restore", str(saved), "--data-dir", str(tmp_path / "new")]) == 0
    assert open_paths(data / "clearwatt.db") == []
    for folder in (saved, empty, tmp_path / "new"):
        assert len(list(folder.rglob("*"))) > 5
        assert open_paths(folder) == []
    assert data.stat().st_mode & 0o777 == 0o700


@pytest.mark.slow
def test_a_service_writes_private_files_and_says_if_its_directory_is_readable(tmp_path):
    data = tmp_path / "parent" / "data"
    create_token(data)
    data.chmod(0o750)
    with running(data) as service:
        said = notes(service.url)
        assert "chmod 700" in said
        assert str(tmp_path) not in said
        assert open_paths(data) == [data]
        data.chmod(0o700)
        assert "chmod 700" not in notes(service.url)
        assert service.stop() == 0
    assert open_paths(data) == []
    assert "chmod 700" in data.with_name("data.log").read_text()
