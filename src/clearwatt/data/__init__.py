"""Data sets of a grid: load, check, slice, save, simulate."""

from typing import TYPE_CHECKING

from clearwatt.data.dataset import Dataset
from clearwatt.data.load import load_dataset
from clearwatt.data.schema import Drift, Entity, Kind

if TYPE_CHECKING:
    from clearwatt.data.simulate import simulate_grid

__all__ = ["Dataset", "Drift", "Entity", "Kind", "load_dataset", "simulate_grid"]


def __getattr__(name: str) -> object:
    """Import the simulator, and with it pvlib and scipy, only when it is used."""
    if name == "simulate_grid":
        from clearwatt.data.simulate import simulate_grid

        return simulate_grid
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
