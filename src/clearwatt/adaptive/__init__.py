"""Our own forecaster: networks that learn on novelty, corrections, and trust in either."""

from clearwatt.adaptive.breaks import Break
from clearwatt.adaptive.change_events import PastLeftOut, PastRescaled, Standstill
from clearwatt.adaptive.deployed import AdaptiveDeployed
from clearwatt.adaptive.ensemble import NetworkVersion
from clearwatt.adaptive.events import EntityJoined, NetworkUpdate, TrustShift
from clearwatt.adaptive.forecaster import AdaptiveForecaster
from clearwatt.adaptive.prior import FleetPrior
from clearwatt.adaptive.prior_samples import ZoneSamples
from clearwatt.adaptive.prior_training import train_prior
from clearwatt.adaptive.settings import (
    AdaptiveSettings,
    ChangeSettings,
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
    "Break",
    "ChangeSettings",
    "Correction",
    "EntityJoined",
    "FastSettings",
    "FleetPrior",
    "NetworkGroup",
    "NetworkSettings",
    "NetworkUpdate",
    "NetworkVersion",
    "NoveltySettings",
    "PastLeftOut",
    "PastRescaled",
    "Standstill",
    "TrustShift",
    "ZoneSamples",
    "train_prior",
]
