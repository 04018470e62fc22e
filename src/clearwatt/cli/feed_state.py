"""Where a feed keeps its state, and that only one feed uses it at a time."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clearwatt.errors import ConfigurationError

SPOOL = "spool.db"
_LOCK = "feed.lock"


def add_state_options(parser: argparse.ArgumentParser) -> None:
    """Add --zone and --state, which say where an MQTT feed keeps its messages."""
    parser.add_argument("--zone", metavar="ZONE", help="of the entities, if no topic names it")
    parser.add_argument(
        "--state",
        type=Path,
        metavar="DIR",
        help="spool and dead letters (default: one folder per zone in your state folder)",
    )


def state_folder(options: argparse.Namespace) -> Path:
    """The folder of the options, or the one of the zone in the user's state folder."""
    import platformdirs

    if options.state is not None:
        return Path(options.state)
    name = f"mqtt-{options.zone}" if options.zone else "mqtt"
    if "/" in name:
        raise ConfigurationError(f"--zone is {options.zone!r}, which is not the id of a zone")
    return platformdirs.user_state_path("clearwatt") / "feeds" / name


@contextmanager
def lock_state(folder: Path) -> Iterator[None]:
    """Keep a second feed away from the folder while the block runs."""
    from clearwatt.files import lock_file

    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / _LOCK).open("w") as lock:
        if not lock_file(lock):
            raise ConfigurationError(f"another feed is at work with {folder}; stop it first")
        yield


def is_locked(folder: Path) -> bool:
    """Whether a feed uses the folder."""
    from clearwatt.files import lock_file

    if not (folder / _LOCK).is_file():
        return False
    with (folder / _LOCK).open("a") as lock:
        return not lock_file(lock)
