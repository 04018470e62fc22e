"""Writing files so that a reader, or a crash, never meets half of one."""

from __future__ import annotations

import os
from pathlib import Path

from clearwatt.errors import DataError


def write_text_atomically(path: str | Path, text: str) -> None:
    """Write beside the target, then rename; folders on the way are created."""
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    if path.is_dir():
        raise DataError(f"{path} is a folder; give the name of a file")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
