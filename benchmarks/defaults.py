"""Live errors of variants of the defaults of `clearwatt.adaptive`, and of their experts.

    python benchmarks/defaults.py gefcom2012-wind --entities wp1 wp2 wp3 wp4
    python benchmarks/defaults.py europe_wind_farm --variants default one-kind
    python benchmarks/defaults.py gefcom2012-load --json

Only the updating phase is used; the test phase is never read. Measurements arrive a day late. Each
line is a variant of the settings, or an expert of the default. The figure is the live RMSE, mean
over entities, as a share of capacity (or of the largest reading of the warm-up).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from clearwatt.adaptive import (
    AdaptiveForecaster,
    AdaptiveSettings,
    Correction,
    FastSettings,
    NetworkGroup,
    NetworkSettings,
    NoveltySettings,
)
from clearwatt.data import load_dataset
from clearwatt.data.neighbours import with_neighbours
from clearwatt.experiment.protocol import ZonePhases, divide
from clearwatt.training.fleet import Training

Errors = dict[str, dict[str, float]]
"""RMSE by variant or expert, then by entity."""

DEFAULT = AdaptiveSettings()
VARIANTS: Mapping[str, AdaptiveSettings] = {
    "default": DEFAULT,
    "weekly": replace(DEFAULT, novelty=NoveltySettings(capacity=None, oldest=7.0)),
    "novelty-3.5": replace(DEFAULT, novelty=NoveltySettings(capacity=3.5)),
    "novelty-7": replace(DEFAULT, novelty=NoveltySettings(capacity=7.0)),
    "one-kind": replace(DEFAULT, networks=NetworkSettings(groups=(NetworkGroup(),), members=9)),
    "no-lags": replace(
        DEFAULT,
        networks=NetworkSettings(
            groups=(NetworkGroup(), NetworkGroup(half_life=60.0), NetworkGroup(season=True))
        ),
    ),
    "no-neighbours": replace(
        DEFAULT,
        networks=NetworkSettings(
            groups=(
                NetworkGroup(half_life=60.0),
                NetworkGroup(season=True),
                NetworkGroup(lags=True),
            )
        ),
    ),
    "small-memory": replace(DEFAULT, memory=3_000),
    "no-jump": replace(DEFAULT, fast=FastSettings(jump=None)),
    "no-windows": replace(DEFAULT, networks=NetworkSettings(windows=())),
    "no-decay": replace(DEFAULT, networks=NetworkSettings(decay=0.0)),
    "more-dropout": replace(DEFAULT, networks=NetworkSettings(dropout=0.3)),
    "wider": replace(DEFAULT, networks=NetworkSettings(width=64)),
    "ten-epochs": replace(
        DEFAULT, networks=NetworkSettings(update=Training(epochs=10, patience=None))
    ),
    "recent-memory": replace(DEFAULT, recency=120.0),
    "long-memory": replace(DEFAULT, recency=1_000.0),
    "one-speed": replace(DEFAULT, fast=FastSettings(corrections=(Correction("calendar", 3.0),))),
    "daily": replace(DEFAULT, fast=FastSettings(every=24)),
    "quick-trust": replace(DEFAULT, fast=FastSettings(trust=15.0)),
}


def main() -> None:
    arguments = parse_arguments()
    dataset = load_dataset(arguments.data)
    chosen = arguments.entities or list(dataset.names)
    day = round(24 * 3600 / dataset.step.total_seconds())
    zones = divide(with_neighbours(dataset), None, chosen).zones
    console = Console(stderr=True)
    errors: Errors = {}
    for name in arguments.variants:
        started = time.process_time()
        for zone in zones:
            for what, result in live_errors(zone, VARIANTS[name], day=day, seed=arguments.seed):
                if what == "all" or name == "default":
                    errors.setdefault(name if what == "all" else f"  {what}", {}).update(result)
            console.print(f"{name}: {zone.name}, {time.process_time() - started:.0f} s so far")
    show(errors, as_json=arguments.json)


def live_errors(
    zone: ZonePhases, settings: AdaptiveSettings, *, day: int, seed: int
) -> list[tuple[str, dict[str, float]]]:
    """RMSE over the updating phase, by entity, of the mixture ("all") and of each expert."""
    # Measurements of the warm-up's last day have not arrived when the first step is forecast.
    x, y, at = zone.warmup.concatenate(zone.updating)
    first = len(zone.warmup.at)
    known = int(np.searchsorted(at, at[first] - day, side="right"))
    forecaster = AdaptiveForecaster.fit(
        x[:known],
        y[:known],
        at[:known],
        day=day,
        columns=zone.columns,
        settings=settings,
        seed=seed,
    )
    issued = [each for each, _ in forecaster.follow(x[known:], y[known:], at[known:])]
    assert forecaster.held_samples <= forecaster.memory
    result = [("all", np.concatenate([each.power for each in issued]))]
    experts = np.concatenate([each.experts for each in issued])
    result += [(name, experts[:, :, k]) for k, name in enumerate(settings.experts)]
    return [(name, by_entity(zone, power[first - known :])) for name, power in result]


def by_entity(zone: ZonePhases, power: np.ndarray) -> dict[str, float]:
    errors = np.sqrt(np.nanmean(np.square(power - zone.updating.y), axis=0))
    return dict(zip(zone.entities, errors.tolist(), strict=True))


def show(errors: Errors, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({name.strip(): result for name, result in errors.items()}, indent=1))
        return
    entities = list(next(iter(errors.values())))
    table = Table("", "mean", *entities)
    for name, result in errors.items():
        mean = np.mean([result[entity] for entity in entities])
        table.add_row(name, f"{mean:.4f}", *(f"{result[entity]:.3f}" for entity in entities))
    Console(width=max(100, 40 + 9 * len(entities))).print(table)


def parse_arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Live errors of variants of the defaults.")
    parser.add_argument("data", type=data_name, help="name of the catalogue, or folder")
    parser.add_argument("--entities", nargs="+", help="names (default: all)")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=["default"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(words)


def data_name(text: str) -> str | Path:
    return Path(text) if Path(text).is_dir() else text


if __name__ == "__main__":
    main()
