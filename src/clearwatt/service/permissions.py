"""Permissions of data directories and backups: for their owner only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
_OTHERS = 0o077

OPEN_DIRECTORY = (
    "other users of this machine have rights on the data directory; run chmod 700 on it"
)
"""Warning of a service whose data directory is open to others."""


@contextmanager
def create_private_files() -> Iterator[None]:
    """Files and folders created in the block are for their owner only, whatever the umask.

    The umask belongs to the process, and processes started in the block inherit it.
    """
    before = os.umask(_OTHERS)
    try:
        yield
    finally:
        os.umask(before)


def make_private(folder: Path) -> None:
    """Take the rights of others from a folder and what is in it; copies have those of the source.

    A folder of another user, such as a mount point, stays as it is.
    """
    with suppress(PermissionError):
        folder.chmod(PRIVATE_FOLDER)
    for where, folders, files in os.walk(folder):
        for name in folders:
            (Path(where) / name).chmod(PRIVATE_FOLDER)
        for name in files:
            (Path(where) / name).chmod(PRIVATE_FILE)


def is_open_to_others(folder: Path) -> bool:
    """Whether other users than the owner have any right on a folder."""
    return bool(folder.stat().st_mode & _OTHERS)
