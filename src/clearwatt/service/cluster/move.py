"""Moves the models and checkpoints of a service on one machine into the database of a cluster."""

from __future__ import annotations

from pathlib import Path

from clearwatt.errors import ConfigurationError
from clearwatt.service.folders import read_files
from clearwatt.service.store import Store


def copy_folders(data_dir: Path, store: Store) -> dict[str, int]:
    """Copy models, checkpoints and imported models; how many of each.

    Repeating it replaces what was copied before. The data directory stays as it is.
    """
    kinds = {
        "models": sorted(data_dir.glob("models/*")),
        "checkpoints": sorted(data_dir.glob("zones/*/checkpoint-*")),
        "imported models": sorted(data_dir.glob("brought/*/*")),
    }
    if not any(kinds.values()):
        raise ConfigurationError(
            f"{data_dir} has neither models nor checkpoints; give the --data-dir of a service"
        )
    for folder in (folder for folders in kinds.values() for folder in folders):
        store.put_folder(folder.relative_to(data_dir).as_posix(), read_files(folder))
    return {name: len(folders) for name, folders in kinds.items()}
