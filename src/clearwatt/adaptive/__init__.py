"""Our own forecaster: networks that learn on novelty, corrections, and trust in either."""

from clearwatt.adaptive.deployed import AdaptiveDeployed
from clearwatt.adaptive.ensemble import NetworkVersion
from clearwatt.adaptive.events import EntityJoined, NetworkUpdate, TrustShift
from clearwatt.adaptive.forecaster import AdaptiveForecaster
from clearwatt.adaptive.prior import FleetPrior
from clearwatt.adaptive.prior_samples import ZoneSamples
from clearwatt.adaptive.prior_training import train_prior
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
    "FleetPrior",
    "NetworkGroup",
    "NetworkSettings",
    "NetworkUpdate",
    "NetworkVersion",
    "NoveltySettings",
    "TrustShift",
    "ZoneSamples",
    "train_prior",
]
