"""A zone's scaling as JSON values, as checkpoints and statuses keep it."""

from __future__ import annotations

from typing import Any

import pandas as pd

from clearwatt.data.scaling import Extrema, Scaling
from clearwatt.service.status import Plain


def scaling_values(scaling: Scaling) -> dict[str, Any]:
    """A scaling as JSON values."""
    weather = {
        zone: {name: [each.low, each.high] for name, each in variables.items()}
        for zone, variables in scaling.weather.items()
    }
    return {
        "weather": weather,
        "power": dict(scaling.power),
        "timezone": scaling.timezone,
        "max_gap": scaling.max_gap.total_seconds(),
    }


def read_scaling(values: Plain) -> Scaling:
    """A scaling from JSON values."""
    weather = {
        zone: {name: Extrema(*bounds) for name, bounds in variables.items()}
        for zone, variables in values["weather"].items()
    }
    return Scaling(
        weather, values["power"], values["timezone"], pd.Timedelta(seconds=values["max_gap"])
    )
