"""Days of one meter as the rules see them."""

from __future__ import annotations

import numpy as np

from clearwatt.data.suspicion.evidence import Case, Evidence
from clearwatt.data.suspicion.statistics import day_statistics

HISTORY = 28
"""Trusted days, the first ones."""


def case_of(days: np.ndarray, expected: np.ndarray | None = None) -> Case:
    """The last of some days (h x n), with `HISTORY` trusted ones; expected: as they are."""
    power = days[..., None].astype(np.float32)
    baseline = (days if expected is None else expected)[..., None]
    statistics = np.stack([day_statistics(*each) for each in zip(power, baseline, strict=True)])
    last = slice(HISTORY, -1)
    return Case.of(
        Evidence(
            day=statistics[-1],
            last=statistics[last],
            ages=np.arange(len(days) - HISTORY - 1, 0, -1),
            past=statistics[:HISTORY],
            ranks=np.arange(HISTORY)[::-1, None],
            power=power[-1],
            trusted=power[:HISTORY],
            earlier=power[last],
        )
    )
