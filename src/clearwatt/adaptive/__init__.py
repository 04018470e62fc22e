"""Our own best: a forecaster for real data that learns at two speeds."""

from clearwatt.adaptive.forecaster import AdaptiveForecaster, Issued
from clearwatt.adaptive.settings import Fast, Group, Settings, Slow, Speed

__all__ = ["AdaptiveForecaster", "Fast", "Group", "Issued", "Settings", "Slow", "Speed"]
