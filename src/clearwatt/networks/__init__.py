"""Stacked networks: every tensor has a leading axis of `m` models; a single model is `m = 1`."""

from clearwatt.networks.autoencoder import Autoencoder
from clearwatt.networks.base import Network, Params, Reconstructor, Scratch, select, stack
from clearwatt.networks.module import ModuleAutoencoder, ModulePredictor
from clearwatt.networks.predictor import Predictor
from clearwatt.networks.variational import VariationalAutoencoder

__all__ = [
    "Autoencoder",
    "ModuleAutoencoder",
    "ModulePredictor",
    "Network",
    "Params",
    "Predictor",
    "Reconstructor",
    "Scratch",
    "VariationalAutoencoder",
    "select",
    "stack",
]
