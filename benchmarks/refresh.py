"""A refresh: new readings of 1,000 meters arrive, and all their forecasts are made again.

    python benchmarks/refresh.py            # a minute
    python benchmarks/refresh.py --quick    # 100 meters
    python benchmarks/refresh.py --json

It counts what both processes of the service compute on one core: the learner finds out what the
readings tell that it has not learned from yet, two hours of them; the web process takes that and
forecasts 48 hours of quarter hours with quantiles. The reference is the forecast of the networks
alone in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from clearwatt.adaptive import AdaptiveForecaster, AdaptiveSettings, NetworkSettings, NetworkVersion
from clearwatt.adaptive.latest import LatestMeasurements, find_latest
from clearwatt.adaptive.publication import split_deployed
from clearwatt.arrays import Float64Array
from clearwatt.data.inputs import CALENDAR_COLUMNS
from clearwatt.data.scaling import Scaling
from clearwatt.intervals import LEVELS, Calibrator, NearCalibrators
from clearwatt.packing import from_bytes, to_bytes
from clearwatt.service.forecasting.adaptive import AdaptiveForecasts
from clearwatt.service.forecasting.answers import ZoneRequest
from clearwatt.service.forecasting.coverage import Inputs
from clearwatt.service.forecasting.deployed import DeployedZone, ZoneQuantiles
from clearwatt.service.records import DeployedSnapshot, RegisteredEntity, Zone
from clearwatt.service.store import Store, open_store
from clearwatt.training.fleet import Training

DAY, STEP = 96, 900
LEADS = (1, 4, 12, 24, 48)
"""Steps after the newest reading for which intervals are calibrated."""
WEATHER = 5
WARMUP, STREAMED, AHEAD = 10 * DAY, 4 * DAY + 8, 2 * DAY
OPEN = 8
"""Rows that are not learned from yet: the quality checks settle quarter hours after two hours."""
GOAL = 2.0
"""Core-seconds for 1,000 meters."""


class Stage:
    """A zone of meters that has learned some days, on both sides of the service."""

    def __init__(self, store: Store, *, meters: int, repeats: int) -> None:
        self.store = store
        rng = np.random.default_rng(0)
        at = np.arange(WARMUP + STREAMED + OPEN + repeats + AHEAD)
        weather = np.sin(at[:, None] / rng.uniform(20, 90, WEATHER))
        calendar = np.zeros((len(at), len(CALENDAR_COLUMNS)))
        self.at, self.x = at, np.concatenate([weather, calendar], axis=1).astype(np.float32)
        lasting = 0.003 * rng.standard_normal((len(at), meters)).cumsum(axis=0)
        self.y = weather @ rng.uniform(0, 0.2, (WEATHER, meters)) + lasting
        self.names = [f"meter-{place}" for place in range(meters)]
        variables = tuple(f"weather_{place}" for place in range(WEATHER))
        self.zone = Zone("north", STEP, variables)
        self.entities = tuple(
            RegisteredEntity(name, "north", "consumer", number=place)
            for place, name in enumerate(self.names)
        )
        self.scaling = Scaling({}, dict.fromkeys(self.names, 1.0))
        self.forecaster = self._learned()
        self.quantiles = self._quantiles()
        self.forecasts = self._published()
        self.latest, self.rows = b"", OPEN

    def _learned(self) -> AdaptiveForecaster:
        networks = NetworkSettings(warm_up=Training(epochs=1, patience=None))
        first, then = slice(WARMUP), slice(WARMUP, WARMUP + STREAMED)
        forecaster = AdaptiveForecaster.fit(
            self.x[first],
            self.y[first],
            self.at[first],
            day=DAY,
            settings=AdaptiveSettings(networks=networks),
            names=self.names,
        )
        forecaster.observe(self.x[then], self.y[then], self.at[then])
        return forecaster

    def _quantiles(self) -> ZoneQuantiles:
        calibrator = Calibrator.start(
            self.y[: 2 * DAY] + 0.1, self.y[: 2 * DAY], self.at[: 2 * DAY], day=DAY
        )
        columns = {each.number: each.number for each in self.entities}
        near = NearCalibrators.start(calibrator, LEADS, horizon=DAY, levels=(0.05, 0.95))
        snapshot = replace(calibrator.snapshot, near=near.snapshot)
        return ZoneQuantiles(0, snapshot, MappingProxyType(columns))

    def _published(self) -> AdaptiveForecasts:
        base, period = split_deployed(self.forecaster.deployed, self.forecaster.state.boundary)
        snapshot = DeployedSnapshot("north", 0, to_bytes(base), to_bytes(period))
        versions: dict[str, NetworkVersion] = {
            f"predictor:{each.entity}:{each.number}": each for each in self.forecaster.versions
        }
        return AdaptiveForecasts.assemble(
            snapshot, lambda wanted: (wanted, versions[wanted]), previous=None
        )

    @property
    def _open_rows(self) -> slice:
        learned = self.forecaster.state.known + 1
        return slice(learned, learned + self.rows)

    def find_latest(self) -> None:
        """The learner finds out what readings tell, with one more row of them."""
        self.rows += 1
        new = self._open_rows
        x = self.x[new].astype(np.float64)
        self.latest = to_bytes(find_latest(self.forecaster.state, x, self.y[new], self.at[new]))

    def take_latest(self) -> None:
        """The web process takes it."""
        self.forecasts = self.forecasts.with_latest(from_bytes(LatestMeasurements, self.latest))

    def forecast(self) -> int:
        """All forecasts of 48 hours with quantiles; returns how many meters have one."""
        rows = self._rows_ahead
        times = self.at[rows] * STEP
        request = ZoneRequest(
            self.zone,
            self.entities,
            times,
            DeployedZone(0, self.scaling, self.forecasts, widths=self.quantiles),
            self._inputs(rows),
            self._inputs(self._open_rows),
            float(times[0]),
            LEVELS,
        )
        with_quantiles = [
            each.quantiles is not None and not each.missing
            for each in request.forecasts(self.store)
        ]
        return sum(with_quantiles)

    @property
    def _rows_ahead(self) -> slice:
        return slice(self._open_rows.stop, self._open_rows.stop + AHEAD)

    def _inputs(self, rows: slice) -> Inputs:
        times = self.at[rows] * STEP
        return Inputs(times, self.x[rows], times)

    def forecast_by_networks(self) -> Float64Array:
        """Forecasts of 48 hours by the networks alone."""
        rows = self._rows_ahead
        return self.forecasts.deployed.networks(self.x[rows], self.at[rows])


def core_seconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def measure(store: Store, *, meters: int, repeats: int) -> dict[str, float]:
    """The median core-seconds of each part, and their sum."""
    stage = Stage(store, meters=meters, repeats=repeats + 1)
    parts: dict[str, list[float]] = {}
    for turn in range(repeats + 1):
        spent = {
            "what the readings tell, learner": core_seconds(stage.find_latest),
            "... taken by the web process": core_seconds(stage.take_latest),
            "forecast with quantiles": core_seconds(stage.forecast),
            "networks alone": core_seconds(stage.forecast_by_networks),
        }
        for name, seconds in spent.items():
            if turn:  # the first turn warms caches up
                parts.setdefault(name, []).append(seconds)
    if stage.forecast() != meters:
        raise SystemExit("not every meter has a forecast with quantiles by its model")
    median = {name: float(np.median(seconds)) for name, seconds in parts.items()}
    reference = median.pop("networks alone")
    total = sum(median.values())
    return {**median, "refresh": total, "networks alone": reference, "ratio": total / reference}


def main() -> None:
    options = _options()
    torch.set_num_threads(1)
    meters = 100 if options.quick else 1000
    with TemporaryDirectory() as folder, closing(open_store(Path(folder) / "empty.db")) as store:
        found = measure(store, meters=meters, repeats=options.repeats)
    goal = GOAL * meters / 1000
    if options.json:
        print(json.dumps({"meters": meters, **found, "goal": goal, "load": os.getloadavg()}))
        return
    table = Table("core-seconds", "", title=f"{meters:,} meters, 48 hours of quarter hours")
    for name, seconds in found.items():
        table.add_row(name, f"{seconds:.2f}")
    Console(width=110).print(table)
    verdict = "reached" if found["refresh"] <= goal else "MISSED"
    print(f"goal: at most {goal:g} s for a refresh: {verdict}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="100 meters")
    parser.add_argument("--repeats", type=int, default=5, help="refreshes (default 5)")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    return parser.parse_args()


if __name__ == "__main__":
    main()
