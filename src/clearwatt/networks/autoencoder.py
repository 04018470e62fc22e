"""The autoencoder and its variational sibling, in the paper's shape."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from clearwatt.errors import ConfigurationError
from clearwatt.networks.base import Params, Reconstructor, require_positive, stack
from clearwatt.networks.dense import BLOCK, Chain


def hidden_widths(width: int, layers: int) -> tuple[int, ...]:
    """First hidden width, then each next 70 % of the one before, rounded half up."""
    widths = [width]
    while len(widths) < layers:
        widths.append(max(1, (7 * widths[-1] + 5) // 10))
    return tuple(widths)


@dataclass(frozen=True)
class Autoencoder(Reconstructor):
    """Encoder of shrinking widths, linear representation, mirrored decoder.

    Args:
        inputs: Number of input features.
        width: Neurons of the first hidden layer; each next has 70 % of the one before.
        layers: Hidden layers of the encoder.
        latent: Width of the representation.
    """

    inputs: int
    width: int = 64
    layers: int = 3
    latent: int = 12

    def __post_init__(self) -> None:
        require_positive(
            inputs=self.inputs, width=self.width, layers=self.layers, latent=self.latent
        )

    @cached_property
    def encoder(self) -> Chain:
        """Layers from the inputs to the representation."""
        return Chain("encoder", (self.inputs, *hidden_widths(self.width, self.layers), self.latent))

    @cached_property
    def decoder(self) -> Chain:
        """The encoder's widths in reverse."""
        return Chain("decoder", self.encoder.widths[::-1])

    def initialise(self, seeds: Sequence[int]) -> Params:
        """Fresh weights, one member per seed, as `torch.nn.Linear` draws them."""
        return stack([_draw(self.encoder, self.decoder, seed=seed) for seed in seeds])

    def encode(self, params: Params, x: Tensor) -> Tensor:
        """Map inputs `m x b x d` to representations `m x b x z`."""
        return self.encoder.forward(params, x)

    def decode(self, params: Params, z: Tensor) -> Tensor:
        """Map representations `m x b x z` to inputs `m x b x d`."""
        return self.decoder.forward(params, z)

    @torch.no_grad()
    def gradients(
        self,
        params: Params,
        x: Tensor,
        target: Tensor,
        *,
        coefficients: Tensor,
        out: Params,
        noise: Tensor | None = None,
    ) -> Tensor:
        """Write the gradient of `sum(coefficients * losses)` per member into `out`."""
        encoding = self.encoder.trace(params, x)
        decoding = self.decoder.trace(params, encoding[-1])
        residual = decoding.pop().sub_(target)
        losses = residual.square().mean(dim=2)
        delta = residual.mul_(coefficients.mul(2 / self.inputs).unsqueeze(2))
        delta = self.decoder.backward(params, decoding, delta, out=out)
        self.encoder.backward(params, encoding, self.decoder.to_input(params, delta), out=out)
        return losses

    @torch.no_grad()
    def fisher(
        self, params: Params, x: Tensor, target: Tensor, noise: Tensor | None = None
    ) -> Params:
        """Mean over samples of squared per-sample gradients of the loss, exact."""
        total = {name: torch.zeros_like(tensor) for name, tensor in params.items()}
        for inputs, targets in zip(x.split(BLOCK, 1), target.split(BLOCK, 1), strict=True):
            encoding = self.encoder.trace(params, inputs)
            decoding = self.decoder.trace(params, encoding[-1])
            delta = decoding.pop().sub_(targets).mul_(2 / self.inputs)
            delta = self.decoder.squared(params, decoding, delta, out=total)
            self.encoder.squared(params, encoding, self.decoder.to_input(params, delta), out=total)
        return {name: tensor.div_(x.shape[1]) for name, tensor in total.items()}


