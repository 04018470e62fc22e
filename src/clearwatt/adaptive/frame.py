"""The part of an adaptive forecaster that learning never changes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from clearwatt.adaptive.ensemble import Architecture
from clearwatt.adaptive.kinds import membership
from clearwatt.adaptive.schedule import Schedule
from clearwatt.adaptive.settings import LEAST_SAMPLES, AdaptiveSettings
from clearwatt.adaptive.view import View
from clearwatt.arrays import Float64Array
from clearwatt.clock import HOURS_PER_DAY

MOST_OF_MEMORY = 0.6
"""Share of the memory that is enough samples in any case; a full one needs no kernel regression."""


@dataclass(frozen=True, eq=False)
class Frame:
    """Settings and the view that the warm-up fixed.

    Args:
        settings: How it learns.
        schedule: When its parts learn.
        view: What the networks see of inputs.
        inputs: Width `d` of inputs.
        memory: Past samples held at most.
    """

    settings: AdaptiveSettings
    schedule: Schedule
    view: View
    inputs: int
    memory: int = LEAST_SAMPLES

    @cached_property
    def architecture(self) -> Architecture:
        """Shape of the networks of an entity."""
        view, day = self.view, self.schedule.clock.day
        enough = (self.settings.networks.enough or 0) * day // HOURS_PER_DAY
        return Architecture(
            self.settings.networks,
            view.width,
            view.season,
            view.neighbours,
            hour=max(1, day // HOURS_PER_DAY),
            distances=view.distances,
            enough=min(enough, int(MOST_OF_MEMORY * self.memory)),
        )

    @cached_property
    def membership(self) -> Float64Array:
        """1 where an expert is of a kind, `k x kinds`."""
        return membership(self.settings)
