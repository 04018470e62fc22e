"""The simulated regional grid: weather, plants, demand and drift with ground truth."""

from clearwatt.data.simulate.grid import simulate_grid

__all__ = ["simulate_grid"]
