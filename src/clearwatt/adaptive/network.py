"""A predictor whose hidden neurons are dropped at random while it trains."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import NormalDist

import torch
from torch import Tensor

from clearwatt.errors import ConfigurationError, require_whole
from clearwatt.training.networks import Params
from clearwatt.training.networks.backward import Pass, weigh_errors
from clearwatt.training.networks.chain import ALIGNMENT, Chain
from clearwatt.training.networks.dense import DenseNetwork, WeightedBatch

SHARED = 8
"""Samples of a batch for which the same neurons are dropped: drawing for each costs more than the
matrix products."""


@dataclass(frozen=True)
class DropoutPredictor(DenseNetwork):
    """`layers` hidden layers of `width` neurons with ReLU and dropout, a linear output.

    Which neurons are dropped follows from the noise the fleet draws by a job's seed, so training
    is as repeatable, and as stackable, as without. A forecast uses all of them. The noise is the
    gain of each neuron: 0 where it is dropped, otherwise what makes up for those that are.

    Args:
        inputs: Width of the inputs.
        width: Neurons per hidden layer, a multiple of `ALIGNMENT`.
        layers: Number of hidden layers.
        dropout: Probability that a hidden neuron is left out for a training sample.
        outputs: Values predicted per sample.
    """

    inputs: int
    width: int = 32
    layers: int = 2
    dropout: float = 0.1
    outputs: int = 1

    def __post_init__(self) -> None:
        require_whole(
            inputs=self.inputs, width=self.width, layers=self.layers, outputs=self.outputs
        )
        if self.width % ALIGNMENT:
            raise ConfigurationError(
                f"width is {self.width}; give a multiple of {ALIGNMENT}, the widths that train fast"
            )
        if not 0 < self.dropout < 1:
            raise ConfigurationError(
                f"dropout is {self.dropout}; it must lie between 0 and 1 "
                "(without dropout use clearwatt.training.networks.Predictor)"
            )

    @property
    def noise_width(self) -> int:
        """One draw per hidden neuron."""
        return self.layers * self.width

    def noise_rows(self, batch: int) -> int:
        """One row of draws per `SHARED` samples, or per fewer if the batch cannot be divided so."""
        return batch // math.gcd(batch, SHARED)

    def noise_of(self, normal: Tensor) -> Tensor:
        """Gains from standard normal values, in their place."""
        return torch.gt(normal, NormalDist().inv_cdf(self.dropout), out=normal).mul_(self._gain)

    @cached_property
    def _chains(self) -> tuple[Chain, ...]:
        widths = (self.inputs, *[self.width] * self.layers, self.outputs)
        return tuple(Chain(f"layer{i}", pair) for i, pair in enumerate(pairwise(widths)))

    @property
    def chains(self) -> tuple[Chain, ...]:
        """One chain per layer, because neurons are dropped between them."""
        return self._chains

    def forward(self, params: Params, x: Tensor) -> Tensor:
        """Map `m x b x d` (or `1 x b x d`, shared) to `m x b x o`, with every neuron."""
        return self._forward(params, x, None)

    def losses(
        self, params: Params, x: Tensor, target: Tensor, noise: Tensor | None = None
    ) -> Tensor:
        """Per-sample losses, `m x b`; with noise, of what is left after dropping neurons."""
        return (self._forward(params, x, noise) - target).square().mean(dim=2)

    def _forward(self, params: Params, x: Tensor, noise: Tensor | None) -> Tensor:
        for chain, gains in zip(self.chains[:-1], self._gains(noise), strict=True):
            value = chain.forward(params, x).relu()
            x = value if gains is None else drop(value.clone(), gains)
        return self.chains[-1].forward(params, x)

    def differentiate(self, passes: Sequence[Pass], batch: WeightedBatch) -> Tensor:
        """Send `coefficients * losses` back through the passes; return the losses, `m x b`."""
        x, target, coefficients, noise = batch
        values: list[Tensor] = []
        gain = self._gain
        for layer, gains in zip(passes[:-1], self._gains(noise), strict=True):
            x = layer.forward(x).relu_()
            values.append(x if gains is None else drop(x, gains))
        losses, delta = weigh_errors(
            passes[-1].forward(x), target, coefficients, outputs=self.outputs
        )
        passes[-1].backward(delta)
        for layer, above, value in zip(passes[-2::-1], passes[:0:-1], values[::-1], strict=True):
            delta = above.input_delta()
            # A value is above 0 where ReLU let it through and it was not dropped.
            torch.ops.aten.threshold_backward.grad_input(delta, value, 0, grad_input=delta)
            layer.backward(delta if noise is None else delta.mul_(gain))
        return losses

    @property
    def _gain(self) -> float:
        """By what the neurons that are left make up for those that are dropped."""
        return 1 / (1 - self.dropout)

    def _gains(self, noise: Tensor | None) -> Sequence[Tensor | None]:
        """The gains of each hidden layer, `m x r x 1 x width`."""
        if noise is None:
            return [None] * self.layers
        members, rows, _ = noise.shape
        return noise.view(members, rows, self.layers, 1, self.width).unbind(2)


def drop(values: Tensor, gains: Tensor) -> Tensor:
    """Multiply the values of a hidden layer by their gains, in place.

    Args:
        values: `m x b x width`.
        gains: `m x r x 1 x width`, each for `b / r` consecutive samples.
    """
    members, rows, _, width = gains.shape
    values.view(members, rows, -1, width).mul_(gains)
    return values
