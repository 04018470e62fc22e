"""Backups of a running service: its store, its models and its checkpoints, consistent and checked.

Model files never change and are written before the store names them, so they are copied after the
store. The store must contain the journal up to each checkpoint, so checkpoints are copied before
it. Entries are archived before the store forgets them, so the archive is copied after it. Data that
arrive meanwhile are in the next backup.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from clearwatt import __version__
from clearwatt.errors import ConfigurationError, StateError
from clearwatt.files import MANIFEST as STATE_MANIFEST
from clearwatt.files import load_state, read_versioned_json, write_text_atomically
from clearwatt.service.permissions import create_private_files, make_private
from clearwatt.service.store import Store
from clearwatt.service.store.journal_archive import ARCHIVE, JournalArchive
from clearwatt.service.store.restore import restore_store
from clearwatt.service.times import text

FORMAT, VERSION = "clearwatt-backup", 1
MANIFEST = "backup.json"
STORE, FILES = "store", "files"
MODELS, IMPORTED, ZONES = "models", "brought", "zones"
ATTEMPTS = 5
"""Attempts to copy a checkpoint that the service replaces meanwhile."""


@dataclass(frozen=True)
class Backup:
    """The content of a backup."""

    folder: Path
    created_at: str
    release: str
    checksums: Mapping[str, str]
    bytes: int


@create_private_files()
def back_up(store: Store, data_dir: Path, target: Path) -> Backup:
    """Copy all data of a service, which may be running, into a new folder.

    Args:
        store: the service's store; its archive may be outside of the data directory.
        data_dir: its data directory.
        target: a folder that does not exist or is empty; it appears when it is complete.
    """
    _require_empty(target, "back up to")
    unfinished = target.with_name(f".{target.name}.part")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    try:
        _copy_checkpoints(data_dir / ZONES, unfinished / FILES / ZONES)
        (unfinished / STORE).mkdir()
        store.backup(unfinished / STORE)
        for name in (MODELS, IMPORTED):
            _copy_folders(data_dir / name, unfinished / FILES / name)
        _copy_archive(store, store.archive or JournalArchive(data_dir / ARCHIVE), unfinished)
        _write_manifest(unfinished)
        make_private(unfinished)
        if target.exists():
            target.rmdir()
        unfinished.rename(target)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return read_backup(target)


@create_private_files()
def restore(folder: Path, data_dir: Path, database: str, *, archive: Path | None = None) -> Backup:
    """Restore a backup to an empty data directory and database, after a check of every file.

    Args:
        folder: what `back_up` wrote.
        data_dir: where the service will be started.
        database: its database: a path of SQLite below ``data_dir``, or the URL of PostgreSQL.
        archive: folder of archived entries; by default the one of ``data_dir``.
    """
    backup = read_backup(folder)
    archive = archive or data_dir / ARCHIVE
    targets = {ARCHIVE: archive} | {name: data_dir / name for name in (ZONES, MODELS, IMPORTED)}
    for target in (data_dir, archive):
        _require_empty(target, "restore to")
    _verify(backup)
    data_dir.mkdir(parents=True, exist_ok=True)
    make_private(data_dir)
    try:
        for name, target in targets.items():
            if (folder / FILES / name).is_dir():
                shutil.copytree(folder / FILES / name, target, dirs_exist_ok=True)
                make_private(target)
        make_private(data_dir)
        restore_store(folder / STORE, database)
    except BaseException:
        for target in (data_dir, archive):
            _empty(target)
        raise
    return backup


def read_backup(folder: Path) -> Backup:
    """The backup described by the manifest of a folder."""
    try:
        content = read_versioned_json(folder / MANIFEST, format_name=FORMAT, version=VERSION)
        return Backup(
            folder=folder,
            created_at=content["created_at"],
            release=content["release"],
            checksums={str(name): str(digest) for name, digest in content["sha256"].items()},
            bytes=int(content["bytes"]),
        )
    except FileNotFoundError as error:
        raise StateError(
            f"{folder} holds no whole backup ({MANIFEST} is missing); give the folder that "
            "'clearwatt backup' wrote"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StateError(
            f"{folder / MANIFEST} is damaged or of another release ({error}); use another backup"
        ) from error


def _require_empty(folder: Path, purpose: str) -> None:
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError(f"{folder} is a file; give a new folder to {purpose}")
    if folder.is_dir() and any(folder.iterdir()):
        raise ConfigurationError(f"{folder} is not empty; give a new or empty folder to {purpose}")


def _empty(folder: Path) -> None:
    """Empty a folder again, so that the same command can be repeated."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _copy_checkpoints(source: Path, target: Path) -> None:
    """Copy the newest of each zone; without one the learner applies the whole journal."""
    for zone in sorted(source.iterdir()) if source.is_dir() else ():
        for _ in range(ATTEMPTS):
            newest = max(zone.glob("checkpoint-*"), key=_position, default=None)
            if newest is None or _copy_checkpoint(newest, target / zone.name / newest.name):
                break


def _position(checkpoint: Path) -> int:
    return int(checkpoint.name.rpartition("-")[2])


def _copy_checkpoint(source: Path, target: Path) -> bool:
    """Copy a checkpoint; False if the service replaced it meanwhile."""
    try:
        shutil.copytree(source, target)
        for manifest in target.rglob(STATE_MANIFEST):
            load_state(manifest.parent)
    except (OSError, StateError) as error:
        shutil.rmtree(target, ignore_errors=True)
        if isinstance(error, OSError) and source.is_dir() and not isinstance(error, shutil.Error):
            raise
        return False
    return True


def _copy_folders(source: Path, target: Path) -> None:
    """Copy models; one that the service removes meanwhile is too old to be needed."""
    for folder in sorted(source.iterdir()) if source.is_dir() else ():
        _copy_folder(folder, target / folder.name)


def _copy_folder(source: Path, target: Path) -> None:
    try:
        shutil.copytree(source, target, ignore=shutil.ignore_patterns(".*"))
    except (shutil.Error, FileNotFoundError):
        shutil.rmtree(target, ignore_errors=True)
        if source.is_dir():
            raise


def _copy_archive(store: Store, archive: JournalArchive, target: Path) -> None:
    """Copy the archived entries and read the copy; those archived since then need not be in it."""
    copy = JournalArchive(target / FILES / ARCHIVE)
    for zone, (first, last) in store.archive_spans().items():
        _copy_folder(archive.zone_folder(zone), copy.zone_folder(zone))
        damage = copy.find_damage(zone, first=first, until=last)
        if damage is not None and zone in store.archive_spans():  # or it was deleted meanwhile
            raise StateError(
                f"the archived journal of zone {zone} is damaged ({damage}); run 'clearwatt "
                "doctor', and keep the backups you have"
            )


def _write_manifest(folder: Path) -> None:
    files = sorted(_files(folder))
    content = {
        "format": FORMAT,
        "version": VERSION,
        "created_at": text(int(time.time())),
        "release": __version__,
        "bytes": sum((folder / name).stat().st_size for name in files),
        "sha256": {name: _checksum(folder / name) for name in files},
    }
    write_text_atomically(folder / MANIFEST, json.dumps(content, indent=1) + "\n")


def _verify(backup: Backup) -> None:
    for name, digest in backup.checksums.items():
        path = backup.folder / name
        if not path.is_file() or _checksum(path) != digest:
            what = "altered" if path.is_file() else "missing"
            raise StateError(f"{path} is {what} since the backup was made; use another backup")


def _files(folder: Path) -> Iterator[str]:
    for where, _, names in os.walk(folder):
        for name in names:
            yield str((Path(where) / name).relative_to(folder))


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
