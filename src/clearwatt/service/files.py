"""Files of the service below its data directory: model versions, and checkpoints of zones.

Model files do not change once written; a checkpoint is replaced by a newer one. Both are written
atomically and verified when read (see `clearwatt.files`).
"""

from __future__ import annotations

import errno
import hashlib
import math
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from torch import Tensor

from clearwatt.errors import StateError
from clearwatt.files import SavedState, load_state, save_state
from clearwatt.service.records import StoredVersion
from clearwatt.service.store import StoreFullError

KEPT_VERSIONS = 20
"""Number of versions of a component whose files are kept, besides those in use."""

KEPT_CHECKPOINTS = 2
"""The newest, and one more in case that is damaged."""

_MODELS = "models"
_LONGEST_NAME = 200
_CHECKPOINT = re.compile(r"checkpoint-(\d+)")
_FULL = (errno.ENOSPC, errno.EDQUOT)


class ModelFiles:
    """The folders of model versions, `models/<id>@<owner>/` below a data directory.

    Args:
        root: The data directory.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root)

    def write(
        self,
        version: str,
        values: Mapping[str, object],
        tensors: Mapping[str, Tensor],
        *,
        owner: str = "",
    ) -> str:
        """Write a version durably and return its path; see `model_path`."""
        path = model_path(version, owner)
        folder = self.root / path
        with _translate_full_disk(folder):
            save_state(folder, values, tensors)
            _sync(folder, folder.parent)
        return path

    def read(self, path: str) -> SavedState:
        """Read a version by its path; StateError if a file is missing or damaged."""
        return load_state(self._below(path))

    def find_outdated(
        self, versions: Iterable[StoredVersion], *, keep: int = KEPT_VERSIONS
    ) -> set[str]:
        """Paths of versions on disk that are neither in use, awaiting a decision nor new.

        Args:
            versions: All versions of the components to check.
            keep: Number of newest versions per component that are always kept.
        """
        return {path for path in _outdated_paths(versions, keep) if self._below(path).is_dir()}

    def remove(self, paths: Iterable[str]) -> None:
        """Remove the files of versions; errors are ignored and the next call tries again."""
        for path in paths:
            shutil.rmtree(self._below(path), ignore_errors=True)

    def remove_entities(self, numbers: Collection[int]) -> None:
        """Remove all files of entities, by their numbers in the store."""
        folder, owners = self.root / _MODELS, {entity_owner(number) for number in numbers}
        for each in list(folder.iterdir()) if owners and folder.is_dir() else ():
            if "@" in each.name and each.name.rpartition("@")[2] in owners:
                shutil.rmtree(each, ignore_errors=True)

    def _below(self, path: str) -> Path:
        folder = (self.root / path).resolve()
        if not folder.is_relative_to(self.root.resolve()):
            raise StateError(f"{path} is outside the data directory; name a model of this service")
        return folder


class ZoneCheckpoint(NamedTuple):
    """A zone's state after the journal entry ``position``, in a folder."""

    position: int
    folder: Path


class Checkpoints:
    """The folders of zones' states, `zones/<zone>/checkpoint-<position>/` below a data directory.

    Args:
        root: The data directory.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root)

    def write(self, zone: str, position: int, save: Callable[[Path], None]) -> Path:
        """Write a checkpoint with ``save(folder)``; the newest `KEPT_CHECKPOINTS` are kept."""
        folder = self._zone_folder(zone) / f"checkpoint-{position}"
        unfinished = folder.with_name(f".{folder.name}.part")
        with _translate_full_disk(folder):
            self._clear(folder.parent)
            unfinished.mkdir(parents=True)
            try:
                save(unfinished)
                _sync(unfinished)
                _replace(unfinished, folder)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
        for old in list(self.newest(zone))[KEPT_CHECKPOINTS:]:
            shutil.rmtree(old.folder, ignore_errors=True)
        return folder

    def newest(self, zone: str) -> Iterator[ZoneCheckpoint]:
        """A zone's checkpoints, the newest first."""
        folder = self._zone_folder(zone)
        names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
        found = [match for name in names if (match := _CHECKPOINT.fullmatch(name))]
        for match in sorted(found, key=lambda each: int(each[1]), reverse=True):
            yield ZoneCheckpoint(int(match[1]), folder / match[0])

    def remove(self, zone: str, *, before: float = math.inf) -> None:
        """Delete the checkpoints of a zone at positions before one; by default all of it."""
        for checkpoint in list(self.newest(zone)):
            if checkpoint.position < before:
                shutil.rmtree(checkpoint.folder, ignore_errors=True)
        if before == math.inf:
            shutil.rmtree(self._zone_folder(zone), ignore_errors=True)

    def set_aside(self, checkpoint: ZoneCheckpoint) -> Path:
        """Rename a damaged checkpoint to "damaged", replacing an earlier one, for inspection."""
        target = checkpoint.folder.with_name("damaged")
        _replace(checkpoint.folder, target)
        return target

    @staticmethod
    def _clear(folder: Path) -> None:
        """Remove unfinished folders of a killed process."""
        for leftover in folder.glob(".checkpoint-*.part"):
            shutil.rmtree(leftover, ignore_errors=True)

    def _zone_folder(self, zone: str) -> Path:
        return self.root / "zones" / _file_name(zone)


def model_path(version: str, owner: str) -> str:
    """Path of a version below the data directory.

    The owner tells apart versions with the same id: those of an entity or zone that was deleted,
    and those of another that was registered with its id.
    """
    return f"{_MODELS}/{_file_name(version)}{f'@{owner}' if owner else ''}"


def entity_owner(number: int) -> str:
    """The owner of the models of an entity, by its number in the store."""
    return f"e{number}"


def _file_name(identity: str) -> str:
    """An id as a file name: quoted, and shortened to the limit of file systems."""
    name = quote(identity, safe="")
    if len(name) <= _LONGEST_NAME:
        return name
    digest = hashlib.sha256(identity.encode()).hexdigest()[:32]
    return f"{name[: _LONGEST_NAME - 33]}-{digest}"


def _outdated_paths(versions: Iterable[StoredVersion], keep: int) -> Iterator[str]:
    """Paths of versions that are not among the newest of their component and not in use."""
    components: dict[tuple[str, str, str | None], list[StoredVersion]] = defaultdict(list)
    for version in versions:
        components[version.component, version.zone, version.entity].append(version)
    for component in components.values():
        component.sort(key=lambda each: each.number, reverse=True)
        for version in component[keep:]:
            if version.status not in ("deployed", "awaiting"):
                yield version.path


def _replace(source: Path, target: Path) -> None:
    """Replace a folder by another; for a moment neither may exist, but never a partial one."""
    shutil.rmtree(target, ignore_errors=True)
    source.rename(target)
    _sync(target.parent)


def _sync(*folders: Path) -> None:
    """Flush the directory entries of folders to disk."""
    for folder in folders:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _translate_full_disk(folder: Path) -> Iterator[None]:
    """Raise StoreFullError instead of the error of a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise StoreFullError(f"no space left to write {folder}; free some") from error
        raise
