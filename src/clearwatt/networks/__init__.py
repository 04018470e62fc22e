"""Stacked networks: every tensor has a leading axis of `m` models; a single model is `m = 1`."""

from clearwatt.networks.autoencoder import Autoencoder
from clearwatt.networks.base import Differentiator, Network, Params, Reconstructor, select, stack
from clearwatt.networks.module import ModuleAutoencoder, ModulePredictor
from clearwatt.networks.predictor import Predictor
from clearwatt.networks.variational import VariationalAutoencoder

__all__ = [
    "Autoencoder",
    "Differentiator",
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
