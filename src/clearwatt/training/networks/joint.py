"""An autoencoder and the predictor of its latents, trained as one network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import torch
from torch import Tensor

from clearwatt.errors import ConfigurationError
from clearwatt.training.networks.backward import Pass, weigh_errors
from clearwatt.training.networks.base import Network, Params
from clearwatt.training.networks.chain import Chain
from clearwatt.training.networks.dense import DenseNetwork, WeightedBatch
from clearwatt.training.networks.predictor import Predictor
from clearwatt.training.networks.variational import VariationalAutoencoder


@dataclass(frozen=True)
class JointNetwork(DenseNetwork):
    """A variational autoencoder whose latents a predictor forecasts power from.

    The loss of a sample is that of the autoencoder plus the squared error of the forecast, which
    is made from the mean of the posterior, as in service. So the encoder learns latents that are
    good for both. Where the target is NaN, nothing was measured, and the forecast does not count.

    Args:
        autoencoder: Its encoder and decoder.
        predictor: The network from latents to power.
    """

    autoencoder: VariationalAutoencoder
    predictor: Predictor
    inputs: int = field(init=False, compare=False)
    optional_targets: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.predictor.inputs != self.autoencoder.latent:
            raise ConfigurationError(
                f"the predictor takes {self.predictor.inputs} values, but the autoencoder has "
                f"{self.autoencoder.latent} latents; give both the same number"
            )
        object.__setattr__(self, "inputs", self.autoencoder.inputs)

    @classmethod
    def of(cls, autoencoder: Network, predictor: Network) -> JointNetwork:
        """The network of these two, which must be built-in ones."""
        if not isinstance(autoencoder, VariationalAutoencoder) or not isinstance(
            predictor, Predictor
        ):
            raise ConfigurationError(
                f"{type(autoencoder).__name__} and {type(predictor).__name__} cannot train as one "
                "network; use a VariationalAutoencoder and a Predictor, or joint=False"
            )
        return cls(autoencoder, predictor)

    @property
    def outputs(self) -> int:
        """Values predicted per sample."""
        return self.predictor.outputs

    @property
    def chains(self) -> tuple[Chain, ...]:
        """Encoder, decoder, predictor."""
        return (*self.autoencoder.chains, *self.predictor.chains)

    @property
    def noise_width(self) -> int:
        """One draw per latent dimension."""
        return self.autoencoder.noise_width

    @property
    def stack_key(self) -> Network:
        """The network without the weight of its divergence; see `VariationalAutoencoder`."""
        key = self.autoencoder.stack_key
        return replace(self, autoencoder=key) if isinstance(key, VariationalAutoencoder) else self

    def combine(self, members: Sequence[Network]) -> Network:
        """A network that weighs each member's divergence as the member does."""
        parts = [each.autoencoder for each in members if isinstance(each, JointNetwork)]
        combined = self.autoencoder.combine(parts)
        assert isinstance(combined, VariationalAutoencoder)
        return replace(self, autoencoder=combined)

    def join(self, autoencoder: Params, predictor: Params) -> Params:
        """The weights of both."""
        return {**autoencoder, **predictor}

    def split(self, params: Params) -> tuple[Params, Params]:
        """The weights of the autoencoder, and those of the predictor."""
        head = f"{self.predictor.chain.name}."
        return (
            {name: tensor for name, tensor in params.items() if not name.startswith(head)},
            {name: tensor for name, tensor in params.items() if name.startswith(head)},
        )

    def forward(self, params: Params, x: Tensor) -> Tensor:
        """Forecast `m x b x o` from `m x b x d`."""
        return self.predictor.forward(params, self.autoencoder.encode(params, x))

    def losses(
        self, params: Params, x: Tensor, target: Tensor, noise: Tensor | None = None
    ) -> Tensor:
        """Per-sample losses, `m x b`; without `noise` the mean is reconstructed."""
        forecasts = self.forward(params, x)
        errors = forecasts - torch.where(target.isnan(), forecasts, target)
        return self.autoencoder.losses(params, x, x, noise) + errors.square().mean(dim=2)

    def differentiate(self, passes: Sequence[Pass], batch: WeightedBatch) -> Tensor:
        """Send `coefficients * losses` back through the passes; return the losses, `m x b`."""
        *of_autoencoder, head = passes
        found: list[Tensor] = []

        def forecast_delta(mean: Tensor) -> Tensor:
            forecasts = head.forward(mean)
            target = torch.where(batch.target.isnan(), forecasts, batch.target)
            losses, delta = weigh_errors(
                forecasts, target, batch.coefficients, outputs=self.outputs
            )
            found.append(losses)
            head.backward(delta)
            return head.input_delta()

        reconstruct = batch._replace(target=batch.x)
        losses = self.autoencoder.differentiate(of_autoencoder, reconstruct, of_mean=forecast_delta)
        return losses.add_(found[0])
