"""Files of the service: model versions, and checkpoints of zones.

Model files do not change once written; a checkpoint is replaced by a newer one. Both are written
atomically and verified when read (see `clearwatt.files`). They are below the data directory, or in
the database of a cluster (see `clearwatt.service.folders`).
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from torch import Tensor

from clearwatt.files import SavedState
from clearwatt.service.folders import DiskFolders, Folders
from clearwatt.service.records import StoredVersion

KEPT_VERSIONS = 20
"""Number of versions of a component whose files are kept, besides those in use."""

KEPT_CHECKPOINTS = 2
"""The newest, and one more in case that is damaged."""

_MODELS = "models"
_LONGEST_NAME = 200
_CHECKPOINT = re.compile(r"checkpoint-(\d+)")
_DAMAGED = "damaged"


class ModelFiles:
    """The folders of model versions, `models/<id>@<owner>/`.

    Args:
        folders: Where they are: folders of a cluster, or a data directory.
    """

    def __init__(self, folders: Folders | str | os.PathLike[str]) -> None:
        self._folders = _folders(folders)

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
        self._folders.write_state(path, values, tensors)
        return path

    def read(self, path: str) -> SavedState:
        """Read a version by its path; StateError if a file is missing or damaged."""
        return self._folders.read_state(path)

    def open(self, path: str) -> AbstractContextManager[Path]:
        """A folder to read from within the with-block."""
        return self._folders.open(path)

    def find_outdated(
        self, versions: Iterable[StoredVersion], *, keep: int = KEPT_VERSIONS
    ) -> set[str]:
        """Paths of stored versions that are neither in use, awaiting a decision nor new.

        Args:
            versions: All versions of the components to check.
            keep: Number of newest versions per component that are always kept.
        """
        paths = set(_outdated_paths(versions, keep))
        return self._folders.existing(paths) if paths else paths

    def remove(self, paths: Iterable[str]) -> None:
        """Remove the files of versions; errors are ignored and the next call tries again."""
        for path in paths:
            self._folders.remove(path)

    def remove_entities(self, numbers: Collection[int]) -> None:
        """Remove all files of entities, by their numbers in the store."""
        owners = {entity_owner(number) for number in numbers}
        for name in self._folders.names(_MODELS) if owners else ():
            if "@" in name and name.rpartition("@")[2] in owners:
                self._folders.remove(f"{_MODELS}/{name}")


class ZoneCheckpoint(NamedTuple):
    """A zone's state after the journal entry ``position``, and the path of its folder."""

    position: int
    path: str

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.path.rpartition("/")[2]


class Checkpoints:
    """The folders of zones' states, `zones/<zone>/checkpoint-<position>/`.

    Args:
        folders: Where they are: folders of a cluster, or a data directory.
    """

    def __init__(self, folders: Folders | str | os.PathLike[str]) -> None:
        self._folders = _folders(folders)

    def write(self, zone: str, position: int, save: Callable[[Path], None]) -> None:
        """Write a checkpoint with ``save(folder)``; the newest `KEPT_CHECKPOINTS` are kept."""
        self._folders.write(f"{_zone_path(zone)}/checkpoint-{position}", save)
        for old in list(self.newest(zone))[KEPT_CHECKPOINTS:]:
            self._folders.remove(old.path)

    def newest(self, zone: str) -> Iterator[ZoneCheckpoint]:
        """A zone's checkpoints, the newest first."""
        parent = _zone_path(zone)
        names = self._folders.names(parent)
        found = [match for name in names if (match := _CHECKPOINT.fullmatch(name))]
        for match in sorted(found, key=lambda each: int(each[1]), reverse=True):
            yield ZoneCheckpoint(int(match[1]), f"{parent}/{match[0]}")

    def open(self, checkpoint: ZoneCheckpoint) -> AbstractContextManager[Path]:
        """The folder of a checkpoint, to read from within the with-block."""
        return self._folders.open(checkpoint.path)

    def remove(self, zone: str, *, before: float = math.inf) -> None:
        """Delete the checkpoints of a zone at positions before one; by default all of it."""
        for checkpoint in list(self.newest(zone)):
            if checkpoint.position < before:
                self._folders.remove(checkpoint.path)
        if before == math.inf:
            self._folders.remove(f"{_zone_path(zone)}/{_DAMAGED}")
            self._folders.remove(_zone_path(zone))

    def set_aside(self, checkpoint: ZoneCheckpoint) -> str:
        """Rename a damaged checkpoint to "damaged", replacing an earlier one, for inspection."""
        target = f"{checkpoint.path.rpartition('/')[0]}/{_DAMAGED}"
        self._folders.move(checkpoint.path, target)
        return target


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


def _zone_path(zone: str) -> str:
    return f"zones/{_file_name(zone)}"


def _folders(given: Folders | str | os.PathLike[str]) -> Folders:
    return given if isinstance(given, Folders) else DiskFolders(given)
