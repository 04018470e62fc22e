"""Draw the pictures of docs/simulator.md: weeks, forecasts and drifts of the simulated grid.

    python scripts/simulator_pictures.py            # writes docs/images/simulator-*.svg

Plain SVG, so that the pictures need nothing installed and differ only where the grid does.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd

from clearwatt.data.schema import Dataset, Entity, Kind
from clearwatt.data.simulate import simulate_grid
from clearwatt.data.simulate.clock import Site
from clearwatt.data.simulate.drift import grid_changes, resolve_factors
from clearwatt.data.simulate.grid import START
from clearwatt.data.simulate.world import World, create_world

WIDTH, HEIGHT = 360, 110
LEFT, TOP, GAP_X, GAP_Y = 52, 30, 58, 40
STEPS = 67_764
WEEKS = {"a week in winter": "2023-01-16", "a week in summer": "2023-06-19"}
BLUE, ORANGE, GREY, RED = "#1f6fb2", "#d9730d", "#6b7280", "#c0392b"
COLOURS = {Kind.GENERATOR: ORANGE, Kind.CONSUMER: BLUE, Kind.RESIDUAL: "#2e8b57"}


@dataclass(frozen=True)
class Line:
    """One series of a panel (n), drawn from left to right; NaN leaves a gap."""

    values: np.ndarray
    colour: str
    label: str = ""


@dataclass(frozen=True)
class Panel:
    """One small chart: lines over a common span, ticks below, marks as vertical lines."""

    title: str
    lines: Sequence[Line]
    unit: str
    ticks: Sequence[tuple[float, str]]
    marks: Sequence[tuple[float, str]] = ()
    limits: tuple[float, float] | None = None


def draw(rows: Sequence[Sequence[Panel]], path: Path) -> None:
    """Write a grid of panels as SVG."""
    width = LEFT + max(len(row) for row in rows) * (WIDTH + GAP_X)
    height = TOP + len(rows) * (HEIGHT + GAP_Y)
    body = [
        _panel(panel, LEFT + j * (WIDTH + GAP_X), TOP + i * (HEIGHT + GAP_Y))
        for i, row in enumerate(rows)
        for j, panel in enumerate(row)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="system-ui, sans-serif" font-size="11">\n'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>\n'
        + "\n".join(body)
        + "\n</svg>\n",
        encoding="utf-8",
    )


def _panel(panel: Panel, x: float, y: float) -> str:
    low, high = panel.limits or _limits(panel.lines)
    parts = [
        f'<text x="{x}" y="{y - 7}" font-weight="600" fill="#111827">{escape(panel.title)}</text>',
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#d1d5db"/>',
    ]
    for value in (low, (low + high) / 2, high):
        at = _height(value, low, high, y)
        parts.append(
            f'<text x="{x - 5}" y="{at + 4:.1f}" text-anchor="end" fill="{GREY}">{value:.3g}</text>'
            f'<path d="M{x} {at:.1f}h{WIDTH}" stroke="#eef0f3"/>'
        )
    parts.append(
        f'<text x="{x - 36}" y="{y + HEIGHT / 2}" fill="{GREY}" text-anchor="middle" '
        f'transform="rotate(-90 {x - 36} {y + HEIGHT / 2})">{escape(panel.unit)}</text>'
    )
    for share, text in panel.ticks:
        parts.append(
            f'<text x="{x + share * WIDTH:.1f}" y="{y + HEIGHT + 13}" fill="{GREY}">{text}</text>'
        )
    parts += [_polyline(line, low, high, x, y) for line in panel.lines]
    parts += [_mark(share, text, i, x, y) for i, (share, text) in enumerate(panel.marks)]
    parts.append(_legend(panel.lines, x, y))
    return "\n".join(parts)


def _limits(lines: Sequence[Line]) -> tuple[float, float]:
    values = np.concatenate([line.values for line in lines])
    return float(np.floor(np.nanmin(values))), float(np.ceil(np.nanmax(values)))


def _height(value: float, low: float, high: float, y: float) -> float:
    return y + HEIGHT * (1.0 - (value - low) / (high - low))


def _polyline(line: Line, low: float, high: float, x: float, y: float) -> str:
    n = len(line.values)
    pieces, pen = [], "M"
    for i, value in enumerate(line.values):
        if np.isnan(value):
            pen = "M"
            continue
        at = _height(float(np.clip(value, low, high)), low, high, y)
        pieces.append(f"{pen}{x + WIDTH * i / (n - 1):.1f} {at:.1f}")
        pen = "L"
    return f'<path d="{"".join(pieces)}" fill="none" stroke="{line.colour}" stroke-width="1.2"/>'


def _mark(share: float, text: str, row: int, x: float, y: float) -> str:
    at, side = x + share * WIDTH, 1 if share < 0.74 else -1
    return (
        f'<path d="M{at:.1f} {y}v{HEIGHT}" stroke="{RED}" stroke-dasharray="3 2"/>'
        f'<text x="{at + side * 3:.1f}" y="{y + 12 + 12 * (row % 4)}" fill="{RED}" '
        f'text-anchor="{"start" if side > 0 else "end"}">{escape(text)}</text>'
    )


def _legend(lines: Sequence[Line], x: float, y: float) -> str:
    labelled = [line for line in lines if line.label]
    return "".join(
        f'<text x="{x + WIDTH - 56 * (len(labelled) - i)}" y="{y + 14}" fill="{line.colour}">'
        f"{escape(line.label)}</text>"
        for i, line in enumerate(labelled)
    )


def week_panels(dataset: Dataset, entity: Entity) -> list[Panel]:
    """Return the entity's winter and summer week, in shares of its capacity."""
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
    """Return one entity per subtype."""
    first: dict[str, Entity] = {}
    for entity in dataset.entities:
        if entity.kind is kind:
            first.setdefault(entity.extra["subtype"], entity)
    return list(first.values())


def forecast_panels(world: World) -> list[list[Panel]]:
    """Return forecast beside truth for three variables in both weeks."""
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
    """Return an entity's daily mean over the whole span, with its drifts marked."""
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


def most_struck(dataset: Dataset, subtype: str) -> Entity:
    """Return the entity of a subtype with the most drifts."""
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
    panels = [drift_panel(dataset, most_struck(dataset, subtype)) for subtype in struck]
    draw([panels[:2], panels[2:4], panels[4:]], out / "simulator-drift.svg")


if __name__ == "__main__":
    main()
