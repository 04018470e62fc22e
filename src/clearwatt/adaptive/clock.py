"""The clock of a forecaster: lengths of time in steps."""

from __future__ import annotations

from dataclasses import dataclass

from clearwatt.errors import ConfigurationError, require_whole

HOURS_OF_DAY = 24
DAYS_OF_WEEK = 7


@dataclass(frozen=True)
class Clock:
    """Lengths of time in steps.

    Args:
        day: Steps of a day.
        delay: Steps until a measurement is known.
        refresh: Steps from one solution of the fast part to the next.
        update: Steps from one update of the slow part to the next, at least.
    """

    day: int
    delay: int
    refresh: int
    update: int

    def __post_init__(self) -> None:
        require_whole(day=self.day, delay=self.delay, refresh=self.refresh, update=self.update)
        if self.refresh > self.day:
            raise ConfigurationError(
                f"refresh is {self.refresh} steps; solve at least once a day ({self.day} steps)"
            )

    @property
    def same_hour(self) -> int:
        """Steps back to the last measurement known for the same hour."""
        return -(-self.delay // self.day) * self.day

    @property
    def same_weekday(self) -> int:
        """Steps back to the last measurement known for the same hour and weekday."""
        week = DAYS_OF_WEEK * self.day
        return -(-self.delay // week) * week

    @property
    def journal(self) -> int:
        """Steps that the journal spans: back to the same weekday, and those being forecast."""
        return self.same_weekday + self.delay + self.refresh
