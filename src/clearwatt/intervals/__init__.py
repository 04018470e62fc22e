"""Intervals: calibrated quantiles around point forecasts, for a stream that never ends."""

from clearwatt.intervals.calibrator import Calibrator
from clearwatt.intervals.cells import PARTS
from clearwatt.intervals.levels import LEVELS, checked_levels
from clearwatt.intervals.limits import Limits, checked_limits, physical_limits, plain_limits
from clearwatt.intervals.pace import Pace
from clearwatt.intervals.replay import ModelSwap, replay_quantiles, window_rows
from clearwatt.intervals.scores import Interval, crps, interval, pinball
from clearwatt.intervals.sheet import Sheet
from clearwatt.intervals.stream import CalibratedStream, ForecastFunction
from clearwatt.intervals.window import WINDOW_DAYS, SampleWindow

__all__ = [
    "LEVELS",
    "PARTS",
    "WINDOW_DAYS",
    "CalibratedStream",
    "Calibrator",
    "ForecastFunction",
    "Interval",
    "Limits",
    "ModelSwap",
    "Pace",
    "SampleWindow",
    "Sheet",
    "checked_levels",
    "checked_limits",
    "crps",
    "interval",
    "physical_limits",
    "pinball",
    "plain_limits",
    "replay_quantiles",
    "window_rows",
]
