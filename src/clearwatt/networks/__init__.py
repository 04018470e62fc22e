"""Stacked networks: every tensor has a leading axis of `m` models; a single model is `m = 1`."""

from clearwatt.networks.autoencoder import Autoencoder, VariationalAutoencoder
from clearwatt.networks.base import Network, Params, Reconstructor, select, stack
from clearwatt.networks.module import ModuleAutoencoder, ModulePredictor
from clearwatt.networks.predictor import Predictor

__all__ = [
    "Autoencoder",
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
