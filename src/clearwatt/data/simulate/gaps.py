"""Readings that never came: short losses of contact and a few longer failures of a meter."""

from __future__ import annotations

import numpy as np

from clearwatt.data.simulate.profiles import Flags
from clearwatt.data.simulate.randomness import stream

# Per 1000 readings, and mean lengths in readings; together about 0.3 % are missing.
SHORT_PER_1000 = 0.45
SHORT_LENGTH = 3.0
LONG_PER_1000 = 0.02
LONG_LENGTH = 80.0


def missing(name: str, steps: int, *, seed: int) -> Flags:
    """Return which readings (n) of an entity are missing."""
    rng = stream(seed, name, "gaps")
    lost = np.zeros(steps, dtype=np.bool_)
    for per_1000, mean in ((SHORT_PER_1000, SHORT_LENGTH), (LONG_PER_1000, LONG_LENGTH)):
        count = rng.poisson(steps * per_1000 / 1000.0)
        starts = rng.integers(0, steps, size=count)
        lengths = rng.geometric(1.0 / mean, size=count)
        for start, length in zip(starts, lengths, strict=True):
            lost[start : start + length] = True
    return lost
