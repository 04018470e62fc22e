"""Checksums of a folder's files."""

import hashlib
from pathlib import Path


def digests(folder: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}
