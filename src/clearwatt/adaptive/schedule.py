"""When the parts of the adaptive forecaster learn, in steps of the zone's clock."""

from __future__ import annotations

from dataclasses import dataclass

from clearwatt.clock import Clock
from clearwatt.errors import ConfigurationError, require_whole


@dataclass(frozen=True)
class Schedule:
    """A clock divided into periods of `refresh` steps.

    Corrections and trust are solved at the end of a period, over the whole period, so that the
    result does not depend on how samples are cut into blocks.

    Args:
        clock: Length of a day, delay of measurements.
        refresh: Steps per period.
    """

    clock: Clock
    refresh: int

    def __post_init__(self) -> None:
        require_whole(refresh=self.refresh)
        if self.refresh > self.clock.day:
            raise ConfigurationError(
                f"refresh is {self.refresh} steps; solve at least once a day "
                f"({self.clock.day} steps)"
            )

    def period_start(self, step: int) -> int:
        """First step of the period that a step belongs to."""
        return step // self.refresh * self.refresh

    @property
    def recent_steps(self) -> int:
        """Steps held row by row: back to the same weekday, and those not solved yet."""
        return self.clock.same_weekday + self.clock.delay + self.refresh
