"""Loading a data set: from a folder, from the catalogue, or simulated."""

from __future__ import annotations

from pathlib import Path

from clearwatt.data.catalogue import CATALOGUE, fetch
from clearwatt.data.data_faults import DataFault, raise_first
from clearwatt.data.dataset import Dataset
from clearwatt.data.folder_check import check_folder
from clearwatt.errors import DataError

SIMULATED = "simulated"


def load_dataset(path_or_name: str | Path) -> Dataset:
    """The data set of a folder or of a name: one of the catalogue, or "simulated".

    A data set of the catalogue is downloaded once, then cached. A name takes precedence over a
    folder; write ``./name`` or pass a ``Path`` for a folder of the same name.
    """
    dataset, faults = check_dataset_of(path_or_name)
    raise_first(faults)
    if dataset is None:
        raise DataError(f"{path_or_name} cannot be read; check its files")
    return dataset


def check_dataset_of(path_or_name: str | Path) -> tuple[Dataset | None, list[DataFault]]:
    """The data set of a folder or a name, or None and all faults of the folder."""
    if path_or_name == SIMULATED:
        from clearwatt.data.simulate import simulate_grid  # pvlib takes a second to import

        return simulate_grid(), []
    if isinstance(path_or_name, str) and path_or_name in CATALOGUE:
        return _read_cached(path_or_name), []
    path = Path(path_or_name)
    if not path.exists():
        raise DataError(
            f"{str(path_or_name)!r} is neither a folder nor a known data set "
            f"({', '.join([*CATALOGUE, SIMULATED])}); check the spelling"
        )
    return check_folder(path)


def _read_cached(name: str) -> Dataset | None:
    """A data set of the catalogue; the error for damaged files says how to restore them."""
    dataset, faults = check_folder(fetch(name))
    for fault in faults:
        raise DataError(
            f"the cached copy is damaged ({fault.message}); run 'clearwatt data get {name} "
            "--refresh'"
        )
    return dataset
