"""A grid of 50 days: a wind farm whose capacity doubles, a town with gaps in its meter."""

import numpy as np
import pandas as pd
import pytest

from clearwatt.benchmark.history import History
from clearwatt.benchmark.run import Benchmark
from clearwatt.data import Dataset, Entity, Kind
from clearwatt.experiment.protocol import Phases

HOURS = 1200


@pytest.fixture(scope="session")
def grid() -> Dataset:
    rng = np.random.default_rng(3)
    times = pd.date_range("2024-01-01", periods=HOURS, freq="h", tz="UTC", name="time")
    wind, warmth = rng.random(HOURS), rng.random(HOURS)
    hour = times.hour.to_numpy()
    power = pd.DataFrame(
        {
            "farm": 50 * wind**2,
            "town": 30 + 10 * np.sin(2 * np.pi * hour / 24) - 5 * warmth,
            "mill": 20 * (1 - wind),
        },
        index=times,
    )
    power.iloc[700:, 0] *= 2
    power.iloc[300:340, 1] = np.nan
    weather = {
        "coast": pd.DataFrame({"wind_ms": wind, "warmth": warmth}, index=times),
        "hills": pd.DataFrame({"wind_ms": wind}, index=times),
    }
    weather["hills"].iloc[500:530] = np.nan  # longer than is bridged: these steps have no sample
    return Dataset(
        name="little",
        power=power,
        weather=weather,
        entities=(
            Entity("farm", Kind.GENERATOR, 100.0, "coast"),
            Entity("town", Kind.CONSUMER, 50.0, "coast"),
            Entity("mill", Kind.GENERATOR, 20.0, "hills"),
        ),
    )


@pytest.fixture(scope="session")
def phases() -> Phases:
    return Phases(warmup=400, updating=600, test=150)


@pytest.fixture(scope="session")
def histories(grid, phases) -> tuple[History, ...]:
    return Benchmark(phases=phases).histories(grid)


@pytest.fixture(scope="session")
def coast(histories) -> History:
    """Farm and town, without a missing step."""
    return histories[0]


@pytest.fixture(scope="session")
def hills(histories) -> History:
    """The mill, with a gap in the weather."""
    return histories[1]
