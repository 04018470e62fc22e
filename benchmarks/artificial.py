"""Live errors on artificial series that change or are short, of the forecaster and LightGBM.

    python benchmarks/artificial.py            # two minutes
    python benchmarks/artificial.py --quick    # the first two series
    python benchmarks/artificial.py --small --seeds 3 4 5    # the series with few samples
    python benchmarks/artificial.py --json

Ten months of hours, measurements a day late. The figure is the live RMSE after the warm-up as a
share of capacity, mean over seeds.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from clearwatt.adaptive import AdaptiveSettings, NetworkSettings
from clearwatt.benchmark.history import ZoneHistory
from clearwatt.benchmark.peer import Peer
from clearwatt.benchmark.peers.adaptive import Adaptive
from clearwatt.benchmark.peers.lightgbm import LightGBM
from clearwatt.benchmark.run import Benchmark
from clearwatt.data import Dataset, Entity, Kind

DAYS, DAY, CHANGE = 300, 24, 180
SHORT = 90
MISSING = 2 / 3
WEATHER_GAP = (150, 210)
"""Days between which there is no weather."""
FEW = ("90 days in all", "two thirds of readings missing")
PEERS: dict[str, Peer] = {
    "adaptive": Adaptive(),
    "adaptive, no changes sought": Adaptive(replace(AdaptiveSettings(), changes=None)),
    "adaptive, no kernel regression": Adaptive(
        replace(AdaptiveSettings(), networks=NetworkSettings(enough=None))
    ),
    "LightGBM, all": LightGBM(),
    "LightGBM, last 3,000": LightGBM("window"),
}


def smooth_noise(rng: np.random.Generator, keep: float, size: float) -> np.ndarray:
    """Noise that lasts for hours."""
    noise, value = np.zeros(DAYS * DAY), 0.0
    for row, new in enumerate(rng.normal(size=len(noise))):
        value = keep * value + size * new
        noise[row] = value
    return noise


def town(times: pd.DatetimeIndex, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Demand by hour, weekday and temperature."""
    rng, days = np.random.default_rng(10 * seed), np.arange(len(times)) / DAY
    temperature = np.sin(days / 9) + np.sin(days * 2 * np.pi) + 0.3 * rng.normal(size=len(times))
    weekend = np.asarray(times.dayofweek > 4)
    power = 20 - 4 * temperature - 4 * weekend + rng.normal(size=len(times))
    return pd.DataFrame({"temperature": temperature}, index=times), np.asarray(power)


def farm(times: pd.DatetimeIndex, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Wind power by a wind speed that is forecast with errors."""
    rng = np.random.default_rng(10 * seed + 1)
    speed = 8 * np.exp(0.35 * smooth_noise(rng, 0.97, 0.24))
    errors = smooth_noise(rng, 0.9, 0.4)
    power = 40 * np.clip((speed + errors - 3) / 10, 0, 1) ** 3
    return pd.DataFrame({"speed": speed, "squared": speed**2}, index=times), power


def series(seed: int) -> Iterator[tuple[str, ZoneHistory]]:
    """Names and histories."""
    times = pd.date_range("2023-02-10", periods=DAYS * DAY, freq="1h", tz="UTC", name="time")
    rows, (town_weather, demand), (farm_weather, wind) = (
        np.arange(len(times)),
        town(times, seed),
        farm(times, seed),
    )
    after, first = rows >= CHANGE * DAY, rows < 83 * DAY
    off = after & (rows < (CHANGE + 12) * DAY)
    yield "a town that triples", history(town_weather, np.where(after, 3 * demand, demand), 120)
    yield "a farm without output for 83 days", history(farm_weather, np.where(first, 0, wind), 40)
    yield (
        "a farm with 40 % of its output",
        history(farm_weather, np.where(after, 0.4 * wind, wind), 40),
    )
    partly = after & (rows < (CHANGE + 20) * DAY)
    yield (
        "a farm with 22 % of its output for 20 days",
        history(farm_weather, np.where(partly, 0.22 * wind, wind), 40),
    )
    yield (
        "a town that triples for 20 days",
        history(town_weather, np.where(partly, 3 * demand, demand), 120),
    )
    yield "a farm that is off for 12 days", history(farm_weather, np.where(off, 0, wind), 40)
    yield "a farm without a change", history(farm_weather, wind, 40)
    yield "a town without a change", history(town_weather, demand, 40)
    missing, short = np.random.default_rng(1_000 + seed).random(len(rows)) < MISSING, SHORT * DAY
    for name, weather, power in (("town", town_weather, demand), ("farm", farm_weather, wind)):
        yield f"a {name} with {FEW[0]}", history(weather[:short], power[:short], 40)
        yield f"a {name} with {FEW[1]}", history(weather, np.where(missing, np.nan, power), 40)
        gap = pd.Series((rows >= WEATHER_GAP[0] * DAY) & (rows < WEATHER_GAP[1] * DAY), times)
        yield f"a {name} without weather for two months", history(weather.mask(gap), power, 40)


def chosen(seed: int, *, quick: bool, small: bool) -> list[tuple[str, ZoneHistory]]:
    """The series of a seed that are wanted."""
    wanted = [(name, data) for name, data in series(seed) if not small or name.endswith(FEW)]
    return wanted[:2] if quick else wanted


def history(weather: pd.DataFrame, power: np.ndarray, capacity: float) -> ZoneHistory:
    dataset = Dataset(
        name="artificial",
        power=pd.DataFrame({"entity": power}, index=weather.index),
        weather={"here": weather},
        entities=(Entity("entity", Kind.CONSUMER, capacity, "here"),),
    )
    (found,) = Benchmark().histories(dataset)
    return found


def live_error(peer: Peer, data: ZoneHistory) -> float:
    errors = peer.forecast(data).power[:, 0] - data.measured[data.first :, 0]
    return float(np.sqrt(np.nanmean(np.square(errors))))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the first two series")
    parser.add_argument("--small", action="store_true", help="the series with few samples")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = {}
    with threadpool_limits(1):
        for seed in options.seeds:
            for name, data in chosen(seed, quick=options.quick, small=options.small):
                errors = {label: live_error(peer, data) for label, peer in PEERS.items()}
                found.setdefault(name, []).append(errors)
    report = {
        name: {label: float(np.mean([each[label] for each in errors])) for label in PEERS}
        for name, errors in found.items()
    }
    if options.json:
        print(json.dumps(report, indent=1))
        return
    table = Table("", *PEERS)
    for name, errors in report.items():
        table.add_row(name, *(f"{error:.4f}" for error in errors.values()))
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
