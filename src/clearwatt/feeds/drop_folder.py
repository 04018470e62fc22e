"""A folder that files are dropped into: which of them are complete, and where they go then."""

from __future__ import annotations

import fnmatch
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from clearwatt.errors import DataError
from clearwatt.files import write_text_atomically

DONE, FAILED, STATE = "done", "failed", ".clearwatt"
PATTERNS = ("*.csv", "*.txt", "*.tsv", "*.xlsx", "*.xlsm", "*.parquet", "*.csv.gz", "*.zip")
_UNFINISHED = (".*", "~*", "*~", "*.part", "*.partial", "*.tmp", "*.filepart")
"""Names that programs give to files while they write them."""
_LONGEST_NAME = 200
"""Bytes of a name that leave room for a number and for the name of the report."""


class FileMark(NamedTuple):
    """What changes when a file is written to or replaced."""

    size: int
    modified: int
    number: int


class DropFolder:
    """The files of a folder that match a pattern.

    A file is complete if it has not changed for ``settle`` seconds. Nothing else tells a pause in
    writing from its end; a program that renames finished files into the folder needs no wait.
    """

    def __init__(self, folder: Path, patterns: Sequence[str], *, settle: float) -> None:
        if not folder.is_dir():
            raise DataError(f"{folder} is not a folder; create it, or correct the path")
        self.folder, self._patterns, self._settle = folder, patterns, settle
        self._seen: dict[Path, tuple[FileMark, float]] = {}

    def complete_files(self) -> list[Path]:
        """The files that are complete by now, in the order of their names."""
        now = time.monotonic()
        marks = {file: mark for file in self.files() if (mark := mark_of(file)) is not None}
        before = self._seen
        self._seen = {
            file: before[file] if file in before and before[file][0] == mark else (mark, now)
            for file, mark in marks.items()
        }
        return [file for file, (_, since) in self._seen.items() if now - since >= self._settle]

    def has_waiting(self) -> bool:
        """Whether files wait to be complete."""
        return bool(self._seen)

    def move(self, file: Path, target: str, report: str) -> Path:
        """Move a file to a folder below this one, with a report beside it; returns its new path."""
        place = _free_path(self.folder / target, file)
        write_text_atomically(place.with_name(f"{place.name}.report.txt"), printable(report))
        file.rename(place)
        self._seen.pop(file, None)
        return place

    def files(self) -> list[Path]:
        """The files that match, complete or not, in the order of their names."""
        return sorted(
            file
            for file in self.folder.iterdir()
            if _matches(file.name, self._patterns) and not _matches(file.name, _UNFINISHED)
        )


def mark_of(file: Path) -> FileMark | None:
    """The mark of a file; None if it is gone or not a plain file."""
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return FileMark(found.st_size, found.st_mtime_ns, found.st_ino) if file.is_file() else None


def printable(text: str) -> str:
    """A text that can be written as UTF-8; bytes of names in other encodings are escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)


def _free_path(folder: Path, file: Path) -> Path:
    """A path in the folder that no file has: the name of the file, shortened or with a number."""
    stem, room = file.stem, _LONGEST_NAME - len(os.fsencode(file.suffix))
    if len(os.fsencode(stem)) > room:
        stem = os.fsencode(stem)[:room].decode("utf-8", "ignore")
    path, number = folder / f"{stem}{file.suffix}", 1
    while path.exists():
        number += 1
        path = folder / f"{stem}-{number}{file.suffix}"
    return path
