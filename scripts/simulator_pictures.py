"""Draw the pictures of docs/simulator.md: weeks, forecasts and drifts of the simulated grid.

    python scripts/simulator_pictures.py            # writes docs/images/simulator-*.svg

Plain SVG: it needs no library, and changes only where the grid changes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from charts import BLUE, GREY, ORANGE, Line, Panel, draw
from clearwatt.data.dataset import Dataset
from clearwatt.data.schema import Entity, Kind
from clearwatt.data.simulate import simulate_grid
from clearwatt.data.simulate.drift import grid_changes, resolve_factors
from clearwatt.data.simulate.grid import START
from clearwatt.data.simulate.site import Site
from clearwatt.data.simulate.world import World, create_world

STEPS = 67_764
WEEKS = {"a week in winter": "2023-01-16", "a week in summer": "2023-06-19"}
COLOURS = {Kind.GENERATOR: ORANGE, Kind.CONSUMER: BLUE, Kind.RESIDUAL: "#2e8b57"}


def week_panels(dataset: Dataset, entity: Entity) -> list[Panel]:
    """The entity's winter and summer week, in shares of its capacity."""
    panels = []
    for title, monday in WEEKS.items():
        days = pd.date_range(monday, periods=7, freq="D", tz="UTC")
        share = dataset.power.loc[days[0] : days[-1] + pd.Timedelta(hours=23.75), entity.name]
        values = share.to_numpy(dtype=np.float64) / (entity.capacity or np.nan)
        panels.append(
            Panel(
                f"{entity.name}: {title}",
                [Line(values, COLOURS[entity.kind])],
                "of capacity",
                [(i / 7 + 0.04, day.strftime("%a")) for i, day in enumerate(days)],
                limits=(-0.25, 1.25) if entity.kind is Kind.RESIDUAL else (0.0, 1.0),
            )
        )
    return panels


def first_of_each_subtype(dataset: Dataset, kind: Kind) -> list[Entity]:
    """The first entity of each subtype."""
    first: dict[str, Entity] = {}
    for entity in dataset.entities:
        if entity.kind is kind:
            first.setdefault(entity.extra["subtype"], entity)
    return list(first.values())


def forecast_panels(world: World) -> list[list[Panel]]:
    """Forecast and real weather for three variables in both weeks."""
    units = {"temperature_2m_c": "°C", "wind_speed_100m_ms": "m/s", "ghi_wm2": "W/m²"}
    return [
        [_forecast_panel(world, name, unit, title, monday) for title, monday in WEEKS.items()]
        for name, unit in units.items()
    ]


def _forecast_panel(world: World, name: str, unit: str, title: str, monday: str) -> Panel:
    days = pd.date_range(monday, periods=7, freq="D", tz="UTC")
    end = days[-1] + pd.Timedelta(hours=24)
    fine = np.asarray((world.clock.times >= days[0]) & (world.clock.times <= end))
    coarse = np.asarray((world.hours >= days[0]) & (world.hours <= end))
    return Panel(
        f"{name}: {title}",
        [
            Line(getattr(world.weather, name)[fine], GREY, "happens"),
            Line(getattr(world.forecast, name)[coarse], BLUE, "forecast"),
        ],
        unit,
        [(i / 7 + 0.04, day.strftime("%a")) for i, day in enumerate(days)],
    )


def drift_panel(dataset: Dataset, entity: Entity) -> Panel:
    """An entity's daily mean over the whole span, with its drifts marked."""
    daily = dataset.power[entity.name].resample("D").mean() / (entity.capacity or np.nan)
    first, last = daily.index[0], daily.index[-1]

    def place(time: pd.Timestamp) -> float:
        return float((time - first) / (last - first))

    quarters = pd.date_range(first, last, freq="QS")
    return Panel(
        f"{entity.name}: daily mean",
        [Line(daily.to_numpy(dtype=np.float64), COLOURS[entity.kind])],
        "of capacity",
        [(place(day), day.strftime("%b %y")) for day in quarters if place(day) < 0.95],
        marks=[(place(d.start), d.what) for d in dataset.drifts if d.entity == entity.name],
        limits=(0.0, 1.0) if entity.kind is not Kind.GENERATOR else (0.0, 0.5),
    )


def most_drifts(dataset: Dataset, subtype: str) -> Entity:
    """The entity of a subtype with most drifts."""
    chosen = [entity for entity in dataset.entities if entity.extra["subtype"] == subtype]
    return max(chosen, key=lambda e: sum(drift.entity == e.name for drift in dataset.drifts))


def main() -> None:
    """Simulate the grid of seed 0 and draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    default = Path(__file__).resolve().parent.parent / "docs" / "images"
    parser.add_argument("--out", type=Path, default=default)
    out = parser.parse_args().out
    dataset = simulate_grid(steps=STEPS)
    for kind in Kind:
        rows = [week_panels(dataset, e) for e in first_of_each_subtype(dataset, kind)]
        draw(rows, out / f"simulator-{kind.value}.svg")
    changes = grid_changes(resolve_factors(None), steps=STEPS)
    start = pd.Timestamp(START, tz="UTC")
    world = create_world(start, STEPS, changes=changes, site=Site(), seed=0)
    draw(forecast_panels(world), out / "simulator-forecast.svg")
    struck = ("pv", "household_block", "factory_two_shift", "office", "residential", "mixed")
    panels = [drift_panel(dataset, most_drifts(dataset, subtype)) for subtype in struck]
    draw([panels[:2], panels[2:4], panels[4:]], out / "simulator-drift.svg")


if __name__ == "__main__":
    main()
