"""Weather forecasts of Open-Meteo: for data sets, and for a running service."""

from clearwatt.weather.coordinates import Coordinates
from clearwatt.weather.history import DayIssue, day_ahead_issues
from clearwatt.weather.open_meteo import OpenMeteo, WeatherError
from clearwatt.weather.variables import default_variables, require_known

__all__ = [
    "Coordinates",
    "DayIssue",
    "OpenMeteo",
    "WeatherError",
    "day_ahead_issues",
    "default_variables",
    "require_known",
]
