"""Our own forecaster: networks that learn on novelty, corrections, and trust in either."""

from clearwatt.adaptive.deployed import AdaptiveDeployed
from clearwatt.adaptive.ensemble import NetworkVersion
from clearwatt.adaptive.events import EntityJoined, NetworkUpdate, TrustShift
from clearwatt.adaptive.forecaster import AdaptiveForecaster
from clearwatt.adaptive.settings import (
    AdaptiveSettings,
    Correction,
    FastSettings,
    NetworkGroup,
    NetworkSettings,
    NoveltySettings,
)

__all__ = [
    "AdaptiveDeployed",
    "AdaptiveForecaster",
    "AdaptiveSettings",
    "Correction",
    "EntityJoined",
    "FastSettings",
    "NetworkGroup",
    "NetworkSettings",
    "NetworkUpdate",
    "NetworkVersion",
    "NoveltySettings",
    "TrustShift",
]
