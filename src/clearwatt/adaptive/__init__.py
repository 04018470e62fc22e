"""Our own best: a forecaster for real data that learns at two speeds."""

from clearwatt.adaptive.forecaster import AdaptiveForecaster
from clearwatt.adaptive.settings import Fast, Settings, Slow, Speed

__all__ = ["AdaptiveForecaster", "Fast", "Settings", "Slow", "Speed"]
