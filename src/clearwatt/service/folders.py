"""Folders of state files: on the disk of one machine, or in the database of a cluster."""

from __future__ import annotations

import errno
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from torch import Tensor

from clearwatt.errors import StateError
from clearwatt.files import SavedState, load_state, parse_state, save_state
from clearwatt.service.store import Store, StoreFullError

_FULL = (errno.ENOSPC, errno.EDQUOT)


class Folders(ABC):
    """Folders by path, such as `models/<id>`; a reader sees all files of one, or none."""

    @abstractmethod
    def write(self, path: str, save: Callable[[Path], None]) -> None:
        """Write a folder durably with ``save(folder)``; it replaces one of the same path."""

    @abstractmethod
    def write_state(
        self, path: str, values: Mapping[str, object], tensors: Mapping[str, Tensor]
    ) -> None:
        """Write a state durably; a reader sees the old state or the new one at any moment."""

    @abstractmethod
    def read_state(self, path: str) -> SavedState:
        """Read a state; StateError if it is missing or damaged."""

    @abstractmethod
    def open(self, path: str) -> AbstractContextManager[Path]:
        """A folder to read from within the with-block; it is empty if there is no such."""

    @abstractmethod
    def existing(self, paths: Collection[str]) -> set[str]:
        """The paths at which there is a folder."""

    @abstractmethod
    def names(self, parent: str) -> list[str]:
        """Names of the folders directly below a parent."""

    @abstractmethod
    def remove(self, path: str) -> None:
        """Delete a folder; errors are ignored and the next call tries again."""

    @abstractmethod
    def move(self, path: str, target: str) -> None:
        """Rename a folder; it replaces one of that name."""


class DiskFolders(Folders):
    """Folders below a directory.

    Args:
        root: The directory.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root)

    def write(self, path: str, save: Callable[[Path], None]) -> None:
        """Write another folder beside it, then rename that."""
        folder = self._below(path)
        unfinished = folder.with_name(f".{folder.name}.part")
        with _translate_full_disk(folder):
            for leftover in folder.parent.glob(".*.part"):  # of a killed process
                shutil.rmtree(leftover, ignore_errors=True)
            unfinished.mkdir(parents=True)
            try:
                save(unfinished)
                _sync(unfinished)
                _replace(unfinished, folder)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)

    def write_state(
        self, path: str, values: Mapping[str, object], tensors: Mapping[str, Tensor]
    ) -> None:
        """Write a state in place, without a moment in which there is none."""
        folder = self._below(path)
        with _translate_full_disk(folder):
            save_state(folder, values, tensors)
            _sync(folder, folder.parent)

    def read_state(self, path: str) -> SavedState:
        """Read a state."""
        return load_state(self._below(path))

    @contextmanager
    def open(self, path: str) -> Iterator[Path]:
        """The folder itself."""
        yield self._below(path)

    def existing(self, paths: Collection[str]) -> set[str]:
        """The paths at which there is a folder."""
        return {path for path in paths if self._below(path).is_dir()}

    def names(self, parent: str) -> list[str]:
        """Names of the folders directly below a parent, unfinished ones left out."""
        folder = self._below(parent)
        found = folder.iterdir() if folder.is_dir() else ()
        return sorted(each.name for each in found if not each.name.startswith("."))

    def remove(self, path: str) -> None:
        """Delete a folder."""
        shutil.rmtree(self._below(path), ignore_errors=True)

    def move(self, path: str, target: str) -> None:
        """Rename a folder."""
        _replace(self._below(path), self._below(target))

    def _below(self, path: str) -> Path:
        # Not resolved: a part of the data directory may be a link to another disk.
        root = self.root.absolute()
        folder = Path(os.path.normpath(root / path))
        if not folder.is_relative_to(root):
            raise StateError(f"{path} is outside the data directory; name a model of this service")
        return folder


class StoredFolders(Folders):
    """Folders in the database of a cluster, for every node to read.

    Args:
        store: The store.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def write(self, path: str, save: Callable[[Path], None]) -> None:
        """Write into a temporary folder, then store its files in one transaction."""
        with TemporaryDirectory(prefix="clearwatt-") as temporary:
            with _translate_full_disk(Path(temporary)):
                save(Path(temporary))
            self._store.put_folder(path, read_files(Path(temporary)))

    def write_state(
        self, path: str, values: Mapping[str, object], tensors: Mapping[str, Tensor]
    ) -> None:
        """Write a state in one transaction."""
        self.write(path, lambda folder: save_state(folder, values, tensors))

    def read_state(self, path: str) -> SavedState:
        """Read a state, without a copy on disk: a node reads thousands of them at its start."""
        return parse_state(self._store.folder(path), Path(path))

    @contextmanager
    def open(self, path: str) -> Iterator[Path]:
        """A temporary copy."""
        with TemporaryDirectory(prefix="clearwatt-") as temporary:
            folder = Path(temporary)
            with _translate_full_disk(folder):
                for name, content in self._store.folder(path).items():
                    file = folder / name
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(content)
            yield folder

    def existing(self, paths: Collection[str]) -> set[str]:
        """The paths at which there is a folder, found by one question."""
        return self._store.existing_folders(paths)

    def names(self, parent: str) -> list[str]:
        """Names of the folders directly below a parent."""
        return self._store.folder_names(parent)

    def remove(self, path: str) -> None:
        """Delete a folder."""
        self._store.remove_folder(path)

    def move(self, path: str, target: str) -> None:
        """Rename a folder."""
        self._store.move_folder(path, target)


def read_files(folder: Path) -> dict[str, bytes]:
    """Contents of all files of a folder, by their paths below it."""
    return {
        each.relative_to(folder).as_posix(): each.read_bytes()
        for each in sorted(folder.rglob("*"))
        if each.is_file()
    }


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
