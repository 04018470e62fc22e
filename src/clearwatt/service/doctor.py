"""Examination of a data directory: what is damaged, and what can be mended from the journal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from clearwatt.errors import ClearwattError, StateError
from clearwatt.files import MANIFEST, load_state
from clearwatt.service.files import (
    Checkpoints,
    ModelFiles,
    ZoneCheckpoint,
    entity_owner,
    model_path,
)
from clearwatt.service.folders import DiskFolders, Folders, StoredFolders
from clearwatt.service.permissions import OPEN_DIRECTORY, is_open_to_others, make_private
from clearwatt.service.records import StoredVersion
from clearwatt.service.store import Store, StoreDamagedError, open_store
from clearwatt.service.store.journal_archive import ARCHIVE, JournalArchive

PAGE = 1000
"""Versions read at a time."""


@dataclass(frozen=True)
class Damage:
    """Something that is damaged: what, why, how it is mended, and whether it was."""

    what: str
    reason: str
    remedy: str
    mended: bool = False


def examine(
    data_dir: Path, database: str, *, archive: Path | None = None, mend: bool = False
) -> list[Damage]:
    """Read everything that a service would load.

    Args:
        data_dir: The service's data directory.
        database: Its database: a path of SQLite, or the URL of PostgreSQL.
        archive: The folder of archived entries; by default the one of the data directory.
        mend: Mend what can be mended; the service must be stopped.
    """
    found = list(_check_permissions(data_dir, mend=mend))
    try:
        store = open_store(database, archive=archive or data_dir / ARCHIVE)
    except (StoreDamagedError, StateError) as error:
        return [*found, _database_damage(str(error))]
    try:
        if mend:
            with store.exclusive():
                return [*found, *_examine(store, data_dir, mend=True)]
        return [*found, *_examine(store, data_dir, mend=False)]
    finally:
        store.close()


def _examine(store: Store, data_dir: Path, *, mend: bool) -> Iterator[Damage]:
    damage = store.find_damage()
    if damage is not None:
        mended = mend and store.mend_damage()
        yield replace(_database_damage(damage), mended=mended)
        if not mended:
            return
    folders = _find_folders(store, data_dir)
    checkpoints, files = Checkpoints(folders), ModelFiles(folders)
    if store.archive is not None:
        yield from _check_archive(store, store.archive)
    for zone in sorted(zone.id for zone in store.zones()):
        yield from _check_checkpoints(checkpoints, zone, mend=mend)
        yield from _check_models(store, files, checkpoints, zone, mend=mend)


def _find_folders(store: Store, data_dir: Path) -> Folders:
    """Where models and checkpoints are; those of a cluster are in its database."""
    own = DiskFolders(data_dir)
    return StoredFolders(store) if store.folder_names("models") and not own.names("models") else own


def _check_permissions(data_dir: Path, *, mend: bool) -> Iterator[Damage]:
    if is_open_to_others(data_dir):
        if mend:
            make_private(data_dir)
        yield Damage(str(data_dir), OPEN_DIRECTORY, "chmod 700", mended=mend)


def _database_damage(reason: str) -> Damage:
    return Damage("the database", reason, "restore the last backup with 'clearwatt restore'")


def _check_archive(store: Store, archive: JournalArchive) -> Iterator[Damage]:
    for zone, (first, last) in store.archive_spans().items():
        reason = archive.find_damage(zone, first=first, until=last)
        if reason is not None:
            remedy = "copy the files below 'files/archive' of the last backup to 'archive'"
            yield Damage(f"archived journal of zone {zone}", reason, remedy)


def _check_checkpoints(checkpoints: Checkpoints, zone: str, *, mend: bool) -> Iterator[Damage]:
    for checkpoint in list(checkpoints.newest(zone)):
        reason = _checkpoint_damage(checkpoints, checkpoint)
        if reason is None:
            continue
        if mend:
            checkpoints.set_aside(checkpoint)
        yield Damage(
            f"checkpoint {checkpoint.position} of zone {zone}",
            reason,
            "set it aside; the learner continues from an earlier one and the journal",
            mended=mend,
        )


def _checkpoint_damage(checkpoints: Checkpoints, checkpoint: ZoneCheckpoint) -> str | None:
    try:
        with checkpoints.open(checkpoint) as folder:
            manifests = sorted(folder.rglob(MANIFEST))
            if not manifests:
                return "it is empty"
            return next((why for each in manifests if (why := _state_damage(each.parent))), None)
    except StateError as error:  # a file in the database
        return str(error)


def _state_damage(folder: Path) -> str | None:
    try:
        load_state(folder)
    except ClearwattError as error:
        return str(error)
    return None


def _check_models(
    store: Store, files: ModelFiles, checkpoints: Checkpoints, zone: str, *, mend: bool
) -> Iterator[Damage]:
    """Check the versions in use or awaiting a decision; others may have been deleted."""
    damaged = [
        (version, reason)
        for version in _versions(store, zone)
        if version.status in ("deployed", "awaiting") and (reason := _model_damage(files, version))
    ]
    if damaged and mend:
        # Learning from the start of the journal writes every version again, where releases before
        # owners were part of the path did not.
        numbers = {entity.id: entity.number for entity in store.entities(zone)}
        for version, _ in damaged:
            if version.entity in numbers:
                path = model_path(version.id, entity_owner(numbers[version.entity]))
                if path != version.path:
                    store.move_version(version.id, path)
                    files.remove([version.path])
        for checkpoint in reversed(list(checkpoints.newest(zone))):
            checkpoints.set_aside(checkpoint)
    for version, reason in damaged:
        remedy = "set the zone's checkpoints aside; the learner learns it again from the journal"
        yield Damage(f"model {version.id}", reason, remedy, mended=mend)


def _versions(store: Store, zone: str) -> Iterator[StoredVersion]:
    offset = 0
    every = partial(store.versions, zone=zone, limit=PAGE, deleted=True)
    while page := every(offset=offset):
        yield from page
        offset += len(page)


def _model_damage(files: ModelFiles, version: StoredVersion) -> str | None:
    try:
        files.read(version.path)
    except ClearwattError as error:
        return str(error)
    return None
