"""Missing readings: short communication losses and a few longer meter failures."""

from __future__ import annotations

import numpy as np

from clearwatt.arrays import BoolArray
from clearwatt.data.simulate.randomness import random_stream

# Gaps per 1000 readings, and their mean lengths in readings; about 0.3 % are missing in all.
SHORT_PER_1000 = 0.45
SHORT_LENGTH = 3.0
LONG_PER_1000 = 0.02
LONG_LENGTH = 80.0


def missing_readings(name: str, steps: int, *, seed: int) -> BoolArray:
    """Whether each reading (n) of an entity is missing."""
    rng = random_stream(seed, name, "gaps")
    lost = np.zeros(steps, dtype=np.bool_)
    for per_1000, mean in ((SHORT_PER_1000, SHORT_LENGTH), (LONG_PER_1000, LONG_LENGTH)):
        count = rng.poisson(steps * per_1000 / 1000.0)
        starts = rng.integers(0, steps, size=count)
        lengths = rng.geometric(1.0 / mean, size=count)
        for start, length in zip(starts, lengths, strict=True):
            lost[start : start + length] = True
    return lost
