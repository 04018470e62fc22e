"""Intervals: calibrated quantiles around point forecasts, for a stream that never ends."""

from clearwatt.intervals.calibrator import WINDOW_DAYS, Calibrator
from clearwatt.intervals.levels import LEVELS, checked_levels
from clearwatt.intervals.limits import physical_limits
from clearwatt.intervals.scores import Interval, crps, interval, pinball

__all__ = [
    "LEVELS",
    "WINDOW_DAYS",
    "Calibrator",
    "Interval",
    "checked_levels",
    "crps",
    "interval",
    "physical_limits",
    "pinball",
]
