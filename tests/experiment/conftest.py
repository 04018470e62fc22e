"""A small grid of two zones, and small experiments on it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.experiment.finished_run import run_document, write_run_folder
from tests.experiment.running import finished

from clearwatt.data import Dataset, Drift, Entity, Kind
from clearwatt.experiment.architectures import Networks
from clearwatt.experiment.config import Experiment
from clearwatt.experiment.grid import ROWS, Grid
from clearwatt.training.fleet import Training


@pytest.fixture(scope="session")
def grid() -> Dataset:
    """1200 hours of two zones: gaps in weather and power, an unknown capacity, known drifts."""
    rng = np.random.default_rng(8)
    times = pd.date_range("2024-01-01", periods=1200, freq="h", tz="UTC", name="time")
    season = np.linspace(0, 1, 1200)
    wind = {zone: 8 * rng.random(1200) + 4 * season for zone in ("north", "south")}
    sun = {zone: rng.random(1200) * (1 - 0.5 * season) for zone in wind}
    weather = {
        zone: pd.DataFrame({"wind_ms": wind[zone], "sun": sun[zone]}, index=times) for zone in wind
    }
    weather["south"].iloc[300:340] = np.nan  # longer than is bridged
    power = {
        "farm": wind["north"] ** 2 * (1 + season),
        "park": 50 * sun["north"],
        "town": 30 + 20 * sun["south"] - wind["south"] * season,
    }
    frame = pd.DataFrame(power, index=times)
    frame.iloc[100:150, 1] = np.nan
    frame.iloc[700:, 0] *= 2
    return Dataset(
        name="three",
        power=frame,
        weather=weather,
        entities=(
            Entity("farm", Kind.GENERATOR, 300.0, "north"),
            Entity("park", Kind.GENERATOR, 50.0, "north"),
            Entity("town", Kind.RESIDUAL, None, "south"),
        ),
        drifts=(
            Drift("seasons", None, times[0], None, 1.0, "the year"),
            Drift("meter", "farm", times[700], None, 2.0, "counts double"),
        ),
    )


@pytest.fixture(scope="session")
def tiny() -> Experiment:
    """All instances, two configurations of the paper's, in seconds."""
    return Experiment(
        instances=ROWS,
        networks=Networks((2,), (12,), (4, 3), (1e-6, 1e-4), (2,), (12, 8)),
        grid=Grid((60,), (0.9, 1.3), (1e4,), (1.0,), (3,)),
        warmup=Training(epochs=15, patience=5),
        update=Training(epochs=2, patience=None),
        baseline=Training(epochs=4, patience=None),
        baseline_autoencoder=Training(epochs=4, patience=None),
    )


@pytest.fixture(scope="session")
def one_point(tiny) -> Experiment:
    """Two instances with one configuration each and one architecture."""
    return replace(
        tiny,
        instances=("Ra", "G"),
        networks=Networks((2,), (12,), (4,), (1e-6,), (2,), (12,)),
        grid=Grid((60,), (1.3,), (1e4,), (1.0,), (3,)),
    )


@pytest.fixture
def write_run(tmp_path):
    """Write a run's folder from a document, with the series that trials and baselines name."""

    def write(document=None, name="run"):
        return write_run_folder(tmp_path / name, document or run_document())

    return write


@pytest.fixture(scope="session")
def done(grid, tiny, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    results, _ = finished(tiny, grid, out)
    return out, results
