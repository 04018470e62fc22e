"""Intervals: calibrated quantiles around point forecasts, for a stream that never ends."""

from clearwatt.intervals.calibrator import Calibrator
from clearwatt.intervals.cells import PARTS
from clearwatt.intervals.lead_scale import LeadScale, scale_stream
from clearwatt.intervals.levels import LEVELS, checked_levels
from clearwatt.intervals.limits import PowerLimits, checked_limits, physical_limits, plain_limits
from clearwatt.intervals.near_calibrators import NearCalibrators
from clearwatt.intervals.near_quantiles import NearQuantiles, interpolate_leads
from clearwatt.intervals.rates import CalibrationRates
from clearwatt.intervals.replay import (
    ModelSwap,
    StreamQuantiles,
    calibrate_stream,
    replay_quantiles,
    window_rows,
)
from clearwatt.intervals.scores import Interval, crps, interval, pinball, pinball_losses
from clearwatt.intervals.snapshot import MovedForecasts, QuantileSnapshot, move_quantiles
from clearwatt.intervals.stream import CalibratedStream, ForecastFunction
from clearwatt.intervals.window import WINDOW_DAYS, SampleWindow

__all__ = [
    "LEVELS",
    "PARTS",
    "WINDOW_DAYS",
    "CalibratedStream",
    "CalibrationRates",
    "Calibrator",
    "ForecastFunction",
    "Interval",
    "LeadScale",
    "ModelSwap",
    "MovedForecasts",
    "NearCalibrators",
    "NearQuantiles",
    "PowerLimits",
    "QuantileSnapshot",
    "SampleWindow",
    "StreamQuantiles",
    "calibrate_stream",
    "checked_levels",
    "checked_limits",
    "crps",
    "interpolate_leads",
    "interval",
    "move_quantiles",
    "physical_limits",
    "pinball",
    "pinball_losses",
    "plain_limits",
    "replay_quantiles",
    "scale_stream",
    "window_rows",
]
