"""A grid of 50 days: a wind farm whose capacity doubles, a town with gaps in its meter."""

import numpy as np
import pandas as pd
import pytest

from clearwatt.benchmark.history import ZoneHistory
from clearwatt.benchmark.leaderboard import Leaderboard, SkippedPeer
from clearwatt.benchmark.peer import Cost
from clearwatt.benchmark.run import Benchmark
from clearwatt.benchmark.scores import PeerRecord, PhaseScore
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
def histories(grid, phases) -> tuple[ZoneHistory, ...]:
    return Benchmark(phases=phases).histories(grid)


@pytest.fixture(scope="session")
def coast(histories) -> ZoneHistory:
    """Farm and town, without a missing step."""
    return histories[0]


@pytest.fixture(scope="session")
def hills(histories) -> ZoneHistory:
    """The mill, with a gap in the weather."""
    return histories[1]


ABOUT = {"experiment": {}, "data": {"name": "grid"}, "versions": {}, "machine": {}}
ENTITIES = ("farm", "town", "mill")
LOSSES = {"good": (0.1, 0.1, 0.3), "same": (0.1, 0.3, 0.2), "bad": (0.5, 0.5, 0.5)}


def record(peer: str, entity: str, loss: float, noise: np.ndarray) -> PeerRecord:
    daily = loss + 0.01 * noise
    score = PhaseScore(float(np.sqrt(daily.mean())), loss, None)
    return PeerRecord(
        peer, peer, entity, "zone", score, score, Cost(loss, 3, 4000), *2 * (tuple(daily),)
    )


@pytest.fixture(scope="session")
def board() -> Leaderboard:
    """Three peers on three entities; two of them differ by noise on the first."""
    rng = np.random.default_rng(0)
    return Leaderboard(
        ABOUT,
        tuple(
            record(peer, entity, loss, rng.normal(size=200))
            for peer, losses in reversed(LOSSES.items())
            for entity, loss in zip(ENTITIES, losses, strict=True)
        ),
        (SkippedPeer("absent", "it is not there"),),
    )
