"""Print the statistics of docs/simulator.md that need no training.

The error of the weather forecast, and capacity and load factors over several seeds.

    python scripts/simulator_figures.py --seeds 10
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from clearwatt.data.dataset import Dataset
from clearwatt.data.schema import Kind
from clearwatt.data.simulate import simulate_grid
from clearwatt.data.simulate.drift import grid_changes, resolve_factors
from clearwatt.data.simulate.grid import START
from clearwatt.data.simulate.site import Site
from clearwatt.data.simulate.world import World, create_world

STEPS = 67_764
VARIABLES = (
    "temperature_2m_c",
    "wind_speed_100m_ms",
    "ghi_wm2",
    "cloud_cover_pct",
    "pressure_msl_hpa",
    "precipitation_mm",
)
# Lags of the error's autocorrelation, in quarter-hours.
LAGS = {"1 h": 4, "6 h": 24, "24 h": 96}


def forecast_table(world: World) -> Table:
    """The errors of the forecast, interpolated to the quarter-hour, against the real weather."""
    table = Table("variable", "RMSE", "bias", "correlation", *LAGS)
    for name in VARIABLES:
        truth = getattr(world.weather, name)
        forecast = np.interp(
            world.clock.times.asi8, world.hours.asi8, getattr(world.forecast, name)
        )
        error = forecast - truth
        # Nights, without radiation, would make the error too small.
        daytime = error[truth > 5.0] if name == "ghi_wm2" else error
        autocorrelation = [np.corrcoef(error[:-lag], error[lag:])[0, 1] for lag in LAGS.values()]
        figures = (
            np.sqrt(np.mean(daytime**2)),
            daytime.mean(),
            np.corrcoef(forecast, truth)[0, 1],
            *autocorrelation,
        )
        table.add_row(name, *(f"{figure:.2f}" for figure in figures))
    return table


def factors(dataset: Dataset) -> tuple[str, ...]:
    """The ranges of PV, wind and load factors over the whole span, and the greatest power."""
    share = {e.name: dataset.power[e.name] / (e.capacity or np.nan) for e in dataset.entities}
    mean = {
        group: [
            share[e.name].mean()
            for e in dataset.entities
            if e.extra["subtype"] == group or (group == "load" and e.kind is not Kind.GENERATOR)
        ]
        for group in ("pv", "wind", "load")
    }
    greatest = max(series.max() for series in share.values())
    ranges = (f"{min(v):.3f} - {max(v):.3f}" for v in mean.values())
    return (*ranges, f"{greatest:.2f}", f"{dataset.power.isna().to_numpy().mean():.2%}")


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    console = Console()
    changes = grid_changes(resolve_factors({"nwp_change": 0}), steps=STEPS)
    start = pd.Timestamp(START, tz="UTC")
    console.print(forecast_table(create_world(start, STEPS, changes=changes, site=Site(), seed=0)))
    table = Table("seed", "PV", "wind", "load", "greatest power / capacity", "missing")
    for seed in range(options.seeds):
        table.add_row(str(seed), *factors(simulate_grid(seed=seed)))
    console.print(table)


if __name__ == "__main__":
    main()
