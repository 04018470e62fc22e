"""Live errors on parts of real series with few samples, of the forecaster and LightGBM.

    python benchmarks/few_samples.py gefcom2012-load --entities zone2 --start 0.25
    python benchmarks/few_samples.py gefcom2012-load --entities zone2 --start 0.25 --missing

A part has 90 days, of which 30 are the warm-up; with --missing it has 240 days, 45 of them warm-up,
and two of three readings are left out at random. It begins at a share of what lies before the test
phase, which is never read. Measurements arrive a day late. The figure is the live RMSE after the
warm-up as a share of capacity (or of the largest reading of the data set's own warm-up).
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from clearwatt.adaptive import AdaptiveSettings, NetworkSettings
from clearwatt.benchmark.history import ZoneHistory
from clearwatt.benchmark.peer import Peer
from clearwatt.benchmark.peers.adaptive import Adaptive
from clearwatt.benchmark.peers.lightgbm import LightGBM
from clearwatt.clock import steps_per_day
from clearwatt.data import Dataset, load_dataset
from clearwatt.data.features import CALENDAR_COLUMNS, calendar, interpolate_weather
from clearwatt.experiment.adaptive_stream import clock_steps
from clearwatt.experiment.protocol import Phases

NETWORKS_ALONE = replace(AdaptiveSettings(), networks=NetworkSettings(enough=None))
PEERS: Mapping[str, Peer] = {
    "adaptive": Adaptive(),
    "adaptive, no kernel regression": Adaptive(NETWORKS_ALONE),
    "LightGBM, weekly": LightGBM(),
    "LightGBM, weekly, lagged power": LightGBM(lags=True),
}
SEED = 1_000


def part(dataset: Dataset, name: str, *, start: float, missing: bool) -> ZoneHistory:
    """A part of an entity's series."""
    (entity,) = (each for each in dataset.entities if each.name == name)
    day, days, first_days = steps_per_day(dataset.step), *((240, 45) if missing else (90, 30))
    power, frame = dataset.power[name].to_numpy(np.float64), dataset.weather[entity.zone]
    phases = Phases.for_length(len(power))
    size = entity.capacity or float(np.nanmax(np.abs(power[: phases.warmup])))
    begin = int(start * (phases.warmup + phases.updating - days * day)) // day * day
    weather = interpolate_weather(frame, dataset.times)
    x = np.concatenate([weather, calendar(dataset.times, timezone=dataset.timezone)], axis=1)
    rows = np.arange(begin, begin + days * day)
    rows = rows[np.isfinite(x[rows]).all(axis=1)]
    y = power[rows] / size
    if missing:
        y[np.random.default_rng(SEED).random(len(y)) < 2 / 3] = np.nan
    at = clock_steps(dataset.times, day)[rows]
    return ZoneHistory(
        zone=entity.zone,
        entities=(name,),
        wide=x[rows].astype(np.float32),
        columns=(*map(str, frame.columns), *CALENDAR_COLUMNS),
        measured=y[:, None].astype(np.float32),
        at=at,
        times=dataset.times[rows],
        first=int(np.searchsorted(at, at[0] + first_days * day)),
        test=len(at) - 1,
        day=day,
        delay=day,
        seed=0,
    )


def live_error(peer: Peer, data: ZoneHistory) -> float:
    errors = peer.forecast(data).power[:, 0] - data.measured[data.first :, 0]
    return float(np.sqrt(np.nanmean(np.square(errors))))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", help="name of the catalogue, or folder")
    parser.add_argument("--entities", nargs="+", required=True)
    parser.add_argument("--start", type=float, default=0.25, help="from 0 to 1")
    parser.add_argument("--missing", action="store_true", help="leave two of three readings out")
    options = parser.parse_args()
    folder = Path(options.data)
    dataset = load_dataset(folder if folder.is_dir() else options.data)
    table = Table("", *PEERS)
    with threadpool_limits(1):
        for name in options.entities:
            data = part(dataset, name, start=options.start, missing=options.missing)
            table.add_row(name, *(f"{live_error(peer, data):.4f}" for peer in PEERS.values()))
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