@dataclass(frozen=True)
class VariationalAutoencoder(Reconstructor):
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
    kl_weight: float = 1e-3

    def __post_init__(self) -> None:
        require_positive(
            inputs=self.inputs, width=self.width, layers=self.layers, latent=self.latent
        )
        if not 0 <= self.kl_weight < float("inf"):
            raise ConfigurationError(f"kl_weight is {self.kl_weight}; it must be finite and >= 0")

    @cached_property
    def encoder(self) -> Chain:
        """Layers from the inputs to mean and log-variance side by side."""
        hidden = hidden_widths(self.width, self.layers)
        return Chain("encoder", (self.inputs, *hidden, 2 * self.latent))

    @cached_property
    def decoder(self) -> Chain:
        """The encoder's hidden widths in reverse."""
        return Chain("decoder", (self.latent, *self.encoder.widths[-2::-1]))

    @property
    def noise_width(self) -> int:
        """One draw per latent dimension."""
        return self.latent

    def initialise(self, seeds: Sequence[int]) -> Params:
        """Fresh weights, one member per seed, as `torch.nn.Linear` draws them."""
        return stack([_draw(self.encoder, self.decoder, seed=seed) for seed in seeds])

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
        z = mean if noise is None else mean + noise * (0.5 * logvar).exp()
        error = (self.decode(params, z) - target).square().mean(dim=2)
        return error + self.kl_weight * _divergence(mean, logvar)

    @torch.no_grad()
    def gradients(
        self,
        params: Params,
        x: Tensor,
        target: Tensor,
        *,
        coefficients: Tensor,
        out: Params,
        noise: Tensor | None = None,
    ) -> Tensor:
        """Write the gradient of `sum(coefficients * losses)` per member into `out`."""
        encoding = self.encoder.trace(params, x)
        mean, logvar = encoding[-1].chunk(2, dim=2)
        spread = _spread(logvar, noise)
        decoding = self.decoder.trace(params, mean + spread)
        residual = decoding.pop().sub_(target)
        losses = residual.square().mean(dim=2) + self.kl_weight * _divergence(mean, logvar)
        coefficients = coefficients.unsqueeze(2)
        delta = residual.mul_(coefficients * (2 / self.inputs))
        delta = self.decoder.backward(params, decoding, delta, out=out)
        through = self.decoder.to_input(params, delta)
        divergence = coefficients * self.kl_weight
        delta = self._latent_delta(through, mean, logvar, spread=spread, divergence=divergence)
        self.encoder.backward(params, encoding, delta, out=out)
        return losses

    @torch.no_grad()
    def fisher(
        self, params: Params, x: Tensor, target: Tensor, noise: Tensor | None = None
    ) -> Params:
        """Mean over samples of squared per-sample gradients of the loss, exact."""
        total = {name: torch.zeros_like(tensor) for name, tensor in params.items()}
        draws = [None] * x.shape[1] if noise is None else noise.split(BLOCK, 1)
        weight = torch.tensor(self.kl_weight, dtype=x.dtype)
        for inputs, targets, draw in zip(x.split(BLOCK, 1), target.split(BLOCK, 1), draws):
            encoding = self.encoder.trace(params, inputs)
            mean, logvar = encoding[-1].chunk(2, dim=2)
            spread = _spread(logvar, draw)
            decoding = self.decoder.trace(params, mean + spread)
            delta = decoding.pop().sub_(targets).mul_(2 / self.inputs)
            delta = self.decoder.squared(params, decoding, delta, out=total)
            through = self.decoder.to_input(params, delta)
            delta = self._latent_delta(through, mean, logvar, spread=spread, divergence=weight)
            self.encoder.squared(params, encoding, delta, out=total)
        return {name: tensor.div_(x.shape[1]) for name, tensor in total.items()}

    @staticmethod
    def _latent_delta(
        through: Tensor, mean: Tensor, logvar: Tensor, *, spread: Tensor, divergence: Tensor
    ) -> Tensor:
        """Delta of (mean, logvar): through the decoder, plus `divergence` times the KL's own."""
        of_mean = through + divergence * mean
        of_logvar = 0.5 * (through * spread + divergence * (logvar.exp() - 1))
        return torch.cat([of_mean, of_logvar], dim=2)


def _draw(encoder: Chain, decoder: Chain, *, seed: int) -> Params:
    generator = torch.Generator().manual_seed(seed)
    return {**encoder.initialise(generator), **decoder.initialise(generator)}


def _spread(logvar: Tensor, noise: Tensor | None) -> Tensor:
    """How far the drawn representation lies from the mean."""
    return torch.zeros_like(logvar) if noise is None else noise * (0.5 * logvar).exp()


def _divergence(mean: Tensor, logvar: Tensor) -> Tensor:
    """KL divergence of N(mean, exp(logvar)) from N(0, I), `m x b`."""
    return 0.5 * (mean.square() + logvar.exp() - 1 - logvar).sum(dim=2)
