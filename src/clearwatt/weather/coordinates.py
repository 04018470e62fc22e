"""The place of a zone."""

from __future__ import annotations

import math
from dataclasses import dataclass

from clearwatt.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Coordinates:
    """Latitude and longitude in degrees (WGS 84); north and east are positive."""

    latitude: float
    longitude: float

    def __post_init__(self) -> None:
        _require("latitude", self.latitude, 90)
        _require("longitude", self.longitude, 180)

    @classmethod
    def parse(cls, text: str) -> Coordinates:
        """The coordinates of a text such as ``52.23,21.01``."""
        try:
            latitude, longitude = (float(part) for part in text.split(","))
        except ValueError:
            raise ConfigurationError(
                f"{text!r} is not a place; write latitude,longitude, such as 52.23,21.01"
            ) from None
        return cls(latitude, longitude)

    def __str__(self) -> str:
        return f"{self.latitude:g},{self.longitude:g}"

    def degrees_to(self, other: Coordinates) -> float:
        """Distance in degrees of a great circle, exact enough to tell places apart."""
        east = abs(self.longitude - other.longitude) % 360
        east = min(east, 360 - east) * math.cos(math.radians(self.latitude))
        return math.hypot(self.latitude - other.latitude, east)


def _require(name: str, value: float, limit: int) -> None:
    if not abs(value) <= limit:  # also for NaN
        raise ConfigurationError(f"{name} is {value}; give degrees from -{limit} to {limit}")
