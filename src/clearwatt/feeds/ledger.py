"""The ledger of a drop folder: which contents the service has, and what the report said."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

from clearwatt.errors import DataError
from clearwatt.imports import Recipe


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A content that was sent to a service with a recipe; ``report`` is that of its file.

    ``service`` is empty in ledgers of earlier versions: the entry then counts for any service.
    """

    content: str
    recipe: str
    file: str
    time: str
    report: str
    service: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """Content, recipe and service."""
        return self.content, self.recipe, self.service


class Ledger:
    """Entries as JSON lines; one is on disk before its file is moved."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: dict[tuple[str, str, str], LedgerEntry] = {}
        self._unsaved: list[LedgerEntry] = []
        self._length = 0
        if path.is_file():
            self._read()

    def find(self, content: str, recipe: str, service: str) -> LedgerEntry | None:
        """The entry of a content that this service has, read with this recipe."""
        keys = ((content, recipe, each) for each in (service, ""))
        return next((self._entries[key] for key in keys if key in self._entries), None)

    def add(self, entry: LedgerEntry) -> None:
        """Record a content; it is found from now on, and on disk after `save`."""
        self._entries[entry.key] = entry
        self._unsaved.append(entry)

    def save(self) -> None:
        """Write what is not on disk yet; DataError if that is not possible."""
        if not self._unsaved:
            return
        lines = "".join(json.dumps(asdict(entry)) + "\n" for entry in self._unsaved).encode()
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("ab") as file:
                file.truncate(self._length)  # without what a killed process has left of a line
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise DataError(
                f"the service has its readings, but {self._path} cannot be written "
                f"({error.strerror}); make room or correct its rights"
            ) from error
        self._length += len(lines)
        self._unsaved.clear()

    def _read(self) -> None:
        for line in self._path.read_bytes().splitlines(keepends=True):
            try:
                entry = LedgerEntry(**json.loads(line))
            except (TypeError, ValueError):
                return
            if not line.endswith(b"\n"):
                return
            self._length += len(line)
            self._entries[entry.key] = entry


def content_digest(file: Path) -> str:
    """SHA-256 of a file."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def recipe_digest(recipe: Recipe) -> str:
    """SHA-256 of a recipe's values."""
    return hashlib.sha256(recipe.to_toml().encode()).hexdigest()


def service_address(url: str) -> str:
    """The address of a service without user and password, which do not belong in a ledger."""
    parts = urlsplit(url.rstrip("/"))
    return parts._replace(netloc=parts.netloc.rpartition("@")[2].lower()).geturl()
