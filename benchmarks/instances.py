"""Live errors of the paper's instances on real data, with one setting changed at a time.

    python benchmarks/instances.py gefcom2012-wind --entities wp1
    python benchmarks/instances.py europe_wind_farm --entities wf1 --instance Re \
        --variants small short

Only the updating phase is used; the test phase is never read. Measurements arrive a day late. An
instance is as in `clearwatt benchmark` (`clear-ra` and so on): preset `small` with one architecture
and one configuration. A variant changes the setting in its name.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from clearwatt.benchmark.history import ZoneHistory
from clearwatt.benchmark.peers.clear import Clear
from clearwatt.data import load_dataset
from clearwatt.experiment.architectures import Networks
from clearwatt.experiment.config import Experiment
from clearwatt.experiment.grid import INSTANCES
from clearwatt.experiment.presets import preset
from clearwatt.experiment.protocol import PhaseSamples, ZonePhases, divide
from clearwatt.training.fleet import Training, one_thread

YEARLY = ("week_sin", "week_cos", "day_of_year_sin", "day_of_year_cos")
SMALL = preset("small")
UPDATE, NETWORKS, GRID = SMALL.update, SMALL.networks, SMALL.grid


def networks_of_width(width: int) -> Networks:
    return replace(NETWORKS, widths=(width,), predictor_widths=(width,))


def with_weight_decay(experiment: Experiment, weight_decay: float) -> Experiment:
    return replace(
        experiment,
        warmup=replace(experiment.warmup, weight_decay=weight_decay),
        update=replace(experiment.update, weight_decay=weight_decay),
    )


def with_learning_rate(experiment: Experiment, learning_rate: float) -> Experiment:
    return replace(
        experiment,
        warmup=replace(experiment.warmup, learning_rate=learning_rate),
        update=replace(experiment.update, learning_rate=learning_rate),
    )


VARIANTS: Mapping[str, Experiment] = {
    "small": SMALL,
    "short": replace(SMALL, warmup=Training(epochs=10, patience=None)),
    "shorter": replace(SMALL, warmup=Training(epochs=100, patience=10)),
    "decay": with_weight_decay(SMALL, 1e-3),
    "little-decay": with_weight_decay(SMALL, 1e-4),
    "half-capacity": replace(SMALL, grid=replace(GRID, novelty_capacity=(1_500,))),
    "double-capacity": replace(SMALL, grid=replace(GRID, novelty_capacity=(6_000,))),
    "alpha-0.9": replace(SMALL, grid=replace(GRID, alpha=(0.9,))),
    "alpha-2": replace(SMALL, grid=replace(GRID, alpha=(2.0,))),
    "replay-2": replace(SMALL, grid=replace(GRID, replay_weight=(2.0,))),
    "update-3": replace(SMALL, update=replace(UPDATE, epochs=3)),
    "update-10": replace(SMALL, update=replace(UPDATE, epochs=10)),
    "update-100": replace(SMALL, update=replace(UPDATE, epochs=100, work=None)),
    "slow": with_learning_rate(SMALL, 3e-4),
    "fast": with_learning_rate(SMALL, 3e-3),
    "narrow": replace(SMALL, networks=networks_of_width(32)),
    "wide": replace(SMALL, networks=networks_of_width(128)),
    "small-latent": replace(SMALL, networks=replace(NETWORKS, latents=(8,))),
}


def main() -> None:
    arguments = parse_arguments()
    dataset = load_dataset(arguments.data)
    day = round(24 * 3600 / dataset.step.total_seconds())
    zones = divide(dataset, None, arguments.entities or list(dataset.names)).zones
    for name in arguments.variants:
        for zone in zones:
            started = time.process_time()
            peer = Clear(arguments.instance, VARIANTS[name])
            history = updating_history(zone, dataset.times, day=day, seed=arguments.seed)
            errors = live_errors(
                peer, without_season(history) if arguments.hide_season else history
            )
            seconds = time.process_time() - started
            for entity, error in errors.items():
                print(f"{name:22} {arguments.instance:4} {entity:12} {error:.4f} {seconds:5.0f} s")


def updating_history(
    zone: ZonePhases, times: pd.DatetimeIndex, *, day: int, seed: int
) -> ZoneHistory:
    """Warm-up and updating phase, with an empty test phase."""
    phase = zone.updating
    nothing = PhaseSamples(phase.x[:0], phase.y[:0], phase.at[:0])
    return ZoneHistory.of(zone, nothing, times, day=day, delay=day, seed=seed)


def without_season(history: ZoneHistory) -> ZoneHistory:
    """The history without the inputs of the time of year."""
    hidden = [history.columns.index(name) for name in YEARLY]
    columns = tuple(name for name in history.columns if name not in YEARLY)
    return replace(history, wide=np.delete(history.wide, hidden, axis=1), columns=columns)


@one_thread()
def live_errors(peer: Clear, history: ZoneHistory) -> dict[str, float]:
    """RMSE over the updating phase, by entity."""
    power = peer.forecast(history).power
    squares = np.square(power - history.measured[history.first :])
    return dict(zip(history.entities, np.sqrt(np.nanmean(squares, axis=0)).tolist(), strict=True))


def parse_arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Live errors of the paper's instances, varied.")
    parser.add_argument("data", type=data_name, help="name of the catalogue, or folder")
    parser.add_argument("--entities", nargs="+", help="names (default: all)")
    parser.add_argument("--instance", choices=INSTANCES, default="Ra")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--hide-season", action="store_true", help="without week and day of year")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(words)


def data_name(text: str) -> str | Path:
    return Path(text) if Path(text).is_dir() else text


if __name__ == "__main__":
    main()
