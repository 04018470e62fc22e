"""Since when an entity that joined a running zone without history can have readings."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from clearwatt.clock import Steps
from clearwatt.forecaster import Name


@dataclass(frozen=True)
class FirstStep:
    """The first step of an entity that joined without history.

    Args:
        entity: Its name.
        step: First step that it can have a reading of.
        excluded: Held steps before it that a person has excluded, so that nothing is learned.
        tried: Step at which other entities did not tell its past; 0: they were not asked yet.
    """

    entity: Name
    step: int
    excluded: tuple[int, ...] = ()
    tried: int = 0

    def exclude(self, at: Steps, held: Steps) -> FirstStep:
        """After some steps were excluded, of which those held are remembered."""
        before = np.intersect1d(at[at < self.step], held).tolist()
        return replace(self, excluded=tuple(sorted({*self.excluded, *before})))
