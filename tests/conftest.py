"""A small valid data set, on disk and in memory, that tests bend out of shape."""

import os
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import settings

from clearwatt.data import Dataset, Drift, Entity, Kind, load_dataset

QUARTERS = [f"2024-01-01T{m // 60:02d}:{m % 60:02d}:00+00:00" for m in range(0, 180, 15)]
HOURS = [f"2024-01-01T{hour:02d}:00:00+00:00" for hour in range(4)]


# The same examples in every run, so that one checkout has one verdict; to look for new ones:
# HYPOTHESIS_PROFILE=default
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_configure() -> None:
    """Have processes of tests hear Ctrl-C, which a shell in the background hands down ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Whatever a test draws from torch's global generator, it draws the same in any order."""
    torch.manual_seed(0)


@pytest.fixture
def csv_folder(tmp_path: Path) -> Path:
    """Twelve quarter-hours of a solar park and a house, four hours of weather, as CSV."""
    folder = tmp_path / "grid"
    folder.mkdir()
    power = [f"{time},{row}.5,{20 - row}" for row, time in enumerate(QUARTERS)]
    weather = [f"{time},{row}.25,{100 * row}" for row, time in enumerate(HOURS)]
    _write(folder / "power.csv", ["time,park,house", *power])
    _write(folder / "weather.csv", ["time,town__temperature_c,town__ghi_wm2", *weather])
    entities = ["entity,kind,capacity,zone,subtype", "park,generator,12.5,town,pv"]
    _write(folder / "entities.csv", [*entities, "house,consumer,,town,"])
    _write(folder / "ABOUT.md", ["# A grid for tests"])
    return folder


@pytest.fixture
def dataset(csv_folder: Path) -> Dataset:
    """The same, loaded."""
    return load_dataset(csv_folder)


@pytest.fixture
def two_zones() -> Dataset:
    """Two farms in two zones, one drift each and one for the whole grid."""
    times = pd.date_range("2024-01-01", periods=96, freq="15min", tz="UTC", name="time")
    hours = pd.date_range("2023-12-31", periods=72, freq="h", tz="UTC", name="time")
    ramp = np.arange(96, dtype=np.float32)
    weather = {
        zone: pd.DataFrame({"wind_ms": np.arange(72.0) + shift}, index=hours)
        for shift, zone in enumerate(("north", "south"))
    }
    drifts = [
        Drift("outage", "a", times[8], times[16], 1.0, "a is down"),
        Drift("meter_rescaled", "b", times[40], None, 2.0, "b counts double"),
        Drift("nwp_change", None, times[80], None, 1.0, "new model"),
    ]
    return Dataset(
        name="two",
        power=pd.DataFrame({"a": ramp, "b": -ramp}, index=times),
        weather=weather,
        entities=(
            Entity("a", Kind.GENERATOR, 100.0, "north"),
            Entity("b", Kind.RESIDUAL, None, "south", {"subtype": "village"}),
        ),
        drifts=tuple(drifts),
    )


def _write(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
