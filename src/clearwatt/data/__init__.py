"""Data sets of a grid: load, check, slice, save, simulate."""

from clearwatt.data.load import load_dataset
from clearwatt.data.schema import Dataset, Drift, Entity, Kind
from clearwatt.data.simulate import simulate_grid

__all__ = ["Dataset", "Drift", "Entity", "Kind", "load_dataset", "simulate_grid"]
