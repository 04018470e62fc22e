"""Table 1: the networks that the warm-up searches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

from clearwatt.training.networks import (
    Autoencoder,
    Network,
    Predictor,
    Reconstructor,
    VariationalAutoencoder,
)
from clearwatt.training.networks.own import OwnAutoencoder, OwnPredictor, network_function


@dataclass(frozen=True)
class Networks:
    """Candidate values; the defaults are Table 1.

    ``autoencoder`` and ``predictor`` are networks of a user's own, each as "package.module:name",
    in place of all candidates. Synchronous instances keep the variational autoencoder.
    """

    layers: tuple[int, ...] = (3, 4)
    widths: tuple[int, ...] = (64, 128, 256)
    latents: tuple[int, ...] = (18, 16, 14, 12)
    kl_weights: tuple[float, ...] = (5e-5, 5e-6, 5e-7)
    predictor_layers: tuple[int, ...] = (3, 4)
    predictor_widths: tuple[int, ...] = (64, 128, 256)
    autoencoder: str | None = None
    predictor: str | None = None

    def representations(self, inputs: int, *, variational: bool) -> tuple[Reconstructor, ...]:
        """Candidates for a zone's autoencoder, plain or variational."""
        if self.autoencoder is not None and not variational:
            return (OwnAutoencoder(self.autoencoder, inputs),)
        sizes = list(product(self.widths, self.layers, self.latents))
        if not variational:
            return tuple(Autoencoder(inputs, *each) for each in sizes)
        return tuple(
            VariationalAutoencoder(inputs, *each, kl_weight)
            for each in sizes
            for kl_weight in self.kl_weights
        )

    def check(self) -> None:
        """Raise an error for values that no network can have."""
        for path in (self.autoencoder, self.predictor):
            if path is not None:  # its shape is checked when the width of its inputs is known
                network_function(path)
        built_in = replace(self, autoencoder=None, predictor=None)
        built_in.representations(1, variational=False)
        built_in.representations(1, variational=True)
        for latent in self.latents:
            built_in.predictors(latent)

    def latent_candidates(self, inputs: int) -> tuple[int, ...]:
        """Widths of the representation among the candidates for a plain autoencoder."""
        found = self.representations(inputs, variational=False)
        return tuple(dict.fromkeys(each.latent for each in found))

    def predictors(self, latent: int) -> tuple[Network, ...]:
        """Candidates for an entity's predictor."""
        if self.predictor is not None:
            return (OwnPredictor(self.predictor, latent),)
        shapes = product(self.predictor_widths, self.predictor_layers)
        return tuple(Predictor(latent, width, layers) for width, layers in shapes)
