"""The archive of the journals: old entries in Parquet files of a folder.

A file does not change once written. It has a digest over its rows, which every reader checks.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import shutil
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from clearwatt.errors import StateError
from clearwatt.files import write_atomically

ARCHIVE = "archive"
"""The folder below the data directory, unless another is given."""
FORMAT, VERSION = "clearwatt-journal", 1
REMEDY = "copy it from the last backup (files/archive) to the archive"
_NAME = re.compile(r"(\d+)-(\d+)\.parquet")
_LONGEST_NAME = 200
_KEY = b"clearwatt"


class ArchiveRow(NamedTuple):
    """A row of the journal; the content of weather is in its own table."""

    seq: int
    kind: str
    content: bytes | None
    at: float
    checksum: int | None


class ArchiveFile(NamedTuple):
    """A file with the entries of a zone from ``first`` to ``last``."""

    zone: str
    first: int
    last: int
    path: Path


class JournalArchive:
    """Files `<zone>/<first>-<last>.parquet` in a folder.

    Args:
        folder: The folder.
        create: Whether it is created; otherwise nothing is written as long as it does not exist.
    """

    def __init__(self, folder: Path, *, create: bool = True) -> None:
        self.folder, self._create = Path(folder), create
        self._current: tuple[ArchiveFile, list[ArchiveRow]] | None = None

    def files(self, zone: str) -> list[ArchiveFile]:
        """The files of a zone, in the order of their entries; StateError if it cannot be read."""
        folder = self.zone_folder(zone)
        try:
            names = [path.name for path in folder.iterdir()]
        except FileNotFoundError:
            names = []
        except OSError as error:
            raise StateError(f"{folder} cannot be read ({error}); mount it again") from error
        found = [match for name in names if (match := _NAME.fullmatch(name))]
        return sorted(
            ArchiveFile(zone, int(match[1]), int(match[2]), folder / match[0]) for match in found
        )

    def find_file(self, zone: str, seq: int) -> ArchiveFile | None:
        """The file that has an entry; None: there is none."""
        return next((file for file in self.files(zone) if file.first <= seq <= file.last), None)

    def require_file(self, zone: str, seq: int) -> ArchiveFile:
        """The file that has an archived entry; StateError if there is none."""
        file = self.find_file(zone, seq)
        if file is None:
            raise StateError(
                f"entry {seq} of zone {zone} is archived, but no file in "
                f"{self.zone_folder(zone)} has it: is the folder mounted, and the --archive of "
                f"this service? If the file is lost, {REMEDY}"
            )
        return file

    def write(self, zone: str, rows: Sequence[ArchiveRow]) -> ArchiveFile:
        """Write consecutive entries to a new file; it is on disk when this returns."""
        if not self._create and not self.folder.is_dir():
            raise StateError(
                f"{self.folder} does not exist; create it, or mount the file system that has it"
            )
        folder, first, last = self.zone_folder(zone), rows[0].seq, rows[-1].seq
        file = ArchiveFile(zone, first, last, folder / f"{first}-{last}.parquet")
        _remove_unfinished(folder)
        write_atomically(file.path, _dump(file, rows))
        for each in (folder, self.folder, self.folder.parent):
            _sync(each)
        return file

    def read(self, file: ArchiveFile) -> list[ArchiveRow]:
        """All entries of a file; StateError if it is missing or not what was written."""
        return _load(file)

    def rows(self, zone: str, *, first: int, until: int, limit: float) -> list[ArchiveRow]:
        """Entries from ``first`` to at most ``until``, of one file; StateError if it is damaged."""
        file = self.require_file(zone, first)
        current = self._current
        if current is None or current[0] != file:
            current = file, _load(file)
        rows, begin = current[1], first - file.first
        end = min(begin + limit, until - file.first + 1, len(rows))
        self._current = None if end == len(rows) else current
        return rows[begin : int(end)]

    def portions(self, zone: str, *, first: int, until: int) -> Iterator[list[ArchiveRow]]:
        """Entries from ``first`` to ``until``, file by file."""
        while first <= until:
            rows = self.rows(zone, first=first, until=until, limit=math.inf)
            yield rows
            first = rows[-1].seq + 1

    def find_damage(self, zone: str, *, first: int, until: int) -> str | None:
        """Read the entries from ``first`` to ``until``; why they cannot be, or None."""
        try:
            for _ in self.portions(zone, first=first, until=until):
                pass
        except StateError as error:
            return str(error)
        return None

    def remove(self, zone: str, *, before: float = math.inf) -> None:
        """Delete the files of a zone whose entries are before a number; by default all."""
        for file in self.files(zone):
            if file.last < before:
                file.path.unlink(missing_ok=True)
        if not self.files(zone):  # other nodes of a cluster may delete the same
            shutil.rmtree(self.zone_folder(zone), ignore_errors=True)

    def set_aside(self, file: ArchiveFile) -> None:
        """Rename a file that cannot be read, so that another can take its place."""
        file.path.rename(file.path.with_name(f"{file.path.name}.damaged"))

    def zone_folder(self, zone: str) -> Path:
        """The folder of a zone."""
        name = re.sub(r"^\.", "%2E", quote(zone, safe=" "))
        if len(name) > _LONGEST_NAME:
            name = hashlib.sha256(zone.encode()).hexdigest()
        return self.folder / name


def _remove_unfinished(folder: Path) -> None:
    """Remove what a killed process left behind."""
    for unfinished in folder.glob(".*.part"):
        unfinished.unlink(missing_ok=True)


def _dump(file: ArchiveFile, rows: Sequence[ArchiveRow]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = (pa.int64(), pa.string(), pa.binary(), pa.float64(), pa.int64())
    described = {"format": FORMAT, "version": VERSION, "zone": file.zone, "sha256": _digest(rows)}
    schema = pa.schema(
        list(zip(ArchiveRow._fields, types, strict=True)),
        metadata={_KEY: json.dumps(described).encode()},
    )
    columns = [
        pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), types, strict=True)
    ]
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(columns, schema=schema), buffer, compression="zstd")
    return buffer.getvalue()


def _load(file: ArchiveFile) -> list[ArchiveRow]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(io.BytesIO(file.path.read_bytes())).read()
        described = json.loads(table.schema.metadata[_KEY])
        columns = [table.column(name).to_pylist() for name in ArchiveRow._fields]
        rows = [ArchiveRow(*row) for row in zip(*columns, strict=True)]
        known = (described["format"], described["version"]) == (FORMAT, VERSION)
        intact = known and described["sha256"] == _digest(rows)
    except (OSError, pa.ArrowException, ValueError, LookupError, TypeError) as error:
        raise StateError(f"{file.path} cannot be read ({error}); {REMEDY}") from error
    numbers = list(range(file.first, file.last + 1))
    if not intact or described["zone"] != file.zone or [row.seq for row in rows] != numbers:
        raise StateError(f"{file.path} is not what was written; {REMEDY}")
    return rows


def _digest(rows: Sequence[ArchiveRow]) -> str:
    digest = hashlib.sha256()
    for row in rows:
        content = row.content or b""
        checksum = -1 if row.checksum is None else row.checksum
        digest.update(struct.pack("<qdqq", row.seq, row.at, checksum, len(content)))
        digest.update(row.kind.encode() + (b"-" if row.content is None else b"+") + content)
    return digest.hexdigest()


def _sync(folder: Path) -> None:
    """Flush the directory entries of a folder to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
