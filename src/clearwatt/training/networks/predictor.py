"""The predictor: a multilayer perceptron of equal widths from the representation to the power."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from clearwatt.errors import require_whole
from clearwatt.training.networks.backward import Pass, weigh_errors
from clearwatt.training.networks.base import Params
from clearwatt.training.networks.chain import Chain
from clearwatt.training.networks.dense import DenseNetwork, WeightedBatch


@dataclass(frozen=True)
class Predictor(DenseNetwork):
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
        require_whole(
            inputs=self.inputs, width=self.width, layers=self.layers, outputs=self.outputs
        )

    @cached_property
    def chain(self) -> Chain:
        """The linear layers."""
        return Chain("layers", (self.inputs, *[self.width] * self.layers, self.outputs))

    @property
    def chains(self) -> tuple[Chain, ...]:
        """The one chain."""
        return (self.chain,)

    def forward(self, params: Params, x: Tensor) -> Tensor:
        """Map `m x b x d` (or `1 x b x d`, shared) to `m x b x o`."""
        return self.chain.forward(params, x)

    def differentiate(self, passes: Sequence[Pass], batch: WeightedBatch) -> Tensor:
        """Send `coefficients * losses` back through the passes; return the losses, `m x b`."""
        losses, delta = weigh_errors(
            passes[0].forward(batch.x), batch.target, batch.coefficients, outputs=self.outputs
        )
        passes[0].backward(delta)
        return losses
