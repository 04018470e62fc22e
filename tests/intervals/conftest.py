import numpy as np
import pytest

from clearwatt.intervals import Calibrator

DAY = 24


class World:
    """Forecasts and what came of them: n x entities, residuals by the caller's leave."""

    def __init__(self, days, *, entities=2, seed=0, day=DAY):
        rng = np.random.default_rng(seed)
        self.day, self.steps = day, np.arange(days * day, dtype=np.int64)
        wave = np.sin(2 * np.pi * self.steps / day)[:, None]
        self.forecasts = 0.5 + 0.3 * wave + 0.1 * rng.normal(size=(days * day, entities))
        self.noise = rng.normal(size=(days * day, entities))
        self.y = self.forecasts + 0.1 * self.noise

    def rows(self, first, last=None):
        """Forecasts, measurements and steps from one day to another."""
        piece = slice(first * self.day, None if last is None else last * self.day)
        return self.forecasts[piece], self.y[piece], self.steps[piece]

    def start(self, days=30, **options):
        """A calibrator that has seen the first days."""
        return Calibrator.start(*self.rows(0, days), day=self.day, **options)


@pytest.fixture
def world():
    return World
