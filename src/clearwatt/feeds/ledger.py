"""The ledger of a drop folder: which contents the service has, and what the report said."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from clearwatt.imports import Recipe


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A content that was sent with a recipe; ``report`` is that of the file it was in."""

    content: str
    recipe: str
    file: str
    time: str
    report: str


class Ledger:
    """Entries as JSON lines; one is on disk before its file is moved."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: dict[tuple[str, str], LedgerEntry] = {}
        self._length = 0
        if path.is_file():
            self._read()

    def find(self, content: str, recipe: str) -> LedgerEntry | None:
        """The entry of a content that was sent with this recipe."""
        return self._entries.get((content, recipe))

    def add(self, entry: LedgerEntry) -> None:
        """Record a content; on disk when this returns."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        line = (json.dumps(asdict(entry)) + "\n").encode()
        with self._path.open("ab") as file:
            file.truncate(self._length)  # without what a killed process has left of a line
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self._length += len(line)
        self._entries[entry.content, entry.recipe] = entry

    def _read(self) -> None:
        for line in self._path.read_bytes().splitlines(keepends=True):
            try:
                entry = LedgerEntry(**json.loads(line))
            except (TypeError, ValueError):
                return
            if not line.endswith(b"\n"):
                return
            self._length += len(line)
            self._entries[entry.content, entry.recipe] = entry


def content_digest(file: Path) -> str:
    """SHA-256 of a file."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def recipe_digest(recipe: Recipe) -> str:
    """SHA-256 of a recipe's values."""
    return hashlib.sha256(recipe.to_toml().encode()).hexdigest()
