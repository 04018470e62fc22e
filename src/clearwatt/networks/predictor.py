"""The predictor: a multilayer perceptron of equal widths from the representation to the power."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from clearwatt.networks.base import Network, Params, require_positive, stack
from clearwatt.networks.dense import BLOCK, Chain


@dataclass(frozen=True)
class Predictor(Network):
    """`layers` hidden layers of `width` neurons with ReLU, a linear output.

    Args:
        inputs: Width of the representation.
        width: Neurons per hidden layer.
        layers: Number of hidden layers.
        outputs: Values predicted per sample.
    """

    inputs: int
    width: int = 64
    layers: int = 3
    outputs: int = 1

    def __post_init__(self) -> None:
        require_positive(
            inputs=self.inputs, width=self.width, layers=self.layers, outputs=self.outputs
        )

    @cached_property
    def chain(self) -> Chain:
        """The linear layers."""
        return Chain("layers", (self.inputs, *[self.width] * self.layers, self.outputs))

    def initialise(self, seeds: Sequence[int]) -> Params:
        """Fresh weights, one member per seed, as `torch.nn.Linear` draws them."""
        return stack([self.chain.initialise(torch.Generator().manual_seed(s)) for s in seeds])

    def forward(self, params: Params, x: Tensor) -> Tensor:
        """Map `m x b x d` (or `1 x b x d`, shared) to `m x b x o`."""
        return self.chain.forward(params, x)

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
        values = self.chain.trace(params, x)
        residual = values.pop().sub_(target)
        losses = residual.square().mean(dim=2)
        delta = residual.mul_(coefficients.mul(2 / self.outputs).unsqueeze(2))
        self.chain.backward(params, values, delta, out=out)
        return losses

    @torch.no_grad()
    def fisher(
        self, params: Params, x: Tensor, target: Tensor, noise: Tensor | None = None
    ) -> Params:
        """Mean over samples of squared per-sample gradients of the loss, exact."""
        total = {name: torch.zeros_like(tensor) for name, tensor in params.items()}
        for inputs, targets in zip(x.split(BLOCK, 1), target.split(BLOCK, 1), strict=True):
            values = self.chain.trace(params, inputs)
            delta = values.pop().sub_(targets).mul_(2 / self.outputs)
            self.chain.squared(params, values, delta, out=total)
        return {name: tensor.div_(x.shape[1]) for name, tensor in total.items()}
