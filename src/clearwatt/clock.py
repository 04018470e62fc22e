"""Time in steps: when a measurement is known, and which measurements a forecast can use.

A sample belongs to a step of the clock; steps without a sample are gaps. A measurement of step
`s` is known from step `s + delay` on. A forecast for step `t` is issued `lead` steps before `t` and
uses measurements up to `t - lead - delay`. Experiment and benchmark issue the forecast of every
step with lead 0: their delay covers both the reporting and the lead.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import BoolArray
from clearwatt.errors import require_whole

Steps = npt.NDArray[np.int64]
"""Numbers of steps on a clock, ascending."""
S = TypeVar("S", int, Steps)

HOURS_PER_DAY = 24
DAYS_PER_WEEK = 7
SECONDS_PER_DAY = 86_400


@dataclass(frozen=True)
class Clock:
    """Length of a day and delay of measurements, both in steps.

    Args:
        day: Steps per day.
        delay: Steps until a measurement is known; at least 1, because a forecast never uses the
            measurement of its own step.
    """

    day: int
    delay: int

    def __post_init__(self) -> None:
        require_whole(day=self.day, delay=self.delay)

    def known_from(self, step: S) -> S:
        """First step from which the measurement of ``step`` is known."""
        return step + self.delay

    def cutoff(self, step: S, lead: int = 0) -> S:
        """Last step whose measurement a forecast for ``step`` can use."""
        return step - lead - self.delay

    def count_known(self, at: Steps, step: int, lead: int = 0) -> int:
        """Number of rows, with steps ``at`` (n), that a forecast for ``step`` can use."""
        return int(np.searchsorted(at, self.cutoff(step, lead), side="right"))

    def first_row_after(self, row: int, at: Steps | None = None) -> int:
        """First row whose forecast can use the measurement of ``row``.

        Args:
            row: Of the measurement.
            at: Step of each row (n); None if every step is a row.
        """
        return (
            self.known_from(row) if at is None else int(np.searchsorted(at, at[row] + self.delay))
        )

    @property
    def lag_days(self) -> int:
        """Least number of whole days between the last day known in full and the forecast day."""
        return -(-(self.delay - 1) // self.day)

    @property
    def same_hour(self) -> int:
        """Steps back to the latest known measurement at the same time of day."""
        return _round_up(self.delay, self.day)

    @property
    def same_weekday(self) -> int:
        """Steps back to the latest known measurement at the same time of the same weekday."""
        return _round_up(self.delay, DAYS_PER_WEEK * self.day)


def steps_per_day(step: timedelta) -> int:
    """Steps of this length per day, at least 1."""
    return max(1, round(timedelta(days=1) / step))


def steps_within(duration: timedelta, step: timedelta) -> int:
    """Steps of this length that a duration takes, rounded up."""
    return -(-duration // step)


def is_overdue(times: Steps, *, newest: int, lateness: int) -> BoolArray:
    """Which times (n) lie more than ``lateness`` before the newest reading, all in one unit."""
    return np.asarray(times < newest - lateness, np.bool_)


def _round_up(steps: int, period: int) -> int:
    """Smallest multiple of a period that is not below ``steps``."""
    return -(-steps // period) * period
