"""Stacked networks: every tensor has a leading axis of `m` models; a single model is `m = 1`."""

from clearwatt.training.networks.autoencoder import Autoencoder
from clearwatt.training.networks.base import (
    Differentiator,
    Network,
    Params,
    Reconstructor,
    select,
    stack,
)
from clearwatt.training.networks.joint import JointNetwork
from clearwatt.training.networks.module import ModuleAutoencoder, ModulePredictor
from clearwatt.training.networks.predictor import Predictor
from clearwatt.training.networks.variational import VariationalAutoencoder

__all__ = [
    "Autoencoder",
    "Differentiator",
    "JointNetwork",
    "ModuleAutoencoder",
    "ModulePredictor",
    "Network",
    "Params",
    "Predictor",
    "Reconstructor",
    "VariationalAutoencoder",
    "select",
    "stack",
]
