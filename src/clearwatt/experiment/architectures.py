"""Table 1: the networks that the warm-up searches."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from clearwatt.training.networks import (
    Autoencoder,
    Predictor,
    Reconstructor,
    VariationalAutoencoder,
)


@dataclass(frozen=True)
class Networks:
    """Candidate values; the defaults are Table 1."""

    layers: tuple[int, ...] = (3, 4)
    widths: tuple[int, ...] = (64, 128, 256)
    latents: tuple[int, ...] = (18, 16, 14, 12)
    kl_weights: tuple[float, ...] = (5e-5, 5e-6, 5e-7)
    predictor_layers: tuple[int, ...] = (3, 4)
    predictor_widths: tuple[int, ...] = (64, 128, 256)

    def representations(self, inputs: int, *, variational: bool) -> tuple[Reconstructor, ...]:
        """Candidates for a zone's autoencoder, plain or variational."""
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
        self.representations(1, variational=False)
        self.representations(1, variational=True)
        for latent in self.latents:
            self.predictors(latent)

    def predictors(self, latent: int) -> tuple[Predictor, ...]:
        """Candidates for an entity's predictor."""
        shapes = product(self.predictor_widths, self.predictor_layers)
        return tuple(Predictor(latent, width, layers) for width, layers in shapes)
