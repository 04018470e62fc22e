"""The variational autoencoder, from which Generative Replay draws."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from clearwatt.errors import ConfigurationError, require_whole
from clearwatt.training.networks.autoencoder import hidden_widths
from clearwatt.training.networks.backward import Pass, weigh_errors
from clearwatt.training.networks.base import Network, Params, Reconstructor
from clearwatt.training.networks.chain import Chain
from clearwatt.training.networks.dense import DenseNetwork, WeightedBatch


@dataclass(frozen=True)
class VariationalAutoencoder(DenseNetwork, Reconstructor):
    """An autoencoder whose encoder gives a mean and a log-variance.

    The training loss of a sample is the mean squared error of the reconstruction from a drawn
    representation plus `kl_weight` times the KL divergence from the standard normal, summed over
    the latent axis. Outside training the mean represents a sample.

    Args:
        inputs: Number of input features.
        width: Neurons of the first hidden layer; each next has 70 % of the one before.
        layers: Hidden layers of the encoder.
        latent: Width of the representation.
        kl_weight: Weight of the KL divergence.
    """

    inputs: int
    width: int = 64
    layers: int = 3
    latent: int = 12
    kl_weight: float = 5e-6

    def __post_init__(self) -> None:
        require_whole(inputs=self.inputs, width=self.width, layers=self.layers, latent=self.latent)
        if not 0 <= self.kl_weight < float("inf"):
            raise ConfigurationError(f"kl_weight is {self.kl_weight}; it must be finite and >= 0")

    @cached_property
    def encoder(self) -> Chain:
        """Layers from the inputs to mean and log-variance side by side."""
        hidden = hidden_widths(self.width, self.layers)
        return Chain("encoder", (self.inputs, *hidden, 2 * self.latent), align_first=True)

    @cached_property
    def decoder(self) -> Chain:
        """The encoder's hidden widths in reverse."""
        return Chain("decoder", (self.latent, *self.encoder.widths[-2::-1]), align_last=True)

    @property
    def chains(self) -> tuple[Chain, ...]:
        """Encoder, then decoder."""
        return (self.encoder, self.decoder)

    @property
    def noise_width(self) -> int:
        """One draw per latent dimension."""
        return self.latent

    @property
    def stack_key(self) -> Network:
        """The network without `kl_weight`, so that different weights train in one stack.

        A subclass may have another loss, so it is stacked only with networks equal to it.
        """
        return replace(self, kl_weight=0.0) if type(self) is VariationalAutoencoder else self

    def combine(self, members: Sequence[Network]) -> Network:
        """A network that weighs each member's divergence as the member does."""
        weights = [each.kl_weight for each in members if isinstance(each, VariationalAutoencoder)]
        if all(weight == self.kl_weight for weight in weights):
            return self
        sizes = (self.inputs, self.width, self.layers, self.latent)
        return _MixedWeights(*sizes, members=tuple(weights))

    def weigh(self, values: Tensor) -> Tensor:
        """Values `m x b` times the weight of the divergence in the loss of each member."""
        return values * self.kl_weight

    def posterior(self, params: Params, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log-variance of the representation, each `m x b x z`."""
        mean, logvar = self.encoder.forward(params, x).chunk(2, dim=2)
        return mean, logvar

    def encode(self, params: Params, x: Tensor) -> Tensor:
        """Map inputs `m x b x d` to posterior means `m x b x z`."""
        return self.posterior(params, x)[0]

    def decode(self, params: Params, z: Tensor) -> Tensor:
        """Map representations `m x b x z` to inputs `m x b x d`."""
        return self.decoder.forward(params, z)

    def losses(
        self, params: Params, x: Tensor, target: Tensor, noise: Tensor | None = None
    ) -> Tensor:
        """Per-sample losses, `m x b`; without `noise` the mean is reconstructed."""
        mean, logvar = self.posterior(params, x)
        reconstruction = self.decode(params, mean + _spread(logvar, noise))
        error = (reconstruction - target).square().mean(dim=2)
        return error + self.weigh(_divergence(mean, logvar))

    def differentiate(
        self,
        passes: Sequence[Pass],
        batch: WeightedBatch,
        *,
        of_mean: Callable[[Tensor], Tensor] | None = None,
    ) -> Tensor:
        """Send `coefficients * losses` back through the passes; return the losses, `m x b`.

        Args:
            passes: Encoder and decoder.
            batch: Samples with their coefficients.
            of_mean: Gradient, with respect to the mean, of what else depends on it.
        """
        x, target, coefficients, noise = batch
        encoder, decoder = passes
        mean, logvar = encoder.forward(x).chunk(2, dim=2)
        spread = _spread(logvar, noise)
        output = decoder.forward(mean + spread)
        losses, delta = weigh_errors(output, target, coefficients, outputs=self.inputs)
        losses.add_(self.weigh(_divergence(mean, logvar)))
        decoder.backward(delta)
        through = decoder.input_delta()
        pull = self.weigh(coefficients).unsqueeze(2)
        delta = through + pull * mean
        if of_mean is not None:
            delta += of_mean(mean)
        of_logvar = 0.5 * (through * spread + pull * (logvar.exp() - 1))
        encoder.backward(torch.cat([delta, of_logvar], dim=2))
        return losses


@dataclass(frozen=True)
class _MixedWeights(VariationalAutoencoder):
    """Members of one shape, each with its own `kl_weight`."""

    members: tuple[float, ...] = ()

    @cached_property
    def _weights(self) -> Tensor:
        return torch.tensor(self.members, dtype=torch.float64).unsqueeze(1)

    def weigh(self, values: Tensor) -> Tensor:
        """Values `m x b` times the weight of the divergence in the loss of each member."""
        return values * self._weights.to(values.dtype)


def _spread(logvar: Tensor, noise: Tensor | None) -> Tensor:
    """How far the drawn representation lies from the mean."""
    return torch.zeros_like(logvar) if noise is None else noise * (0.5 * logvar).exp()


def _divergence(mean: Tensor, logvar: Tensor) -> Tensor:
    """KL divergence of N(mean, exp(logvar)) from N(0, I), `m x b`."""
    return 0.5 * (mean.square() + logvar.exp() - 1 - logvar).sum(dim=2)
