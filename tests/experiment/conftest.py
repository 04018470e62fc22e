"""A small stream whose inputs and relation to the target both drift."""

import numpy as np
import pytest

from clearwatt.component import Settings
from clearwatt.experiment.comparison import Comparison, Phases, Shapes
from clearwatt.fleet import Training
from clearwatt.strategies import Frozen, GenerativeReplay, RandomReplay
from clearwatt.warmup import WarmUp


@pytest.fixture(scope="session")
def drifting():
    """Inputs (1500 x 4) and two series of power (1500 x 2), one with gaps."""
    rng = np.random.default_rng(5)
    drift = np.linspace(0, 1, 1500)[:, None]
    x = (rng.random((1500, 4)) * 0.5 + drift * np.array([0.5, 0, 0, 0])).astype(np.float32)
    y = np.stack([x[:, 0] * x[:, 1], x[:, 2] * (1 - drift[:, 0])], axis=1).astype(np.float32)
    y[::9, 1] = np.nan
    return x, y


@pytest.fixture(scope="session")
def comparison():
    return Comparison(
        {
            "Frozen": Frozen(),
            "Random": RandomReplay(),
            "Generative": GenerativeReplay(components=4),
        },
        phases=Phases(warmup=500, updating=800, test=200),
        shapes=Shapes(width=16, layers=2, latent=3, predictor_width=16, predictor_layers=2),
        settings=Settings(novelty_capacity=100, update=Training(epochs=5, patience=None)),
        warmup=WarmUp(Training(epochs=40, patience=None)),
        delay=10,
    )


@pytest.fixture(scope="session")
def outcomes(comparison, drifting):
    return comparison.run(*drifting, ["pv", "load"])
