"""Files that are packed: .gz, and .zip with one or more files in it."""

from __future__ import annotations

import gzip
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import IO

from clearwatt.errors import ClearwattError, DataError
from clearwatt.imports.sizes import check_members, check_packed

PACKED = (".gz", ".zip")
_BLOCK = 1 << 20
_UNREADABLE = (
    *(OSError, EOFError, RuntimeError, ValueError, MemoryError),
    *(zlib.error, lzma.LZMAError, zipfile.BadZipFile),
)
"""What the modules of the standard library raise about damaged, locked and unusual archives."""


@contextmanager
def unpack(file: Path) -> Iterator[list[Path]]:
    """The files in a packed file, in a folder that is deleted after the block; DataError if bad."""
    with TemporaryDirectory(prefix="clearwatt-") as name:
        try:
            if file.suffix.lower() == ".gz":
                found = [_unpack_gzip(file, Path(name))]
            else:
                found = _unpack_zip(file, Path(name))
        except ClearwattError:
            raise
        except _UNREADABLE as error:
            raise DataError(f"{file} cannot be unpacked, {_reason(error)}") from error
        if not found:
            raise DataError(f"{file} has no files in it; check the file")
        yield found


def _reason(error: BaseException) -> str:
    if "password" in str(error):
        return "it needs a password; unpack it yourself"
    if isinstance(error, NotImplementedError):
        return "its kind of compression is not known here; unpack it yourself"
    return "it is damaged; get it again, or unpack it yourself"


def _unpack_gzip(file: Path, folder: Path) -> Path:
    target = folder / (file.stem if Path(file.stem).suffix else f"{file.stem}.csv")
    with gzip.open(file) as packed:
        _copy(packed, target, file.name)
    return target


def _unpack_zip(file: Path, folder: Path) -> list[Path]:
    found: list[Path] = []
    size = 0
    with zipfile.ZipFile(file) as archive:
        parts = archive.infolist()
        check_members(file.name, len(parts))
        for number, part in enumerate(parts):
            name = PurePosixPath(part.filename).name
            hidden = name.startswith(".") or part.filename.startswith("__MACOSX")
            if part.is_dir() or hidden or not name:
                continue
            own = folder / str(number)  # two folders of the archive may have files of one name
            own.mkdir()
            with archive.open(part) as packed:
                size = _copy(packed, own / name, file.name, others=size)
            found.append(own / name)
    return found


def _copy(packed: IO[bytes] | gzip.GzipFile, target: Path, name: str, *, others: int = 0) -> int:
    """Write the unpacked bytes, and return their number with that of ``others``.

    What a file says of its size is not believed.
    """
    size = others
    with target.open("wb") as unpacked:
        while block := packed.read(_BLOCK):
            size += len(block)
            check_packed(name, size)
            unpacked.write(block)
    return size
