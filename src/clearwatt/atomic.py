"""Writing files so that a reader, a crash or a power cut never meets half of one."""

from __future__ import annotations

import os
from pathlib import Path

from clearwatt.errors import DataError


def write_atomically(path: str | Path, content: bytes) -> None:
    """Write beside the target, then rename; folders on the way are created."""
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    if path.is_dir():
        raise DataError(f"{path} is a folder; give the name of a file")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # the rename must not outrun the bytes
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text_atomically(path: str | Path, text: str) -> None:
    """Write text, as UTF-8, in the same way."""
    write_atomically(path, text.encode("utf-8"))
