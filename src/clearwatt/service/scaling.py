"""A zone's scaling as JSON values, as checkpoints and statuses keep it."""

from __future__ import annotations

from typing import Any

from clearwatt.data.scaling import Scaling
from clearwatt.service.status import Plain


def scaling_values(scaling: Scaling) -> dict[str, Any]:
    """A scaling as JSON values."""
    return scaling.to_dict()


def read_scaling(values: Plain) -> Scaling:
    """A scaling from JSON values."""
    return Scaling.from_dict(values)
